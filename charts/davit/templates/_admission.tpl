{{/* Every policy of this chart, each with a binding of its name. */}}
{{- define "davit.policies" -}}
davit-authorship-claims, davit-authorship-organization, davit-authorship-secrets, davit-authorship-service-account, davit-hosting, davit-revisions
{{- if include "davit.limited" . }}, davit-limits{{ end }}
{{- if eq .Values.settings.pods.policy "restricted" }}, davit-restricted-pods{{ end }}
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

{{- define "davit.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ . }}
spec:
  policyName: {{ . }}
  validationActions: [Deny]
{{- end }}

{{/* How many references one write may add when each has to be checked by its name: 28 checks a policy are the most
     that the API server allows. */}}
{{- define "davit.mostChecks" -}}20{{- end }}

{{/* How many references, some to the same object, are looked through for the different names among them. */}}
{{- define "davit.mostListed" -}}512{{- end }}

{{/*
A policy: what a record's author may not read himself, he cannot have Davit read. Of every name that a write adds, its
author may get the object; in one check for the whole namespace, or else by name.
Takes: name, resource, one and what (singular and plural, for people), names (the name of a template that gives the CEL list of names in `object` or
`oldObject`), exempt (a CEL condition on `n`), labels.
One validation for each: the API server allows two checks an expression, and a message may name what was checked but
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
        oldObject == null ? [] : {{ include .names "oldObject" | nindent 8 | trim }}
    - name: named
      expression: >-
        {{ include .names "object" | nindent 8 | trim }}
    - name: fresh
      expression: variables.named.filter(n, !(n in variables.before){{ with .exempt }} && !({{ . }}){{ end }})
    # The names that this write adds, each once. Kubernetes 1.32 has no distinct() and no flatten().
    - name: added
      expression: >-
        [{{ range $i := until $listed }}{{ if $i }}, {{ end }}{{ $i }}{{ end }}].filter(i, i < variables.fresh.size() && variables.fresh.indexOf(variables.fresh[i]) == i).map(i, variables.fresh[i])
    - name: all
      expression: authorizer.group('').resource('{{ .resource }}').namespace(request.namespace).check('get').allowed()
  validations:
    - expression: variables.named.size() == 0 || variables.all || (variables.fresh.size() <= {{ $listed }} && variables.added.size() <= {{ $most }})
      message: at most {{ $most }} {{ .what }} may be added at once by somebody who may not get all {{ .resource }} of the namespace
      reason: Forbidden
    {{- range $i := until $most }}
    - expression: >-
        variables.named.size() == 0 || variables.all || variables.fresh.size() > {{ $listed }} || variables.added.size() <= {{ $i }} || variables.added.size() > {{ $most }} ||
        authorizer.group('').resource('{{ $.resource }}').namespace(request.namespace).name(variables.added[{{ $i }}]).check('get').allowed()
      messageExpression: "'you may not get {{ $.one }} ' + variables.added[{{ $i }}] + ' yourself, so a record of yours may not refer to it'"
      message: you may not get every {{ $.one }} that this record refers to
      reason: Forbidden
    {{- end }}
---
{{ include "davit.binding" .name }}
{{- end }}

{{/* The pod parts of a record, as a CEL optional; takes `object` or `oldObject`. */}}
{{- define "davit.podParts" -}}
{{ . }}.spec.?sourceConfig.?resourceSpec
{{- end }}

{{/* One list of names from a list of lists. No name of an object has a slash: one that had would name nothing, and be
     asked after in pieces. */}}
{{- define "davit.flat" -}}
{{ . }}.map(l, l.join('/')).join('/').split('/')
{{- end }}

{{/* Names of all Secrets that a record refers to, as a CEL list; takes `object` or `oldObject`. */}}
{{- define "davit.secretNames" -}}
{{- $parts := include "davit.podParts" . -}}
({{ . }}.spec.?secrets.orValue([]).map(s, s.secretName)
+ {{ . }}.spec.?secretReferences.orValue([]).map(s, s.secretName)
+ {{ $parts }}.?imagePullSecrets.orValue([]).map(s, s.name)
+ {{ $parts }}.?volumes.orValue([]).filter(v, has(v.secret)).map(v, v.secret.?secretName.orValue(''))
+ {{ $parts }}.?volumes.orValue([]).filter(v, has(v.csi) && has(v.csi.nodePublishSecretRef)).map(v, v.csi.nodePublishSecretRef.?name.orValue(''))
+ {{ include "davit.flat" (printf "%s.?volumes.orValue([]).filter(v, has(v.projected)).map(v, v.projected.?sources.orValue([]).filter(s, has(s.secret)).map(s, s.secret.?name.orValue('')))" $parts) }}
+ {{ include "davit.flat" (printf "%s.?initContainers.orValue([]).map(c, %s)" $parts (include "davit.containerSecretNames" .)) }}
+ {{ include "davit.flat" (printf "%s.?sidecars.orValue([]).map(c, %s)" $parts (include "davit.containerSecretNames" .)) }}
).filter(n, n != '')
{{- end }}

{{/* Of one container `c`. */}}
{{- define "davit.containerSecretNames" -}}
c.?env.orValue([]).filter(e, has(e.valueFrom) && has(e.valueFrom.secretKeyRef)).map(e, e.valueFrom.secretKeyRef.?name.orValue('')) + c.?envFrom.orValue([]).filter(e, has(e.secretRef)).map(e, e.secretRef.?name.orValue(''))
{{- end }}

{{/* Names of all claims that a record mounts. */}}
{{- define "davit.claimNames" -}}
({{ include "davit.podParts" . }}.?volumes.orValue([]).filter(v, has(v.persistentVolumeClaim)).map(v, v.persistentVolumeClaim.?claimName.orValue('')).filter(n, n != ''))
{{- end }}

{{/* The service account whose token the pods of a record get: the one that is named, or the default one where a volume
     projects its token; '' where there is none. */}}
{{- define "davit.serviceAccount" -}}
{{- $parts := include "davit.podParts" . -}}
{{ $parts }}.?serviceAccountName.orValue(
  {{ $parts }}.?volumes.orValue([]).exists(v, has(v.projected) && v.projected.?sources.orValue([]).exists(s, has(s.serviceAccountToken))) ? 'default' : '')
{{- end }}
