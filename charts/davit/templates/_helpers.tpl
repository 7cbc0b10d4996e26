{{- define "davit.labels" -}}
app.kubernetes.io/name: davit
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The same with labels of one object, which take precedence over commonLabels: a list of the root context and the labels. */}}
{{- define "davit.labelsWith" -}}
{{- merge (deepCopy (index . 1)) (fromYaml (include "davit.labels" (index . 0))) | toYaml }}
{{- end }}

{{/* Of one process: a list of the root context and "controller" or "api". Without commonLabels, because selectors cannot be changed. */}}
{{- define "davit.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: davit
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Of the pods of one process: a list of the root context, the process and its own labels, which take precedence over commonLabels. */}}
{{- define "davit.podLabels" -}}
{{- $root := index . 0 -}}
{{- include "davit.selectorLabels" (list $root (index . 1)) }}
{{- with merge (deepCopy (index . 2)) $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "davit.image" -}}
{{- $repository := include "davit.mirrored" (list . .Values.image.repository) -}}
{{- with .Values.image -}}
{{- if .digest }}{{ $repository }}@{{ .digest }}{{ else }}{{ $repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* A name of an image with its digest, if imageDigests has one: a list of the root context and the name. */}}
{{- define "davit.pinned" -}}
{{- $name := index . 1 -}}
{{- with get (index . 0).Values.imageDigests $name }}{{ $name }}@{{ . }}{{ else }}{{ $name }}{{ end -}}
{{- end }}

{{/* The names of this chart's images, by their values, as YAML. */}}
{{- define "davit.namedImages" -}}
{{- if not .Values.image.digest }}
image.tag: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}
{{- with .Values.settings }}
{{- range $field, $name := pick .images "postgres" "cloudNativePg" "redis" }}
settings.images.{{ $field }}: {{ $name | quote }}
{{- end }}
{{- with .builds.images.builder }}
settings.builds.images.builder: {{ . | quote }}
{{- end }}
{{- with .builds.images.davit }}
settings.builds.images.davit: {{ . | quote }}
{{- end }}
{{- with .backups.image }}
settings.backups.image: {{ . | quote }}
{{- end }}
{{- end }}
{{- if .Values.registry.enabled }}
registry.image: {{ .Values.registry.image | quote }}
{{- end }}
{{- end }}

{{/* A name of an image with its digest and the registry of global.imageRegistry: a list of the root context and the name. */}}
{{- define "davit.mirrored" -}}
{{- $registry := dig "imageRegistry" "" ((index . 0).Values.global | default dict) -}}
{{- $name := include "davit.pinned" . -}}
{{- if $registry -}}
{{- $first := splitList "/" $name | first -}}
{{- if and (contains "/" $name) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) -}}
{{- $name = trimPrefix (printf "%s/" $first) $name -}}
{{- end -}}
{{ $registry }}/{{ $name }}
{{- else -}}
{{ $name }}
{{- end -}}
{{- end }}

