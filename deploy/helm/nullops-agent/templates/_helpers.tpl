{{- define "agent.labels" -}}
app.kubernetes.io/name: nullops-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Objects of the whole cluster carry the namespace in their name: there may be a second agent. */}}
{{- define "agent.clusterName" -}}
{{- if eq .Release.Name .Release.Namespace -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Namespace }}-{{ .Release.Name }}
{{- end -}}
{{- end -}}

{{- define "agent.check" -}}
{{- if and .Values.connect (not (regexMatch "^wss?://[^/@]+" .Values.connect)) -}}
{{- fail "connect: write the control plane's URL like wss://nullops.example.org" -}}
{{- end -}}
{{- if and .Values.connect .Values.websocket -}}
{{- fail "websocket: with connect the agent listens nowhere; leave one of them out" -}}
{{- end -}}
{{- if regexMatch "://[^/]*@" .Values.proxy -}}
{{- fail "proxy: leave the password out; put NULLOPS_AGENT_PROXY with it into the Secret of tokenSecret, and keep that Secret" -}}
{{- end -}}
{{- if and .Values.service.nodePort (ne .Values.service.type "NodePort") -}}
{{- fail "service.nodePort: set service.type to NodePort too" -}}
{{- end -}}
{{- end -}}
