{{/* Every object's name is <fullname>-<component>. A component's name has at most 20 characters; a CronJob may have 52. */}}
{{- define "granary.fullname" -}}
{{- $name := default .Release.Name .Values.fullnameOverride -}}
{{- if and (not .Values.fullnameOverride) (not (contains .Chart.Name $name)) -}}
{{- $name = printf "%s-%s" $name .Chart.Name -}}
{{- end -}}
{{- $name | trunc 31 | trimSuffix "-" -}}
{{- end -}}

{{- define "granary.selector" -}}
app.kubernetes.io/name: granary
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "granary.labels" -}}
{{ include "granary.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "granary.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "granary.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ include "granary.fullname" . }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end -}}
{{- end -}}

{{- define "granary.claim" -}}
{{- default (printf "%s-store" (include "granary.fullname" .)) .Values.store.existingClaim -}}
{{- end -}}

{{- define "granary.scheme" -}}
{{- if .Values.http.tlsSecret }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{/* A libpq connection string without the password. Takes root, host, role, application. */}}
{{- define "granary.catalogUrl" -}}
{{- $catalog := .root.Values.catalog -}}
host={{ .host }} port={{ $catalog.port }} dbname={{ $catalog.database }} user={{ .role }} application_name={{ .application }}
{{- with $catalog.parameters }} {{ . }}{{ end }}
{{- if $catalog.caSecret }} sslrootcert=/run/granary/catalog-ca.crt{{ end }}
{{- end -}}

{{- define "granary.directHost" -}}
{{- default .Values.catalog.host .Values.catalog.directHost -}}
{{- end -}}

{{/* A setting's value as text. Helm reads numbers as floating point, and would write 2000000 as 2e+06. */}}
{{- define "granary.settingValue" -}}
{{- if kindIs "float64" . }}{{ int64 . | quote }}{{ else }}{{ . | quote }}{{ end -}}
{{- end -}}

{{/* The settings that all processes share. A process that has no use for one of them passes over it. */}}
{{- define "granary.sharedSettings" -}}
{{- $bus := .Values.bus -}}
GRANARY_BUS_URL: {{ printf "%s://%s@%s:%v/%s" (ternary "amqps" "amqp" $bus.tls) $bus.user $bus.host $bus.port (urlquery $bus.vhost) | quote }}
{{- if $bus.caSecret }}
GRANARY_BUS_CA_FILE: /run/granary/bus-ca.crt
{{- end }}
GRANARY_STORE_URL: {{ default (printf "file://%s" .Values.store.mountPath) .Values.store.url | quote }}
{{- if .Values.store.credentialsSecret }}
GRANARY_STORE_CREDENTIALS_DIR: /run/granary-store
{{- end }}
{{- if .Values.store.caSecret }}
GRANARY_STORE_CA_FILE: /run/granary/store-ca.crt
{{- end }}
GRANARY_HTTP_LISTEN: {{ printf "0.0.0.0:%v" .Values.http.port | quote }}
{{- if .Values.http.tlsSecret }}
GRANARY_HTTP_TLS_CERT_FILE: /run/granary/tls.crt
GRANARY_HTTP_TLS_KEY_FILE: /run/granary/tls.key
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ include "granary.settingValue" $value }}
{{- end }}
{{- end -}}

{{- define "granary.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.podUser }}
runAsGroup: {{ .Values.podUser }}
fsGroup: {{ .Values.podUser }}
fsGroupChangePolicy: OnRootMismatch # a store of millions of files is not walked at each start
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "granary.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where pods may and should run. */}}
{{- define "granary.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
