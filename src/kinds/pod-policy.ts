// The pod policy: what records must not request for their pods, whatever rights the author has. It is the "baseline" Pod
// Security Standard for the fields that a record can set, without any added capability; by a setting, the "restricted" one.
// This list is the only source: the CRD's rules, the HTTP API and the controller are derived from it. A CRD cannot depend on
// a setting, so an admission policy of the chart contains the additional rules of "restricted".

import { asArray, asObject, isSet } from '../runtime/json-value.ts';
import { ROLES, WAIT_FOR_DATABASE, WAIT_FOR_REDIS } from './meta.ts';
import { celNames } from './primitives.ts';

export const POD_POLICIES = ['baseline', 'restricted'] as const;
export type PodPolicy = (typeof POD_POLICIES)[number];

/** Prefixes of labels that belong to Davit or Kubernetes. pod-reach.ts covers their subdomains. */
export const RESERVED_LABEL_PREFIXES: readonly string[] = [
  'davit.dev/',
  'tag.davit.dev/',
  'app.kubernetes.io/',
  'kubernetes.io/',
  'k8s.io/',
];
/** Prefixes of annotations that records may not use, including those that selected AppArmor and seccomp profiles before security contexts. */
export const RESERVED_ANNOTATION_PREFIXES: readonly string[] = [
  ...RESERVED_LABEL_PREFIXES,
  'container.apparmor.security.beta.kubernetes.io/',
  'seccomp.security.alpha.kubernetes.io/',
];
export const RESERVED_PREFIXES = {
  labels: RESERVED_LABEL_PREFIXES,
  annotations: RESERVED_ANNOTATION_PREFIXES,
} as const;
/** Names of Davit's containers. */
const OWN_CONTAINERS: readonly string[] = [...ROLES, WAIT_FOR_DATABASE, WAIT_FOR_REDIS];
/** Source: Kubernetes, "Pod Security Standards", baseline. */
const HARMLESS_SELINUX_TYPES: readonly string[] = [
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
];

/** One rule for a security context: as CEL, where `self` is the context, and as a function. */
export interface SecurityRule {
  readonly field: string;
  readonly refused: string;
  readonly isRefused: (value: unknown) => boolean;
  readonly message: string;
}

export const SECURITY_RULES: readonly SecurityRule[] = [
  {
    field: 'privileged',
    refused: 'has(self.privileged) && self.privileged',
    isRefused: (value) => value === true,
    message: 'privileged is refused by the pod policy',
  },
  {
    field: 'capabilities',
    refused: 'has(self.capabilities) && has(self.capabilities.add) && self.capabilities.add.size() > 0',
    isRefused: (value) => asArray(asObject(value)['add']).length > 0,
    message: 'an added capability is refused by the pod policy',
  },
  {
    field: 'procMount',
    refused: "has(self.procMount) && self.procMount != 'Default'",
    isRefused: (value) => isSet(value) && value !== 'Default',
    message: 'a procMount other than Default is refused by the pod policy',
  },
  {
    field: 'seccompProfile',
    refused: "has(self.seccompProfile) && has(self.seccompProfile.type) && self.seccompProfile.type == 'Unconfined'",
    isRefused: (value) => asObject(value)['type'] === 'Unconfined',
    message: 'seccomp profile Unconfined is refused by the pod policy',
  },
  {
    field: 'appArmorProfile',
    refused: "has(self.appArmorProfile) && has(self.appArmorProfile.type) && self.appArmorProfile.type == 'Unconfined'",
    isRefused: (value) => asObject(value)['type'] === 'Unconfined',
    message: 'AppArmor profile Unconfined is refused by the pod policy',
  },
  {
    field: 'seLinuxOptions',
    refused: `has(self.seLinuxOptions) && (has(self.seLinuxOptions.user) && self.seLinuxOptions.user != '' || has(self.seLinuxOptions.role) && self.seLinuxOptions.role != '' || has(self.seLinuxOptions.type) && !(self.seLinuxOptions.type in ${celNames(HARMLESS_SELINUX_TYPES)}))`,
    isRefused(value) {
      const { user = '', role = '', type = '' } = asObject(value);
      return user !== '' || role !== '' || !HARMLESS_SELINUX_TYPES.some((harmless) => harmless === type);
    },
    message: 'an SELinux user, role or type of its own is refused by the pod policy',
  },
  {
    field: 'windowsOptions',
    refused: 'has(self.windowsOptions) && has(self.windowsOptions.hostProcess) && self.windowsOptions.hostProcess',
    isRefused: (value) => asObject(value)['hostProcess'] === true,
    message: 'a host process is refused by the pod policy',
  },
];

/**
 * The additional rules of the "restricted" standard. Fields that a container does not set are filled in when its pod is
 * rendered (deploy/children/init-containers.ts). Source: Kubernetes, "Pod Security Standards", restricted.
 */
export const RESTRICTED_RULES: readonly SecurityRule[] = [
  {
    field: 'allowPrivilegeEscalation',
    refused: 'self.?allowPrivilegeEscalation.orValue(false) == true',
    isRefused: (value) => value === true,
    message: 'privilege escalation is refused by the restricted pod policy',
  },
  {
    field: 'runAsNonRoot',
    refused: 'self.?runAsNonRoot.orValue(true) == false',
    isRefused: (value) => value === false,
    message: 'runAsNonRoot: false is refused by the restricted pod policy',
  },
  {
    field: 'runAsUser',
    refused: 'self.?runAsUser.orValue(1) == 0',
    isRefused: (value) => value === 0,
    message: 'user 0 is refused by the restricted pod policy',
  },
  {
    field: 'capabilities',
    // kubectl stores a null, which means absent.
    refused: "self.?capabilities.?drop.orValue(null) != null && !('ALL' in self.capabilities.drop)",
    isRefused(value) {
      const { drop } = asObject(value);
      return isSet(drop) && !asArray(drop).includes('ALL');
    },
    message: 'capabilities other than a drop of ALL are refused by the restricted pod policy',
  },
];
export const NFS_MESSAGE = 'nfs is refused by the restricted pod policy';

