// What a record may not ask of its pods, whatever its author may do elsewhere: the "baseline" Pod Security Standard
// for the parts that a record can name. The API server may not enforce it in the record's namespace.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { RESERVED_METADATA_PREFIXES, ROLES } from '../api/meta.ts';
import type { Container } from '../api/resource-spec.ts';

/** Capabilities that "baseline" lets a container add. Source: Kubernetes, "Pod Security Standards". */
const HARMLESS_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const HARMLESS_SELINUX_TYPES: ReadonlySet<string> = new Set([
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
]);
/** Names of containers that are ours. */
const OWN_CONTAINERS: ReadonlySet<string> = new Set([...ROLES, 'wait-for-database', 'wait-for-redis']);

/** Every breach, as sentences for people; empty where there is none. */
export function breachesOf(spec: Readonly<AppDeploymentSpec>): string[] {
  const {
    labels = {},
    annotations = {},
    volumes = [],
    volumeMounts = [],
    initContainers = [],
    sidecars = [],
  } = spec.sourceConfig.resourceSpec ?? {};
  const containers = [...initContainers, ...sidecars];
  const known = new Set(volumes.map((volume) => volume.name));
  const names = containers.map((container) => container.name);
  return [
    ...Object.keys(labels)
      .filter(isReserved)
      .map((key) => `label ${key} is reserved`),
    ...Object.keys(annotations)
      .filter((key) => isReserved(key) || key.startsWith('container.apparmor.security.'))
      .map((key) => `annotation ${key} is reserved`),
    ...names
      .filter((name, index) => OWN_CONTAINERS.has(name) || names.indexOf(name) < index)
      .map((name) => `container name ${name} is taken`),
    ...containers.flatMap(containerBreaches),
    ...[...volumeMounts, ...containers.flatMap((container) => container.volumeMounts ?? [])].flatMap((mount) => [
      ...(mount.mountPropagation === 'Bidirectional'
        ? [`mount ${mount.mountPath} asks for Bidirectional propagation`]
        : []),
      ...(known.has(mount.name)
        ? []
        : [`mount ${mount.mountPath} names volume ${mount.name}, which is not among the volumes`]),
    ]),
  ];
}

function isReserved(key: string): boolean {
  const [prefix, name] = key.split('/');
  if (name === undefined || prefix === undefined) return false;
  return RESERVED_METADATA_PREFIXES.some(
    (reserved) => `${prefix}/` === reserved || prefix.endsWith(`.${reserved.slice(0, -1)}`),
  );
}

interface SecurityContext {
  readonly privileged?: unknown;
  readonly procMount?: unknown;
  readonly capabilities?: { readonly add?: unknown };
  readonly seccompProfile?: { readonly type?: unknown };
  readonly appArmorProfile?: { readonly type?: unknown };
  readonly seLinuxOptions?: { readonly type?: unknown; readonly user?: unknown; readonly role?: unknown };
  readonly windowsOptions?: { readonly hostProcess?: unknown };
}

function containerBreaches(container: Readonly<Container>): string[] {
  // Read as what it may hold, not as what the CRD's schema knows of it: records may be older than that schema.
  const context = (container.securityContext ?? {}) as SecurityContext;
  const added = Array.isArray(context.capabilities?.add) ? context.capabilities.add.map(String) : [];
  const selinux = context.seLinuxOptions ?? {};
  const breaches = [
    context.privileged === true && 'is privileged',
    context.procMount !== undefined && context.procMount !== 'Default' && 'asks for an unmasked /proc',
    ...added
      .filter((capability) => !HARMLESS_CAPABILITIES.has(capability))
      .map((capability) => `adds capability ${capability}`),
    context.seccompProfile?.type === 'Unconfined' && 'turns seccomp off',
    context.appArmorProfile?.type === 'Unconfined' && 'turns AppArmor off',
    (!HARMLESS_SELINUX_TYPES.has(String(selinux.type ?? '')) || Boolean(selinux.user) || Boolean(selinux.role)) &&
      'chooses its own SELinux user, role or type',
    context.windowsOptions?.hostProcess === true && 'is a host process',
  ];
  return breaches
    .filter((breach) => typeof breach === 'string')
    .map((breach) => `container ${container.name} ${breach}`);
}
