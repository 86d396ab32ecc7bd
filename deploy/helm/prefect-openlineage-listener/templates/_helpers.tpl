{{- define "listener.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* 52 characters leave room for what Kubernetes and this chart put behind the name. */ -}}
{{- define "listener.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "listener.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "listener.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "listener.selector" -}}
app.kubernetes.io/name: {{ include "listener.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "listener.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "listener.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The metadata of an object: (dict "of" $ "suffix" "-config" "labels" … "annotations" …) */ -}}
{{- define "listener.metadata" -}}
name: {{ include "listener.fullname" .of }}{{ .suffix }}
namespace: {{ .of.Release.Namespace }}
labels:
  {{- include "listener.labels" .of | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) .of.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "listener.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "listener.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "listener.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* 85 % of the memory's limit, in MiB. Empty where there is none, or one in another form than 256Mi and 1Gi. */ -}}
{{- define "listener.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if .Values.goMemLimit -}}
{{- .Values.goMemLimit -}}
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Mi" $limit | int64) 85) 100) -}}
{{- else if regexMatch "^[0-9]+Gi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Gi" $limit | int64) 1024 85) 100) -}}
{{- end -}}
{{- end -}}

{{- /* Where openlineage.yml comes from: config, secret, or nothing. */ -}}
{{- define "listener.configFrom" -}}
{{- if and .Values.openlineage.config .Values.openlineage.existingConfigSecret.name -}}
{{- fail "openlineage.config and openlineage.existingConfigSecret both give an openlineage.yml: take one" -}}
{{- else if .Values.openlineage.existingConfigSecret.name -}}
secret
{{- else if regexMatch "(?im)^[ -]*[a-z_.-]*(api_?key|password|token|secret)[\"']?:" (toYaml .Values.openlineage.config) -}}
{{- fail "openlineage.config holds a secret, and a ConfigMap is for all to read: put openlineage.yml into a secret (openlineage.existingConfigSecret), or name the secret's file in a variable, such as OPENLINEAGE__TRANSPORT__AUTH__API_KEY_FILE" -}}
{{- else if .Values.openlineage.config -}}
config
{{- end -}}
{{- end -}}

{{- /* Which secrets are mounted: a list of name and, for each key, the file and the variable. */ -}}
{{- define "listener.secrets" -}}
{{- $prefect := .Values.prefect.existingSecret -}}
{{- $openlineage := .Values.openlineage.existingSecret -}}
{{- $http := .Values.httpAuth.existingSecret -}}
{{- $all := list
  (dict "volume" "prefect" "name" $prefect.name "key" $prefect.apiKey "file" "api-key" "variable" "PREFECT_API_KEY_FILE")
  (dict "volume" "prefect" "name" $prefect.name "key" $prefect.authString "file" "auth-string" "variable" "PREFECT_API_AUTH_STRING_FILE")
  (dict "volume" "openlineage" "name" $openlineage.name "key" $openlineage.apiKey "file" "api-key" "variable" "OPENLINEAGE_API_KEY_FILE")
  (dict "volume" "http" "name" $http.name "key" $http.key "file" "auth" "variable" "LISTENER_HTTP_AUTH_FILE")
-}}
{{- $used := list -}}
{{- range $all -}}
{{- if and .name .key -}}{{- $used = append $used . -}}{{- end -}}
{{- end -}}
{{- $used | toJson -}}
{{- end -}}

{{- /* The other settings as variables. Whoever reads the StatefulSet reads them. */ -}}
{{- define "listener.settings" -}}
{{- $own := list "PREFECT_API_URL" "PREFECT_UI_URL" "OPENLINEAGE_URL" "OPENLINEAGE_NAMESPACE" "OPENLINEAGE_CONFIG" "LISTENER_HTTP_ADDR" "LISTENER_STATE" "STATE_DIRECTORY" "GOMEMLIMIT" -}}
{{- $secret := list "PREFECT_API_KEY" "PREFECT_API_AUTH_STRING" "PREFECT_CLIENT_CUSTOM_HEADERS" "OPENLINEAGE_API_KEY" "LISTENER_HTTP_AUTH" -}}
{{- range $name, $value := .Values.settings }}
{{- if has $name $own -}}
{{- fail (printf "settings.%s: the chart has a value of its own for it, or sets it itself" $name) -}}
{{- else if or (has $name $secret) (regexMatch "__(.*_)?(API_?KEY|PASSWORD|TOKEN|SECRET)$" $name) -}}
{{- fail (printf "settings.%s is a secret, and everybody may read the settings: take existingSecret, extraEnv or envFrom" $name) -}}
{{- end }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end -}}
