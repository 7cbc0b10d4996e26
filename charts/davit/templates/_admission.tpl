{{/* Every policy of this chart, each with a binding of its name. */}}
{{- define "davit.policies" -}}
davit-api, davit-authorship-adoption, davit-authorship-backups, davit-authorship-claims, davit-authorship-configmaps, davit-authorship-organization, davit-authorship-provider-classes, davit-authorship-restore, davit-authorship-secrets, davit-authorship-service-account, davit-controller, davit-empty-database, davit-hosting, davit-interrupted-by, davit-marks, davit-operation-finalizer, davit-operations, davit-origin, davit-pod-parts, davit-requested-by, davit-restore, davit-revisions, davit-secrets
{{- if include "davit.hasRegistry" . }}, davit-foreign-images{{ end }}
{{- if include "davit.ownImages" . }}, davit-images{{ end }}
{{- if .Values.settings.listeners.enabled }}, davit-listeners, davit-listener-tokens{{ end }}
{{- if include "davit.limited" . }}, davit-limits{{ end }}
{{- if eq .Values.settings.pods.policy "restricted" }}, davit-restricted-pods{{ end }}
{{- end }}

{{/* Not empty where deployments of source internal_docker have repositories of their own. */}}
{{- define "davit.ownImages" -}}
{{- if and (include "davit.hasRegistry" .) (ne .Values.settings.hosting "self-hosted") }}true{{ end }}
{{- end }}

{{/* Not empty where a record may not ask for everything that the schema lets through. */}}
{{- define "davit.limited" -}}
{{- if or .Values.settings.limits (eq (toString .Values.settings.database.own) "false") }}true{{ end }}
{{- end }}

{{/* Not for the controller's finalizers, the garbage collector, or somebody who only labels. */}}
{{- define "davit.specChanged" -}}
- name: spec-changed
  expression: oldObject == null || object.spec != oldObject.spec
{{- end }}