export const BIDIRECTIONAL_MESSAGE = 'Bidirectional is refused by the pod policy: such a mount affects the node';
export const TAKEN_MESSAGE = `these container names are reserved for Davit: ${OWN_CONTAINERS.join(', ')}`;
export const TWICE_MESSAGE = 'an init container and a sidecar must not have the same name';
export const NO_VOLUME_MESSAGE = 'no volume has the name of this mount: add one to volumes';

/** The kinds of volume that a record may use. All others are rejected, in particular hostPath. */
export const VOLUME_KINDS = [
  'configMap',
  'secret',
  'emptyDir',
  'persistentVolumeClaim',
  'nfs',
  'projected',
  'downwardAPI',
  'csi',
] as const;
export const VOLUME_KIND_MESSAGE = `a volume needs exactly one of ${VOLUME_KINDS.join(', ')}`;

/** CEL: whether no container in `list` has a reserved name. */
export function celNoneTaken(list: string): string {
  return `${list}.all(c, !(c.name in ${celNames(OWN_CONTAINERS)}))`;
}

/** CEL: whether no key of the map `self` begins with one of `prefixes`. */
export function celNoneReserved(prefixes: readonly string[]): string {
  return `self.all(key, !${celNames(prefixes)}.exists(prefix, key.startsWith(prefix)))`;
}

export function reservedMessage(prefixes: readonly string[]): string {
  return `keys with these prefixes are reserved for Davit and Kubernetes: ${prefixes.join(', ')}`;
}

/** One violation: the path of the field below `resourceSpec`, and the message. */
export interface Breach {
  readonly at: readonly [field: string, ...rest: (string | number)[]];
  readonly message: string;
}

/** Every violation in a ResourceSpec. The value may be older than the schema, or not validated yet. */
export function* podPolicyBreaches(spec: Readonly<Record<string, unknown>>, policy: PodPolicy): Generator<Breach> {
  const rules = policy === 'restricted' ? [...SECURITY_RULES, ...RESTRICTED_RULES] : SECURITY_RULES;
  yield* reservedKeys('labels', spec['labels'], RESERVED_LABEL_PREFIXES);
  yield* reservedKeys('annotations', spec['annotations'], RESERVED_ANNOTATION_PREFIXES);
  const volumes = namesOf(spec['volumes']);
  yield* kindBreaches(spec['volumes']);
  if (policy === 'restricted') yield* nfsBreaches(spec['volumes']);
  yield* mountBreaches(spec['volumeMounts'], ['volumeMounts'], volumes);
  const initContainers = namesOf(spec['initContainers']);
  for (const list of ['initContainers', 'sidecars'] as const) {
    for (const [index, container] of asArray(spec[list]).map(asObject).entries()) {
      const name = container['name'];
      if (OWN_CONTAINERS.some((own) => own === name)) yield { at: [list, index, 'name'], message: TAKEN_MESSAGE };
      if (list === 'sidecars' && isSet(name) && initContainers.has(name))
        yield { at: [list, index, 'name'], message: TWICE_MESSAGE };
      yield* mountBreaches(container['volumeMounts'], [list, index, 'volumeMounts'], volumes);
      const context = asObject(container['securityContext']);
      for (const { field, isRefused, message } of rules)
        if (isRefused(context[field])) yield { at: [list, index, 'securityContext', field], message };
    }
  }
}

function* reservedKeys(field: string, keys: unknown, prefixes: readonly string[]): Generator<Breach> {
  for (const key of Object.keys(asObject(keys)))
    if (prefixes.some((prefix) => key.startsWith(prefix)))
      yield { at: [field, key], message: reservedMessage(prefixes) };
}

function* kindBreaches(volumes: unknown): Generator<Breach> {
  for (const [index, volume] of asArray(volumes).map(asObject).entries())
    if (VOLUME_KINDS.filter((kind) => isSet(volume[kind])).length !== 1)
      yield { at: ['volumes', index], message: VOLUME_KIND_MESSAGE };
}

function* nfsBreaches(volumes: unknown): Generator<Breach> {
  for (const [index, volume] of asArray(volumes).map(asObject).entries())
    if (isSet(volume['nfs'])) yield { at: ['volumes', index, 'nfs'], message: NFS_MESSAGE };
}

function* mountBreaches(mounts: unknown, at: Breach['at'], volumes: ReadonlySet<unknown>): Generator<Breach> {
  for (const [index, mount] of asArray(mounts).map(asObject).entries()) {
    if (mount['mountPropagation'] === 'Bidirectional')
      yield { at: [...at, index, 'mountPropagation'], message: BIDIRECTIONAL_MESSAGE };
    if (isSet(mount['name']) && !volumes.has(mount['name']))
      yield { at: [...at, index, 'name'], message: NO_VOLUME_MESSAGE };
  }
}

function namesOf(list: unknown): ReadonlySet<unknown> {
  return new Set(asArray(list).map((item) => asObject(item)['name']));
}