{{/* The variables and mounts that the values add to a container, and the volumes to a pod: a list of the root context and a process. */}}
{{- define "davit.extraEnv" -}}
{{- $root := index . 0 -}}
{{- if $root.Values.caBundle.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/davit-ca/{{ $root.Values.caBundle.key }}
# The same for builds.
- name: DAVIT_CA_BUNDLE
  value: /etc/davit-ca/{{ $root.Values.caBundle.key }}
{{- end }}
{{- with (index $root.Values (index . 1)).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "davit.extraVolumeMounts" -}}
{{- $root := index . 0 -}}
{{- if $root.Values.caBundle.configMap }}
- {name: ca-bundle, mountPath: /etc/davit-ca, readOnly: true}
{{- end }}
{{- with (index $root.Values (index . 1)).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "davit.extraVolumes" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.caBundle }}
{{- if .configMap }}
- name: ca-bundle
  # Names the key, so that a pod without it does not start: Node.js only warns of a missing file.
  configMap: {name: {{ .configMap }}, items: [{key: {{ .key | quote }}, path: {{ .key | quote }}}]}
{{- end }}
{{- end }}
{{- with (index $root.Values (index . 1)).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "davit.controllerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:davit-controller
{{- end }}

{{/* Name of the Secret with the API's certificate; empty where it serves plain HTTP. */}}
{{- define "davit.tlsSecret" -}}
{{- if not .Values.settings.http.insecure -}}
{{- .Values.api.tls.secretName | default "davit-api-tls" -}}
{{- end -}}
{{- end }}

{{/* Where the API is, as the pods of the cluster call it. */}}
{{- define "davit.apiUrl" -}}
{{ if .Values.settings.http.insecure }}http{{ else }}https{{ end }}://davit-api.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "davit.apiPort" -}}
{{ if .Values.settings.http.insecure }}80{{ else }}443{{ end }}
{{- end }}

{{/* Everything of a pod that both processes share: a list of the root context and "controller" or "api". */}}
{{- define "davit.podScheduling" -}}
{{- $root := index . 0 -}}
{{- $process := index $root.Values (index . 1) -}}
serviceAccountName: davit-{{ index . 1 }}
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $process.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- else }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "davit.selectorLabels" . | nindent 8 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Image, rights, environment and probes of a container: a list of the root context and "controller" or "api". */}}
{{- define "davit.container" -}}
{{- $root := index . 0 -}}
{{- $process := index $root.Values (index . 1) -}}
image: {{ include "davit.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
args: [{{ index . 1 }}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- /* A start takes half a second; a minute is for a node that has much else to do. */}}
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 1
  failureThreshold: 60
  timeoutSeconds: 2
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 2
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 2
  timeoutSeconds: 2
resources:
  {{- toYaml $process.resources | nindent 2 }}
{{- end }}

{{/* Environment variables that both processes read: a list of the root context and "controller" or "api". */}}
{{- define "davit.env" -}}
{{- $root := index . 0 -}}
{{- $process := index $root.Values (index . 1) -}}
- name: DAVIT_SETTINGS
  value: /etc/davit/settings.yaml
- name: DAVIT_REQUIREMENTS
  value: /etc/davit/requirements.yaml
- name: DAVIT_NAMESPACE
  valueFrom:
    fieldRef: {fieldPath: metadata.namespace}
- name: DAVIT_IDENTITY
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: DAVIT_LOG_LEVEL
  value: {{ $process.logLevel }}
- name: DAVIT_HEALTH_HOST
  value: 0.0.0.0
- name: DAVIT_HEALTH_PORT
  value: "9090"
{{- end }}

{{/* A new pod whenever settings or requirements change: they are read once. */}}
{{- define "davit.podMetadata" -}}
{{- $root := index . 0 -}}
{{- $process := index $root.Values (index . 1) -}}
labels:
  {{- include "davit.podLabels" (list $root (index . 1) $process.podLabels) | nindent 2 }}
annotations:
  checksum/settings: {{ include (print $root.Template.BasePath "/settings.yaml") $root | sha256sum }}
  {{- with $process.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Not empty where images are built: there is a registry for them and a builder. */}}
{{- define "davit.builds" -}}
{{- if and (include "davit.hasRegistry" .) .Values.settings.builds.images.builder }}true{{ end }}
{{- end }}

{{/* Not empty where images are kept: in the chart's own registry or in one that the settings name. */}}
{{- define "davit.hasRegistry" -}}
{{- if or .Values.registry.enabled .Values.settings.builds.registry }}true{{ end }}
{{- end }}

{{/* Not empty where the chart's registry collects garbage: only where the controller tags what revisions name. */}}
{{- define "davit.collectsGarbage" -}}
{{- if and .Values.registry.garbageCollection.enabled (include "davit.keepsRegistry" .) }}true{{ end }}
{{- end }}

{{/* Not empty where the controller signs tokens of its own for the registry. */}}
{{- define "davit.asksRegistry" -}}
{{- if and (include "davit.builds" .) (or .Values.registry.enabled (.Values.settings.builds.registry).tokens) }}true{{ end }}
{{- end }}

{{/* Not empty where the controller looks after the chart's registry. */}}
{{- define "davit.keepsRegistry" -}}
{{- if and .Values.registry.enabled (include "davit.builds" .) }}true{{ end }}
{{- end }}

{{/*
Certificates that the chart makes, under .Values.made: {api, registry}, each {crt, key} in base64. An existing one is kept, so that an
upgrade does not change it, and one that is made is the same in every template. Renders nothing.
*/}}
{{- define "davit.makeCertificates" -}}
{{- if not (hasKey .Values "made") -}}
{{- $made := dict -}}
{{- $addresses := dict "api" .Values.api.service.clusterIP -}}
{{- if .Values.registry.enabled -}}
{{- $_ := set $addresses "registry" .Values.registry.service.clusterIP -}}
{{- end -}}
{{- range $part, $address := $addresses -}}
{{- $service := printf "davit-%s" $part -}}
{{- $host := printf "%s.%s.svc" $service $.Release.Namespace -}}
{{- $names := list $service (printf "%s.%s" $service $.Release.Namespace) $host (printf "%s.cluster.local" $host) "localhost" -}}
{{- $there := dig "data" dict (lookup "v1" "Secret" $.Release.Namespace (printf "%s-tls" $service)) -}}
{{- if hasKey $there "tls.crt" -}}
{{- $_ := set $made $part (dict "crt" (get $there "tls.crt") "key" (get $there "tls.key")) -}}
{{- else -}}
{{- $new := genSelfSignedCert $host (empty $address | ternary (list) (list $address)) $names 3650 -}}
{{- $_ := set $made $part (dict "crt" ($new.Cert | b64enc) "key" ($new.Key | b64enc)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set .Values "made" $made -}}
{{- end -}}
{{- end }}

{{/* The settings as both processes read them, with the image that plans builds. */}}
{{- define "davit.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- if .Values.registry.enabled -}}
{{- $registry := dict "host" (include "davit.registryHost" .) "tokens" true -}}
{{- with include "davit.registryCa" . -}}
{{- $_ := set $registry "ca" . -}}
{{- end -}}
{{- if include "davit.builds" . -}}
{{- $_ := set $registry "upkeep" .Values.registry.garbageCollection -}}
{{- end -}}
{{- $_ := set $settings.builds "registry" $registry -}}
{{- end -}}
{{- if and .Values.registry.enabled (or $settings.proxy.httpProxy $settings.proxy.httpsProxy) -}}
{{- $direct := list (regexReplaceAll ":[0-9]+$" (include "davit.registryHost" .) "") -}}
{{- $direct = append $direct (get (urlParse (include "davit.registryTokenUrl" .)) "hostname") -}}
{{- $_ := set $settings.proxy "noProxy" (concat ($settings.proxy.noProxy | default list) $direct | uniq) -}}
{{- end -}}
{{- if and .Values.api.ingress.enabled (not $settings.http.publicUrl) -}}
{{- $_ := set $settings.http "publicUrl" (printf "https://%s%s" .Values.api.ingress.host $settings.http.basePath) -}}
{{- end -}}
{{- if and .Values.workloads.enabled .Values.settings.oauth.hosts (not $settings.http.podUrl) -}}
{{- $_ := set $settings.http "podUrl" (include "davit.apiUrl" .) -}}
{{- end -}}
{{- if and $settings.http.oidc (not $settings.http.publicUrl) -}}
{{- fail "settings.http.oidc needs settings.http.publicUrl or api.ingress: the issuer leads browsers back to that address." -}}
{{- end -}}
{{- $hosts := $settings.address.reservedHosts | default list -}}
{{- if .Values.api.ingress.enabled -}}
{{- $hosts = append $hosts .Values.api.ingress.host -}}
{{- end -}}
{{- if .Values.api.httpRoute.enabled -}}
{{- $hosts = concat $hosts (.Values.api.httpRoute.hostnames | default list) -}}
{{- end -}}
{{- with $settings.builds.registry -}}
{{- $hosts = append $hosts (regexReplaceAll ":[0-9]+$" .host "") -}}
{{- end -}}
{{- /* An address or a wildcard is nothing that a record can claim. */ -}}
{{- $own := list -}}
{{- range $host := $hosts -}}
{{- if regexMatch "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$" $host -}}
{{- $own = append $own $host -}}
{{- end -}}
{{- end -}}
{{- if $own -}}
{{- $_ := set $settings.address "reservedHosts" (uniq $own) -}}
{{- end -}}
{{- with dig "imageRegistry" "" (.Values.global | default dict) -}}
{{- if not $settings.images.registry -}}
{{- $_ := set $settings.images "registry" . -}}
{{- end -}}
{{- end -}}
{{- range $field := list "postgres" "cloudNativePg" "redis" -}}
{{- with get $settings.images $field -}}
{{- $_ := set $settings.images $field (include "davit.pinned" (list $ .)) -}}
{{- end -}}
{{- end -}}
{{- with $settings.builds.images.builder -}}
{{- $_ := set $settings.builds.images "builder" (include "davit.mirrored" (list $ .)) -}}
{{- end -}}
{{- if and (include "davit.builds" .) (not $settings.builds.images.davit) -}}
{{- $_ := set $settings.builds.images "davit" (include "davit.image" .) -}}
{{- end -}}
{{- if and $settings.backups.store (not $settings.backups.image) -}}
{{- $_ := set $settings.backups "image" (include "davit.image" .) -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end }}

{{/*
What GET /v2/platform says of the settings, for kubectl davit, which checks a change in its own process. Each field is named here, so
that a new setting is not published. Everybody who is authenticated may read it: no credentials, no place where backups are kept.
*/}}
{{- define "davit.publicSettings" -}}
{{- $settings := include "davit.settings" . | fromYaml -}}
{{- $public := pick $settings "hosting" "organizationNamespace" "namespaces" "deploymentType" "sizes" "images" "pods" "database" "limits" "placement" "revisions" "autoscaling" -}}
{{- $_ := set $public "address" (pick $settings.address "kind" "baseDomain" "hostPattern" "reservedHosts" "tls" "tlsSecretName" "gateway") -}}
{{- $_ := set $public "listeners" (pick $settings.listeners "enabled") -}}
{{- $_ := set $public "keda" (pick $settings.keda "enabled") -}}
{{- $builds := pick $settings.builds "namespace" "images" "baseImages" "agentServer" "user" "concurrency" "timeoutSeconds" "uploadMaxMb" "workspaceMb" -}}
{{- with $settings.builds.registry -}}
{{- $_ := set $builds "registry" (pick . "host" "repository") -}}
{{- end -}}
{{- $indexes := dict -}}
{{- range $kind, $url := $settings.builds.packageIndex -}}
{{- $_ := set $indexes $kind (regexReplaceAll "^([a-z]+://)([^/@?#]*@)?([^?#]*).*$" $url "${1}${3}") -}}
{{- end -}}
{{- $_ := set $builds "packageIndex" $indexes -}}
{{- $_ := set $public "builds" $builds -}}
{{- $hosts := list -}}
{{- range $settings.codeHosts -}}
{{- $hosts = append $hosts (pick . "host") -}}
{{- end -}}
{{- $_ := set $public "codeHosts" $hosts -}}
{{- if $settings.backups.store -}}
{{- $_ := set $public "backups" (dict "store" (dict "endpoint" "https://not-published.invalid" "bucket" "not-published")) -}}
{{- end -}}
{{- $_ := set $public "http" (pick $settings.http "requestsPerMinute" "publicUrl" "podUrl") -}}
{{- $issuers := list -}}
{{- range $settings.oauth.hosts -}}
{{- $issuers = append $issuers (pick . "host") -}}
{{- end -}}
{{- $_ := set $public "oauth" (dict "hosts" $issuers) -}}
{{- toJson $public -}}
{{- end }}

{{/* The chart's registry as names of images have it: pods, nodes and people reach it so. */}}
{{- define "davit.registryHost" -}}
{{- with .Values.registry -}}
{{- .host | default .service.clusterIP | default (printf "davit-registry.%s.svc" $.Release.Namespace) -}}
{{- end -}}
{{- end }}

{{/* Where nodes reach the registry: by its address where registry.nodes tells their containerd of it. */}}
{{- define "davit.registryServer" -}}
https://{{ and .Values.registry.nodes.enabled .Values.registry.service.clusterIP | default (include "davit.registryHost" .) }}
{{- end }}

{{/* Not empty where the registry has the name of a Service, which nodes commonly do not resolve. */}}
{{- define "davit.registryByService" -}}
{{- if regexMatch "\\.svc(\\.|:|$)" (include "davit.registryHost" .) }}true{{ end }}
{{- end }}

{{/* Where the registry sends its clients for tokens. */}}
{{- define "davit.registryTokenUrl" -}}
{{- $path := "/v1/registry/token" -}}
{{- if .Values.registry.tokenUrl -}}
{{ .Values.registry.tokenUrl }}
{{- else if .Values.registry.ingress.enabled -}}
https://{{ .Values.registry.host }}{{ $path }}
{{- else if .Values.api.ingress.enabled -}}
https://{{ .Values.api.ingress.host }}{{ $path }}
{{- else if .Values.api.service.clusterIP -}}
{{ if .Values.settings.http.insecure }}http{{ else }}https{{ end }}://{{ .Values.api.service.clusterIP }}{{ $path }}
{{- else -}}
{{ include "davit.apiUrl" . }}{{ $path }}
{{- end -}}
{{- end }}

{{/* Authorities of the registry and of where its tokens come from, as PEM; empty where they are those of the system. */}}
{{- define "davit.registryCa" -}}
{{- if .Values.registry.ca -}}
{{ .Values.registry.ca }}
{{- else if not (or .Values.registry.ingress.enabled .Values.registry.tls.secretName) -}}
{{- include "davit.makeCertificates" . -}}
{{ .Values.made.registry.crt | b64dec }}
{{- if not (or .Values.registry.tokenUrl .Values.api.ingress.enabled .Values.api.tls.secretName .Values.settings.http.insecure) -}}
{{ .Values.made.api.crt | b64dec }}
{{- end -}}
{{- end -}}
{{- end }}
