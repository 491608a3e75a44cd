{{- /* The name of the longest StatefulSet, with "-redis", has 52 characters at most: its pods' label has 11 more, of 63. */ -}}
{{- define "headgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 46 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 46 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "headgate.redisSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: redis
{{- end }}

{{- define "headgate.labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "headgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "headgate.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{- /* headgate.yaml: what the chart sets, under what is configured. */ -}}
{{- define "headgate.config" -}}
{{- $own := dict "listen" (dict "host" "0.0.0.0" "port" 8545) "admin" (dict "listen" (dict "host" "0.0.0.0" "port" 8546) "token" "${HEADGATE_ADMIN_TOKEN}") "data" "/data" "timeouts" (dict "leave" "8s" "drain" "33s") -}}
{{- if .Values.redis.enabled }}{{ $_ := set $own "state" (printf "redis://%s-redis:6379" (include "headgate.name" .)) }}{{ end -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.config)) -}}
{{- end }}

{{- /* What would be rendered and not work. */ -}}
{{- define "headgate.mistakes" -}}
{{- if ne (int (dig "listen" "port" 8545 .Values.config)) 8545 }}{{ fail "config.listen.port: pods always listen at 8545; service.port sets the port for callers" }}{{ end -}}
{{- if ne (int (dig "admin" "listen" "port" 8546 .Values.config)) 8546 }}{{ fail "config.admin.listen.port: pods always listen at 8546" }}{{ end -}}
{{- if and (not .Values.redis.enabled) (not .Values.config.state) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}{{ fail "config.state: several gateways need a Redis to share keys and limits: name one, or set redis.enabled" }}{{ end -}}
{{- end }}

{{- /* Which secret has the admin token: Prometheus needs it too. */ -}}
{{- define "headgate.adminToken" -}}
{{- range .Values.secrets }}{{ if eq .name "HEADGATE_ADMIN_TOKEN" }}{{ toYaml (dict "name" .secret "key" .key) }}{{ end }}{{ end -}}
{{- end }}

{{- define "headgate.scheme" -}}
{{- if dig "listen" "tls" false .Values.config }}HTTPS{{ else }}HTTP{{ end -}}
{{- end }}
