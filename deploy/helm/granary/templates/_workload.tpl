{{- define "granary.metadata" -}}
name: {{ include "granary.fullname" .root }}-{{ .component.name }}
labels:
  {{- include "granary.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component.name }}
{{- end -}}

{{- define "granary.componentSelector" -}}
{{ include "granary.selector" .root }}
app.kubernetes.io/component: {{ .component.name }}
{{- end -}}

{{/* A Deployment and what limits its disruption. Takes root and component, as granary.pod does; with scaled in the
component its replicas are somebody else's business. */}}
{{- define "granary.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "granary.metadata" . | nindent 2 }}
spec:
  {{- if not .component.scaled }}
  replicas: {{ .component.values.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "granary.componentSelector" . | nindent 6 }}
  template:
    {{- include "granary.pod" . | nindent 4 }}
{{- if and .root.Values.podDisruptionBudget.enabled (not .component.job) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "granary.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "granary.componentSelector" . | nindent 6 }}
{{- end }}
{{- end -}}

{{/* A job by its schedule, or a Deployment of one pod that loops. Two runs at once would be harmless: Forbid just saves
the work. A failed run is not repeated, as the next one goes on where it stopped. */}}
{{- define "granary.job" -}}
{{- $jobs := .root.Values.jobs -}}
{{- $values := .component.values -}}
{{- if eq $jobs.kind "Deployment" -}}
{{- $looping := dict "job" true "every" $values.every "values" (merge (dict "replicas" (ternary 0 1 $values.suspend)) $values) -}}
{{- include "granary.deployment" (dict "root" .root "component" (merge $looping .component)) -}}
{{- else -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  {{- include "granary.metadata" . | nindent 2 }}
spec:
  schedule: {{ $values.schedule | quote }}
  suspend: {{ $values.suspend }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: {{ $jobs.startingDeadlineSeconds }}
  successfulJobsHistoryLimit: {{ $jobs.successfulJobsHistoryLimit }}
  failedJobsHistoryLimit: {{ $jobs.failedJobsHistoryLimit }}
  jobTemplate:
    metadata:
      labels:
        {{- include "granary.componentSelector" . | nindent 8 }}
    spec:
      backoffLimit: 0
      activeDeadlineSeconds: {{ $jobs.activeDeadlineSeconds }}
      template:
        {{- include "granary.pod" (dict "root" .root "component" (merge (dict "job" true) .component)) | nindent 8 }}
{{- end -}}
{{- end -}}

{{/* Takes root, component and service: type, port, annotations; with sticky a client stays at one pod for three hours. */}}
{{- define "granary.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "granary.metadata" . | nindent 2 }}
  {{- with .service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .service.type }}
  {{- if .sticky }}
  sessionAffinity: ClientIP
  {{- end }}
  selector:
    {{- include "granary.componentSelector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .service.port }}
      targetPort: http
{{- end -}}
