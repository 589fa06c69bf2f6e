{{- define "nullops.labels" -}}
app.kubernetes.io/name: nullops
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "nullops.check" -}}
{{- $url := required "database.url is empty: write it like postgres://db.example.org:5432/nullops?sslmode=verify-full" .Values.database.url -}}
{{- if not (regexMatch "^postgres(ql)?://[^@]+$" $url) -}}
{{- fail "database.url: write it like postgres://db.example.org:5432/nullops?sslmode=verify-full, without user and password; these come from the Secret" -}}
{{- end -}}
{{- $_ := required "controlPlane.url is empty: write how people reach the UI, such as https://nullops.example.org" .Values.controlPlane.url -}}
{{- $_ := required "ingress.url is empty: write scheme and port that people see, such as https://nullops.example.org" .Values.ingress.url -}}
{{- if and .Values.controlPlane.ingress.enabled .Values.controlPlane.tlsSecret -}}
{{- fail "controlPlane.tlsSecret: with controlPlane.ingress.enabled, the Ingress serves HTTPS; give its certificate as controlPlane.ingress.tlsSecret" -}}
{{- end -}}
{{- end -}}

{{/* The database's URL for a role, whose password is in a passfile: no secret is in it. */}}
{{- define "nullops.databaseURL" -}}
{{- $url := regexReplaceAll "^postgres(ql)?://" .root.Values.database.url (printf "postgres://%s@" .role) -}}
{{- $url -}}{{- if contains "?" $url -}}&{{- else -}}?{{- end -}}passfile=/secrets/{{ .passfile }}
{{- with .root.Values.database.ca -}}&sslrootcert=/secrets/{{ . }}{{- end -}}
{{- end -}}

{{/* A volume with some keys of the Secret. */}}
{{- define "nullops.secrets" -}}
secret:
  secretName: {{ .root.Values.secret }}
  defaultMode: 0440
  items:
    {{- range .keys }}
    - key: {{ . }}
      path: {{ . }}
    {{- end }}
    {{- with .root.Values.database.ca }}
    - key: {{ . }}
      path: {{ . }}
    {{- end }}
{{- end -}}

{{- define "nullops.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
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

{{- define "nullops.container" -}}
image: {{ .Values.image | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "nullops.settings" -}}
- name: NULLOPS_INGRESS_FILE
  value: /secrets/ingress_keys
- name: NULLOPS_HTTP_URL
  value: {{ .Values.controlPlane.url | quote }}
- name: NULLOPS_INGRESS_URL
  value: {{ .Values.ingress.url | quote }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