{{/* Of one policy: a list of its name and the labels. */}}
{{- define "davit.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ index . 0 }}
  labels:
    {{- index . 1 | nindent 4 }}
spec:
  policyName: {{ index . 0 }}
  validationActions: [Deny]
{{- end }}

{{/* How many references one write may add when each has to be checked by its name: 28 checks a policy are the most
     that the API server allows. */}}
{{- define "davit.mostChecks" -}}20{{- end }}

{{/* How many references, some to the same object, are looked through for the different names among them. */}}
{{- define "davit.mostListed" -}}512{{- end }}

{{/*
A policy: what a record's author may not read himself, he cannot have Davit read. For every use that a write adds, the
author may get the object; in one check for the whole namespace, or else by name. A use is `NAME:KEY` for one key, or
`NAME:*` for the whole object, so that a reference which somebody else added can be neither turned to another key nor
widened to all of them. No name of an object has a colon or a slash.
Takes: name, group (absent: core), resource, one and what (singular and plural, for people), uses (the name of a template that gives the CEL list of uses in `object` or
`oldObject`), exempt (a CEL condition on the use `u`), labels.
One validation for each name: the API server allows two checks an expression, and a message may name what was checked but
cannot check. A variable is evaluated once, and only when asked for.
*/}}
{{- define "davit.authorshipPolicy" -}}
{{- $most := include "davit.mostChecks" . | int -}}
{{- $listed := include "davit.mostListed" . | int -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [davit.dev]
        apiVersions: ["*"]
        resources: [appdeployments]
        operations: [CREATE, UPDATE]
  matchConditions:
    {{- include "davit.specChanged" . | nindent 4 }}
  variables:
    - name: before
      expression: >-
        oldObject == null ? [] : {{ include .uses "oldObject" | nindent 8 | trim }}
    - name: used
      expression: >-
        {{ include .uses "object" | nindent 8 | trim }}
    - name: fresh
      expression: variables.used.filter(u, !(u in variables.before){{ with .exempt }} && !({{ . }}){{ end }}).map(u, u.split(':')[0])
    # The distinct names that this write adds. Kubernetes 1.34 takes neither distinct() nor flatten().
    - name: added
      expression: >-
        [{{ range $i := until $listed }}{{ if $i }}, {{ end }}{{ $i }}{{ end }}].filter(i, i < variables.fresh.size() && variables.fresh.indexOf(variables.fresh[i]) == i).map(i, variables.fresh[i])
    - name: all
      expression: authorizer.group('{{ .group }}').resource('{{ .resource }}').namespace(request.namespace).check('get').allowed()
  validations:
    - expression: variables.used.size() == 0 || variables.all || (variables.fresh.size() <= {{ $listed }} && variables.added.size() <= {{ $most }})
      message: without the right to get all {{ .resource }} of the namespace, you may add at most {{ $most }} {{ .what }} at once
      reason: Forbidden
    {{- range $i := until $most }}
    - expression: >-
        variables.used.size() == 0 || variables.all || variables.fresh.size() > {{ $listed }} || variables.added.size() <= {{ $i }} || variables.added.size() > {{ $most }} ||
        authorizer.group('{{ $.group }}').resource('{{ $.resource }}').namespace(request.namespace).name(variables.added[{{ $i }}]).check('get').allowed()
      messageExpression: "'you may not get {{ $.one }} ' + variables.added[{{ $i }}] + ' yourself, so your record must not refer to it'"
      message: you may not get every {{ $.one }} to which this record refers
      reason: Forbidden
    {{- end }}
---
{{ include "davit.binding" (list .name .labels) }}
{{- end }}

{{/* The pod parts of a record, as a CEL optional; takes `object` or `oldObject`. */}}
{{- define "davit.podParts" -}}
{{ . }}.spec.?sourceConfig.?resourceSpec
{{- end }}

{{/* One list of strings from a list of lists. What has a slash within falls into pieces, each of which is asked about. */}}
{{- define "davit.flat" -}}
{{ . }}.map(l, l.join('/')).join('/').split('/')
{{- end }}

{{/* The uses of one source of files: of the keys that its items name, else of all. Takes: source, name (CEL). */}}
{{- define "davit.fileUses" -}}
({{ .source }}.?items.orValue([]).size() == 0 ? [{{ .name }} + ':*'] : {{ .source }}.items.map(i, {{ .name }} + ':' + i.?key.orValue('*')))
{{- end }}

{{/* The uses of Secrets or ConfigMaps in all volumes. Takes: parts (CEL), volume and nameOf (field of a volume, and where the name
     stands in it), source (field of a projected source). */}}
{{- define "davit.volumeUses" -}}
{{- $volume := printf "v.%s" .volume -}}
{{- $source := printf "s.%s" .source -}}
{{ include "davit.flat" (printf "%s.?volumes.orValue([]).filter(v, has(%s)).map(v, %s)" .parts $volume (include "davit.fileUses" (dict "source" $volume "name" (printf "%s.?%s.orValue('')" $volume .nameOf)))) }}
+ {{ include "davit.flat" (printf "%s.?volumes.orValue([]).filter(v, has(v.projected)).map(v, v.projected.?sources.orValue([]).filter(s, has(%s)).map(s, %s.join('/')))" .parts $source (include "davit.fileUses" (dict "source" $source "name" (printf "%s.?name.orValue('')" $source)))) }}
{{- end }}

{{/* The uses of Secrets or ConfigMaps in the environment of all containers. Takes: parts (CEL), key (field of valueFrom), whole (field
     of an envFrom source). */}}
{{- define "davit.environmentUses" -}}
{{- $of := printf "c.?env.orValue([]).filter(e, has(e.valueFrom) && has(e.valueFrom.%s)).map(e, e.valueFrom.%s.?name.orValue('') + ':' + e.valueFrom.%s.?key.orValue('*')) + c.?envFrom.orValue([]).filter(e, has(e.%s)).map(e, e.%s.?name.orValue('') + ':*')" .key .key .key .whole .whole -}}
{{ include "davit.flat" (printf "%s.?initContainers.orValue([]).map(c, %s)" .parts $of) }}
+ {{ include "davit.flat" (printf "%s.?sidecars.orValue([]).map(c, %s)" .parts $of) }}
{{- end }}

{{/* CEL: whether the attribute `k` of a CSI volume names a SecretProviderClass: what the node fetches from elsewhere. */}}
{{- define "davit.namesProviderClass" -}}
k.lowerAscii().matches('secret[-_.]?provider[-_.]?class')
{{- end }}

{{/* CEL: whether the attribute `k` names a Secret (secretName, authSecretRefName, node-publish-secret-name, credentialsRef). Drivers
     choose these names freely, so every attribute that speaks of a secret counts. */}}
{{- define "davit.namesSecret" -}}
k.lowerAscii().matches('secret|credential|(auth|token|password|passwd|key)[-_.]?ref') && !{{ include "davit.namesProviderClass" . }}
{{- end }}

{{/* The uses of what CSI volumes name in attributes. Takes: parts (CEL), names (a template: whether the attribute `k` counts). */}}
{{- define "davit.attributeUses" -}}
{{ include "davit.flat" (printf "%s.?volumes.orValue([]).filter(v, has(v.csi) && has(v.csi.volumeAttributes)).map(v, v.csi.volumeAttributes.filter(k, %s).map(k, v.csi.volumeAttributes[k] + ':@csi'))" .parts (include .names .)) }}
{{- end }}

{{/* All uses of SecretProviderClasses. */}}
{{- define "davit.providerClassUses" -}}
({{ include "davit.attributeUses" (dict "parts" (include "davit.podParts" .) "names" "davit.namesProviderClass") }}
).filter(u, u != '' && !u.startsWith(':'))
{{- end }}

{{/* All uses of Secrets in a record, as a CEL list; takes `object` or `oldObject`. A pull secret and a Secret of a CSI driver
     never reach a container, so each of these is a use of its own, marked with an @ that no key can have. Some CSI drivers
     take the name of a Secret as an attribute of the volume. */}}
{{- define "davit.secretUses" -}}
{{- $parts := include "davit.podParts" . -}}
({{ . }}.spec.?secrets.orValue([]).map(s, s.secretName + ':' + s.secretKey)
+ {{ . }}.spec.?secretReferences.orValue([]).map(s, s.secretName + ':' + s.secretKey)
+ {{ $parts }}.?imagePullSecrets.orValue([]).map(s, s.name + ':@pull')
+ {{ $parts }}.?volumes.orValue([]).filter(v, has(v.csi) && has(v.csi.nodePublishSecretRef)).map(v, v.csi.nodePublishSecretRef.?name.orValue('') + ':@csi')
+ {{ include "davit.attributeUses" (dict "parts" $parts "names" "davit.namesSecret") }}
+ {{ include "davit.volumeUses" (dict "parts" $parts "volume" "secret" "nameOf" "secretName" "source" "secret") }}
+ {{ include "davit.environmentUses" (dict "parts" $parts "key" "secretKeyRef" "whole" "secretRef") }}
).filter(u, u != '' && !u.startsWith(':'))
{{- end }}

{{/* All uses of ConfigMaps. */}}
{{- define "davit.configMapUses" -}}
{{- $parts := include "davit.podParts" . -}}
({{ include "davit.volumeUses" (dict "parts" $parts "volume" "configMap" "nameOf" "name" "source" "configMap") }}
+ {{ include "davit.environmentUses" (dict "parts" $parts "key" "configMapKeyRef" "whole" "configMapRef") }}
).filter(u, u != '' && !u.startsWith(':'))
{{- end }}

{{/* All volume claims that a record mounts; to write is a use of its own. */}}
{{- define "davit.claimUses" -}}
{{- $claims := printf "%s.?volumes.orValue([]).filter(v, has(v.persistentVolumeClaim))" (include "davit.podParts" .) -}}
({{ $claims }}.map(v, v.persistentVolumeClaim.?claimName.orValue('') + ':@read')
+ {{ $claims }}.filter(v, !v.persistentVolumeClaim.?readOnly.orValue(false)).map(v, v.persistentVolumeClaim.?claimName.orValue('') + ':@write')
).filter(u, !u.startsWith(':'))
{{- end }}

{{/* The service account that the pods of a record run as. */}}
{{- define "davit.serviceAccount" -}}
{{ include "davit.podParts" . }}.?serviceAccountName.orValue('default')
{{- end }}

{{/* What a record gets of that account, as a CEL list: its API token, where it is named; projected tokens, each for its audience;
     a certificate that is issued to it. */}}
{{- define "davit.serviceAccountUses" -}}
{{- $parts := include "davit.podParts" . -}}
{{- $account := include "davit.serviceAccount" . -}}
({{ $parts }}.?serviceAccountName.hasValue() ? [{{ $account }} + ':'] : [])
+ {{ include "davit.flat" (printf "%s.?volumes.orValue([]).filter(v, has(v.projected)).map(v, v.projected.?sources.orValue([]).filter(s, has(s.serviceAccountToken)).map(s, %s + ':token:' + s.serviceAccountToken.?audience.orValue('').replace('/', ' ')))" $parts $account) }}.filter(u, u != '')
+ ({{ $parts }}.?volumes.orValue([]).exists(v, has(v.projected) && v.projected.?sources.orValue([]).exists(s, has(s.podCertificate))) ? [{{ $account }} + ':certificate'] : [])
{{- end }}

{{/* CEL: whether `key` is one of those that the given patterns mean, as src/kinds/pod-reach.ts reads them. */}}
{{- define "davit.celMatches" -}}
{{ . | toJson | replace "\"" "'" }}.exists(p, p.startsWith('*') ? key.contains(p.substring(1)) : p.endsWith('/') || p.endsWith('.') ? key.startsWith(p) : key == p)
{{- end }}
