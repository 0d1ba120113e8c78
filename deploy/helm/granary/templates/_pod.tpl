{{/*
The pod of every process. Takes root and component, a dict:
  name      of the objects, and the label component
  program   what runs: granary-<program>, with the role granary_<program>
  values    replicas, settings, resources, terminationGracePeriodSeconds
  settings  GRANARY_* that the chart sets itself
  store     rw, ro or absent: how the store is mounted
  tokens    whether the process asks for bearer tokens
  job       whether it is a job; every: its interval where it loops
A process that runs once has no listener, hence no port and no probes.
*/}}
{{- define "granary.pod" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := $component.values -}}
{{- $role := printf "granary_%s" ($component.program | replace "-" "_") -}}
{{- $listens := or (not $component.job) $component.every -}}
metadata:
  labels:
    {{- include "granary.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component.name }}
  annotations:
    checksum/settings: {{ include "granary.sharedSettings" $root | sha256sum }}
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "granary.serviceAccount" $root }}
  automountServiceAccountToken: false
  # Kubernetes would add names such as GRANARY_ADMIN_PORT, and a name that is no setting is a fault.
  enableServiceLinks: false
  {{- if not $listens }}
  restartPolicy: Never
  {{- end }}
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "granary.podSecurity" $root | nindent 4 }}
  {{- with include "granary.placement" $root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if not $component.job }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {{ $root.Values.topologySpread.topologyKey }}
      whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "granary.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $component.name }}
  {{- end }}
  containers:
    - name: {{ $component.program }}
      image: {{ include "granary.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [granary-{{ $component.program }}]
      {{- with $component.every }}
      args: [--every, {{ . }}]
      {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "granary.fullname" $root }}-settings
      env:
        - name: GRANARY_CATALOG_URL
          value: {{ include "granary.catalogUrl" (dict "root" $root "host" $root.Values.catalog.host "role" $role "application" (printf "granary-%s" $component.program)) | quote }}
        - name: GRANARY_CATALOG_PASSWORD_FILE
          value: /run/granary/catalog-password
        - name: GRANARY_BUS_PASSWORD_FILE
          value: /run/granary/bus-password
        {{- if $component.tokens }}
        - name: GRANARY_TOKENS_FILE
          value: /run/granary/tokens.jsonl
        {{- end }}
        {{- range $name, $value := merge (dict) (default (dict) $component.settings) $values.settings }}
        - name: {{ $name }}
          value: {{ include "granary.settingValue" $value }}
        {{- end }}
      {{- if $listens }}
      ports:
        - name: http
          containerPort: {{ $root.Values.http.port }}
      startupProbe:
        {{- include "granary.probe" (dict "root" $root "path" "/livez") | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 60
      # That a dependency is down is no reason to restart: liveness asks the process only, readiness asks them all.
      livenessProbe:
        {{- include "granary.probe" (dict "root" $root "path" "/livez") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        {{- include "granary.probe" (dict "root" $root "path" "/readyz") | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 10
        failureThreshold: 2
      {{- end }}
      {{- if $component.tokens }}
      lifecycle:
        preStop:
          sleep: # until no Service sends new connections here any more
            seconds: 5
      {{- end }}
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      securityContext:
        {{- include "granary.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - name: secrets
          mountPath: /run/granary
          readOnly: true
        {{- if and $component.store (not $root.Values.store.url) }}
        - name: store
          mountPath: {{ $root.Values.store.mountPath }}
          readOnly: {{ eq $component.store "ro" }}
        {{- end }}
        {{- if and $component.store $root.Values.store.credentialsSecret }}
        - name: store-credentials
          mountPath: /run/granary-store
          readOnly: true
        {{- end }}
        {{- if $component.spool }}
        - name: spool
          mountPath: /spool
        {{- end }}
  volumes:
    {{- if $component.spool }}
    - name: spool
      emptyDir:
        sizeLimit: {{ $component.spool }}
    {{- end }}
    {{- include "granary.secrets" (dict "root" $root "role" $role "tokens" $component.tokens) | nindent 4 }}
    {{- if and $component.store (not $root.Values.store.url) }}
    - name: store
      persistentVolumeClaim:
        claimName: {{ include "granary.claim" $root }}
    {{- end }}
    {{- if and $component.store $root.Values.store.credentialsSecret }}
    - name: store-credentials
      secret:
        secretName: {{ $root.Values.store.credentialsSecret }}
        defaultMode: 288
    {{- end }}
{{- end -}}

{{- define "granary.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ include "granary.scheme" .root }}
{{- end -}}

{{/* All that is secret for one process, as files of one folder. Takes root, role, tokens. 288 is 0440. */}}
{{- define "granary.secrets" -}}
{{- $values := .root.Values -}}
- name: secrets
  projected:
    defaultMode: 288
    sources:
      - secret:
          name: {{ $values.catalog.existingSecret }}
          items: [{key: {{ .role }}, path: catalog-password}]
      - secret:
          name: {{ $values.bus.existingSecret }}
          items: [{key: password, path: bus-password}]
      {{- with $values.catalog.caSecret }}
      - secret:
          name: {{ . }}
          items: [{key: ca.crt, path: catalog-ca.crt}]
      {{- end }}
      {{- with $values.bus.caSecret }}
      - secret:
          name: {{ . }}
          items: [{key: ca.crt, path: bus-ca.crt}]
      {{- end }}
      {{- with $values.store.caSecret }}
      - secret:
          name: {{ . }}
          items: [{key: ca.crt, path: store-ca.crt}]
      {{- end }}
      {{- if .tokens }}
      - secret:
          name: {{ $values.tokens.existingSecret }}
          items: [{key: tokens.jsonl, path: tokens.jsonl}]
      {{- end }}
      {{- with $values.http.tlsSecret }}
      - secret:
          name: {{ . }}
          items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]
      {{- end }}
{{- end -}}
