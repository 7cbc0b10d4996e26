// Records that are wrong whichever door they come through. The HTTP suite holds them against the facade alone, the integration
// suite against the API server and the facade of a whole Davit.

import { expect } from 'vitest';
import { snake } from '../../src/runtime/http/casing.ts';

export type Parts = Readonly<Record<string, unknown>>;

export interface Refused {
  readonly name: string;
  readonly spec: Parts;
  /** Words of both doors' answers, or all that HTTP finds. */
  readonly says: readonly [kubectl: string, http: string | readonly Finding[]];
}
/** `where` is below resource_spec. */
export type Finding = readonly [where: string, msg: string, type?: string];

export const scratch = { volumes: [{ name: 'v', emptyDir: {} }] };
export const sidecar = (parts: Parts): Parts => ({ sidecars: [{ name: 'helper', image: 'helper:1', ...parts }] });
export const context = (securityContext: Parts): Parts => sidecar({ securityContext });
const both = (words: string): readonly [string, string] => [words, words];
const POLICY = both('refused by the pod policy');
const twice = (where: string): Refused['says'] => [
  'Duplicate value',
  [[where, `this ${where.split('.').at(-1)} is a duplicate`, 'value_error']],
];
const VOLUME =
  'a volume needs exactly one of configMap, secret, emptyDir, persistentVolumeClaim, nfs, projected, downwardAPI, csi';
const MOUNT = 'no volume has the name of this mount: add one to volumes';
const OURS =
  'these container names are reserved for Davit: server, queue, orchestrator, executor, wait-for-database, wait-for-redis';
const REACHES = 'Bidirectional is refused by the pod policy: such a mount affects the node';
const DNS = 'must be lower-case letters, digits, - and ., beginning and ending with a letter or digit';
const A_VOLUME: Refused['says'] = ['exactly one of', [['volumes.0', VOLUME]]];
const PATTERN: readonly [string, string] = ['should match', 'must '];
const OWN = both('reserved for Davit and Kubernetes');

export const refused: readonly Refused[] = [
  {
    name: 'a CPU limit below its request',
    spec: { cpu: 2, cpuLimit: 1 },
    says: ['must not be below cpu', [['cpu_limit', 'cpu_limit must not be below cpu']]],
  },
  {
    name: "the queue's memory limit below its request",
    spec: { queueMemoryMb: 512, queueMemoryLimitMb: 256 },
    says: both('must not be below'),
  },
  {
    name: "the database's memory limit below its request",
    spec: { dbMemoryMb: 512, dbMemoryLimitMb: 256 },
    says: both('must not be below'),
  },
  { name: 'a maximum below its minimum', spec: { minScale: 3, maxScale: 2 }, says: both('must not be below') },
  { name: 'a scale of millions', spec: { maxScale: 1_000_000 }, says: ['less than or equal to 100', 'at most 100'] },
  { name: 'a negative scale', spec: { minScale: -1 }, says: ['greater than or equal to 0', 'at least 0'] },
  { name: 'half a replica', spec: { minScale: 0.5 }, says: ['type integer', 'must be an integer'] },
  { name: 'more cores than any node has', spec: { cpu: 65 }, says: ['less than or equal to 64', 'at most 64'] },
  { name: 'no memory', spec: { memoryMb: 0 }, says: ['greater than or equal to 64', 'at least 64'] },
  { name: 'no storage', spec: { dbStorageGi: 0 }, says: ['greater than or equal to 1', 'at least 1'] },
  { name: 'no connections', spec: { dbMaxConnections: 0 }, says: ['greater than or equal to 10', 'at least 10'] },
  {
    name: 'a mount of no volume',
    spec: { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    says: ['no volume has the name of this mount', [['volume_mounts.0.name', MOUNT]]],
  },
  {
    name: "a sidecar's mount of no volume",
    spec: sidecar({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    says: ['no volume has the name of this mount', [['sidecars.0.volumeMounts.0.name', MOUNT]]],
  },
  {
    name: 'one path mounted twice',
    spec: {
      ...scratch,
      volumeMounts: [
        { name: 'v', mountPath: '/v' },
        { name: 'v', mountPath: '/v' },
      ],
    },
    says: twice('volume_mounts.1.mountPath'),
  },
  {
    name: 'one path of a sidecar mounted twice',
    spec: {
      ...scratch,
      ...sidecar({
        volumeMounts: [
          { name: 'v', mountPath: '/v' },
          { name: 'v', mountPath: '/v' },
        ],
      }),
    },
    says: twice('sidecars.0.volumeMounts.1.mountPath'),
  },
  {
    name: 'one variable twice',
    spec: sidecar({
      env: [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
    }),
    says: twice('sidecars.0.env.1.name'),
  },
  {
    name: 'one pull secret twice',
    spec: { imagePullSecrets: [{ name: 'a' }, { name: 'a' }] },
    says: twice('image_pull_secrets.1.name'),
  },
  {
    name: 'one volume twice',
    spec: {
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'v', emptyDir: {} },
      ],
    },
    says: twice('volumes.1.name'),
  },
  {
    name: 'one sidecar twice',
    spec: {
      sidecars: [
        { name: 'a', image: 'a' },
        { name: 'a', image: 'a' },
      ],
    },
    says: twice('sidecars.1.name'),
  },
  {
    name: 'one name in both lists of containers',
    spec: { sidecars: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'a', image: 'a' }] },
    says: [
      'must not have the same name',
      [['sidecars.0.name', 'an init container and a sidecar must not have the same name']],
    ],
  },
  {
    name: 'a sidecar of our name',
    spec: sidecar({ name: 'server' }),
    says: ['are reserved for Davit', [['sidecars.0.name', OURS]]],
  },
  {
    name: 'an init container of our name',
    spec: { initContainers: [{ name: 'wait-for-database', image: 'a' }] },
    says: ['are reserved for Davit', [['init_containers.0.name', OURS]]],
  },
  { name: 'a container name in upper case', spec: sidecar({ name: 'Helper' }), says: PATTERN },
  ...['sidecars', 'initContainers'].flatMap((list) =>
    ['registry.example/Team/app:1', 'app:', 'https://registry.example/app', 'has space:1'].map((image) => ({
      name: `an image in ${list} that is no reference: ${image}`,
      spec: { [list]: [{ name: 'helper', image }] },
      says: ['should match', 'must be an image reference such as'] as const,
    })),
  ),
  {
    name: 'a sidecar without an image',
    spec: { sidecars: [{ name: 'helper' }] },
    says: ['Required value', [['sidecars.0.image', 'is required', 'missing']]],
  },
  { name: 'a label by which we select', spec: { labels: { 'davit.dev/component': 'postgres' } }, says: OWN },
  { name: 'a label of Kubernetes', spec: { labels: { 'app.kubernetes.io/name': 'x' } }, says: OWN },
  { name: 'an annotation of ours', spec: { annotations: { 'davit.dev/applied': 'x' } }, says: OWN },
  {
    name: 'an annotation that switches AppArmor off',
    spec: { annotations: { 'container.apparmor.security.beta.kubernetes.io/server': 'unconfined' } },
    says: OWN,
  },
  {
    name: 'a label by which foreign Services select',
    spec: { labels: { app: 'shop' } },
    says: both('these labels have an effect beyond'),
  },
  {
    name: 'a label that an injector acts on',
    spec: { labels: { 'azure.workload.identity/use': 'true' } },
    says: both('these labels have an effect beyond'),
  },
  {
    name: 'an annotation that attaches a network',
    spec: { annotations: { 'k8s.v1.cni.cncf.io/networks': 'storage' } },
    says: both('these annotations have an effect beyond'),
  },
  {
    name: 'an annotation that takes a role of the cloud',
    spec: { annotations: { 'iam.amazonaws.com/role': 'admin' } },
    says: both('these annotations have an effect beyond'),
  },
  {
    name: 'a CSI volume of another namespace',
    spec: { volumes: [{ name: 'v', csi: { driver: 'd', volumeAttributes: { secretNamespace: 'other' } } }] },
    says: both('names a namespace'),
  },
  { name: 'a label with a space', spec: { labels: { team: 'a b' } }, says: PATTERN },
  { name: 'a volume of no kind', spec: { volumes: [{ name: 'v' }] }, says: A_VOLUME },
  {
    name: 'a volume of two kinds',
    spec: { volumes: [{ name: 'v', emptyDir: {}, nfs: { server: 'a', path: '/' } }] },
    says: A_VOLUME,
  },
  {
    name: "a volume of the node's",
    spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
    says: A_VOLUME,
  },
  {
    name: 'a mount with two sub paths',
    spec: { ...scratch, volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a', subPathExpr: 'b' }] },
    says: both('not both'),
  },
  {
    name: 'a mount at a path with a colon',
    spec: { ...scratch, volumeMounts: [{ name: 'v', mountPath: '/a:b' }] },
    says: ['must not contain a colon', [['volume_mounts.0.mountPath', 'mountPath must not contain a colon']]],
  },
  {
    name: 'a mount that reaches the node',
    spec: { ...scratch, volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] },
    says: ['refused by the pod policy', [['volume_mounts.0.mountPropagation', REACHES]]],
  },
  { name: 'a privileged sidecar', spec: context({ privileged: true }), says: POLICY },
  { name: 'an added capability', spec: context({ capabilities: { add: ['SYS_ADMIN'] } }), says: POLICY },
  { name: 'an unmasked /proc', spec: context({ procMount: 'Unmasked' }), says: POLICY },
  { name: 'no seccomp', spec: context({ seccompProfile: { type: 'Unconfined' } }), says: POLICY },
  { name: 'no AppArmor', spec: context({ appArmorProfile: { type: 'Unconfined' } }), says: POLICY },
  { name: 'an SELinux type of its own', spec: context({ seLinuxOptions: { type: 'spc_t' } }), says: POLICY },
  { name: 'a host process', spec: context({ windowsOptions: { hostProcess: true } }), says: POLICY },
  {
    name: 'a service account of another namespace',
    spec: { serviceAccountName: 'kube-system/admin' },
    says: ['should match', [['service_account_name', DNS, 'string_pattern_mismatch']]],
  },
  { name: 'a pull secret of another namespace', spec: { imagePullSecrets: [{ name: 'other/pull' }] }, says: PATTERN },
  {
    name: 'too many sidecars',
    spec: { sidecars: Array.from({ length: 21 }, (_, n) => ({ name: `a${n}`, image: 'a' })) },
    says: ['at most 20', 'at most 20'],
  },
];

/** What no pod of a record may be, in every container and mount where it can be asked for. */
export const hostile: readonly Refused[] = [
  ...Object.entries<readonly [what: string, ...values: unknown[]]>({
    privileged: ['privileged is', true],
    capabilities: ['an added capability is', { add: ['SYS_ADMIN'] }, { add: ['ALL'], drop: ['ALL'] }],
    procMount: ['a procMount other than Default is', 'Unmasked'],
    seccompProfile: ['seccomp profile Unconfined is', { type: 'Unconfined' }],
    appArmorProfile: ['AppArmor profile Unconfined is', { type: 'Unconfined' }],
    seLinuxOptions: [
      'an SELinux user, role or type of its own is',
      { type: 'spc_t' },
      { user: 'system_u' },
      { role: 'sysadm_r' },
    ],
    windowsOptions: ['a host process is', { hostProcess: true }],
  }).flatMap(([field, [what, ...values]]) =>
    values.flatMap((value) =>
      ['sidecars', 'initContainers'].map((list): Refused => {
        const where = `${snake(list)}.0.securityContext.${field}`;
        return {
          name: `${list} with ${field} ${JSON.stringify(value)}`,
          spec: { [list]: [{ name: 'helper', image: 'helper:1', securityContext: { [field]: value } }] },
          says: ['refused by the pod policy', [[where, `${what} refused by the pod policy`]]],
        };
      }),
    ),
  ),
  ...['volumeMounts', 'sidecars', 'initContainers'].map((place) => {
    const mounts = [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }];
    const parts = place === 'volumeMounts' ? mounts : [{ name: 'helper', image: 'helper:1', volumeMounts: mounts }];
    return { name: `a mount that reaches the node in ${place}`, spec: { ...scratch, [place]: parts }, says: POLICY };
  }),
  ...Object.entries({
    hostPath: { path: '/' },
    iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.example:disk', lun: 0 },
    flexVolume: { driver: 'example/disk' },
    gcePersistentDisk: { pdName: 'disk' },
    awsElasticBlockStore: { volumeID: 'disk' },
    rbd: { monitors: ['10.0.0.1'], image: 'disk' },
    glusterfs: { endpoints: 'gluster', path: '/' },
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } },
    image: { reference: 'registry.example/files:1' },
  }).map(([kind, source]) => ({
    name: `a volume of kind ${kind}`,
    spec: { volumes: [{ name: 'v', [kind]: source }] },
    says: both('exactly one of'),
  })),
];

/** What a platform refuses by its settings, at every door in these words. */
export interface RefusedHere {
  readonly name: string;
  readonly settings: Parts;
  readonly spec: Parts;
  readonly says: string;
}

const RESTRICTED = { pods: { policy: 'restricted' } };
const LIMITED = { limits: { cpu: 2, memoryMb: 1024, resources: { 'nvidia.com/gpu': 1 } } };
const using = (limits: Parts): Parts => sidecar({ resources: { limits } });

export const refusedHere: readonly RefusedHere[] = [
  ...[
    'co.elastic.logs/json',
    'io.opentelemetry.discovery.logs/config',
    'telegraf.influxdata.com/inputs',
    'external-dns.alpha.kubernetes.io/hostname',
    'prometheus.io/scrape',
    'fluentbit.io/parser',
    'nginx.ingress.kubernetes.io/auth-url',
  ].map((key) => ({
    name: `annotation ${key}`,
    settings: {},
    spec: { annotations: { [key]: 'x' } },
    says: 'these annotations have an effect beyond',
  })),
  {
    name: 'a key that the platform refuses',
    settings: { pods: { refused: { labels: ['billing.example/'] } } },
    spec: { labels: { 'billing.example/team': 'x' } },
    says: 'these labels have an effect beyond',
  },
  {
    name: 'privilege escalation',
    settings: RESTRICTED,
    spec: context({ allowPrivilegeEscalation: true }),
    says: 'privilege escalation is refused',
  },
  { name: 'root', settings: RESTRICTED, spec: context({ runAsUser: 0 }), says: 'user 0 is refused' },
  {
    name: 'root by the image',
    settings: RESTRICTED,
    spec: context({ runAsNonRoot: false }),
    says: 'runAsNonRoot: false is refused',
  },
  {
    name: 'another drop of capabilities',
    settings: RESTRICTED,
    spec: context({ capabilities: { drop: ['CHOWN'] } }),
    says: 'capabilities other than a drop of ALL',
  },
  {
    name: 'NFS',
    settings: RESTRICTED,
    spec: { volumes: [{ name: 'v', nfs: { server: 'files.example', path: '/' } }] },
    says: 'nfs is refused',
  },
  {
    name: 'any label',
    settings: RESTRICTED,
    spec: { labels: { team: 'x' } },
    says: 'allows only the labels in settings',
  },
  { name: 'a large size', settings: LIMITED, spec: { queueCpuLimit: 3 }, says: 'at most 2' },
  {
    name: 'a sidecar of 500 cores',
    settings: LIMITED,
    spec: using({ cpu: '500' }),
    says: "of a pod's containers together",
  },
  {
    name: 'a sidecar with much memory',
    settings: LIMITED,
    spec: using({ memory: '129e9' }),
    says: "memory requests of a pod's containers together",
  },
  {
    name: 'a size with its sidecar',
    settings: LIMITED,
    spec: { cpu: 1.5, ...using({ cpu: 1 }) },
    says: 'its sum with the sidecars',
  },
  {
    name: 'eight GPUs',
    settings: LIMITED,
    spec: { initContainers: [{ name: 'train', image: 'a', resources: { limits: { 'nvidia.com/gpu': 8 } } }] },
    says: "nvidia.com/gpu of a pod's containers together",
  },
  {
    name: 'a resource that no limit names',
    settings: LIMITED,
    spec: using({ 'example.com/fpga': 1 }),
    says: "example.com/fpga of a pod's containers together",
  },
];

/** A runtime that neither door takes, in both cases, with the names of its record's secrets. */
export interface RefusedRuntime {
  readonly name: string;
  readonly runtime: Parts;
  readonly payload: Parts;
  readonly secrets?: readonly string[];
  readonly kubectl: string;
  /** `where` is below runtime. */
  readonly http: readonly Finding[];
}

const NOT_BOTH = 'set exactly one of sleep and exec';
const TWO_HEALTHS = 'set at most one of healthPath and healthCommand';
const ONE_HEALTH = 'set only one of heartbeatFile, healthPath and healthCommand';
const RESTARTS =
  'healthRestart needs healthCommand or heartbeatFile: a part with a port is restarted only when the port does not open';
const SCHEME = 'must be the scheme of a PostgreSQL URI without ://, such as postgres or postgresql+asyncpg';
const NO_URI = 'there is no URI while database is none: remove postgresUriScheme, or reset database';
const THEIR_SCHEME =
  'the URI in POSTGRES_URI_CUSTOM is used unchanged: write the scheme into it, and remove postgresUriScheme';
const PLATFORMS =
  'this name is set by the platform: choose another, or name it in without as well, so that only this value is set';
const EXTERNAL =
  'POSTGRES_URI_CUSTOM holds the URI of an external datastore, whose parts Davit does not know: add the part as a secret with this name';
const NAMED_TWICE = 'this name is also in secrets or in secret references: remove it there, or choose another';

function onePart(name: string, part: Parts, kubectl: string, http: readonly Finding[]): RefusedRuntime {
  return { name, runtime: { queue: part }, payload: { queue: payloadSpec(part) }, kubectl, http };
}
function names(name: string, envNames: Parts, kubectl: string, http: readonly Finding[]): RefusedRuntime {
  return { name, runtime: { envNames }, payload: { env_names: envNames }, kubectl, http };
}

function worker(name: string, given: Parts, kubectl: string, http: readonly Finding[]): RefusedRuntime {
  const [key = '', part] = Object.entries(given)[0] ?? [];
  return {
    name,
    runtime: { workers: given },
    payload: { workers: { [key]: payloadSpec(part as Parts) } },
    kubectl,
    http,
  };
}
const WORK = { command: ['work'] };
const WORKER_NAME =
  'the name of a worker has letters, digits and hyphens, begins with a letter and has at most 40 characters, without two hyphens in a row';
const RESERVED_WORKER =
  'the name of a worker must not be one of server, queue, orchestrator, executor, redis, postgres, migrate, task, backup, restore, verify, wait-for-database, wait-for-redis';
const NO_COMMAND = 'set command or args: without them, the worker would run the same program as the server';
const ONE_POD = 'a singleton has one pod: remove minScale and maxScale, or set maxScale to 0 to stop it';

export const refusedRuntimes: readonly RefusedRuntime[] = [
  worker('a worker with the name of a part', { queue: WORK }, RESERVED_WORKER, [['workers.queue', RESERVED_WORKER]]),
  worker('a worker with two hyphens', { 'a--b': WORK }, WORKER_NAME, [['workers.a--b', WORKER_NAME]]),
  worker('a worker that begins with a digit', { '1st': WORK }, WORKER_NAME, [['workers.1st', WORKER_NAME]]),
  worker('a worker without a command', { mailer: { cpu: 1 } }, NO_COMMAND, [['workers.mailer', NO_COMMAND]]),
  worker('two of a singleton', { mailer: { ...WORK, singleton: true, maxScale: 2 } }, ONE_POD, [
    ['workers.mailer.singleton', ONE_POD],
  ]),
  worker(
    'most pods below the fewest',
    { mailer: { ...WORK, minScale: 3, maxScale: 2 } },
    'must not be below minScale',
    [['workers.mailer.max_scale', 'maxScale must not be below minScale']],
  ),
  worker('a scale of a worker of thousands', { mailer: { ...WORK, maxScale: 1001 } }, 'less than or equal to 100', [
    ['workers.mailer.max_scale', 'must be at most 100', 'less_than_equal'],
  ]),
  worker(
    'two healths of a worker',
    { mailer: { ...WORK, heartbeatFile: '/tmp/a', healthCommand: ['ping'] } },
    ONE_HEALTH,
    [['workers.mailer.heartbeat_file', ONE_HEALTH]],
  ),
  {
    name: 'eleven workers',
    runtime: { workers: Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`w${at}`, WORK])) },
    payload: { workers: Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`w${at}`, WORK])) },
    kubectl: 'must have at most 10',
    http: [['workers', 'must have at most 10 workers']],
  },
  {
    name: 'a port that there is not',
    runtime: { port: 65_536 },
    payload: { port: 65_536 },
    kubectl: 'less than or equal to 65535',
    http: [['port', 'must be at most 65535', 'less_than_equal']],
  },
  {
    name: 'a health path with a space',
    runtime: { healthPath: '/a b' },
    payload: { health_path: '/a b' },
    kubectl: 'should match',
    http: [
      [
        'health_path',
        'must be a path such as /ok: it begins with / and has no spaces and no #',
        'string_pattern_mismatch',
      ],
    ],
  },
  {
    name: 'a variable left out that the platform does not set',
    runtime: { without: ['HOME'] },
    payload: { without: ['HOME'] },
    kubectl: 'Unsupported value',
    http: [['without.0', expect.stringContaining('must be one of PORT') as string, 'enum']],
  },
  {
    name: 'a variable left out twice',
    runtime: { without: ['PORT', 'PORT'] },
    payload: { without: ['PORT', 'PORT'] },
    kubectl: 'Duplicate value',
    http: [['without.1', 'this name appears twice']],
  },
  onePart('a command of one word', { command: 'serve' }, 'must be of type array', [
    ['queue.command', 'must be an array', 'list_type'],
  ]),
  onePart('a port of a part that there is not', { port: 0 }, 'greater than or equal to 1', [
    ['queue.port', 'must be at least 1', 'greater_than_equal'],
  ]),
  onePart('a health path of a part that is none', { healthPath: 'live' }, 'should match', [
    [
      'queue.health_path',
      'must be a path such as /ok: it begins with / and has no spaces and no #',
      'string_pattern_mismatch',
    ],
  ]),
  onePart('an empty health command', { healthCommand: [] }, 'should have at least 1 items', [
    ['queue.health_command', 'must have at least 1 item', 'too_short'],
  ]),
  onePart('a health path and a health command', { healthPath: '/live', healthCommand: ['ping'] }, TWO_HEALTHS, [
    ['queue.health_command', TWO_HEALTHS],
  ]),
  onePart('a heartbeat and a health command', { heartbeatFile: '/tmp/alive', healthCommand: ['ping'] }, ONE_HEALTH, [
    ['queue.heartbeat_file', ONE_HEALTH],
  ]),
  onePart('a heartbeat and a health path', { heartbeatFile: '/tmp/alive', healthPath: '/live' }, ONE_HEALTH, [
    ['queue.heartbeat_file', ONE_HEALTH],
  ]),
  onePart('a heartbeat in no place', { heartbeatFile: 'alive' }, 'should match', [
    [
      'queue.heartbeat_file',
      'must be the path of a file such as /tmp/alive: it begins with /',
      'string_pattern_mismatch',
    ],
  ]),
  onePart('the age of no heartbeat', { heartbeatMaxAgeSeconds: 60 }, 'needs heartbeatFile', [
    ['queue.heartbeat_max_age_seconds', 'heartbeatMaxAgeSeconds needs heartbeatFile'],
  ]),
  onePart(
    'a heartbeat that is too old at once',
    { heartbeatFile: '/tmp/alive', heartbeatMaxAgeSeconds: 0 },
    'greater than or equal to 1',
    [['queue.heartbeat_max_age_seconds', 'must be at least 1', 'greater_than_equal']],
  ),
  onePart('a restart for a health path', { healthPath: '/live', healthRestart: true }, RESTARTS, [
    ['queue.health_restart', RESTARTS],
  ]),
  onePart('no failed health check', { healthFailureThreshold: 0 }, 'greater than or equal to 1', [
    ['queue.health_failure_threshold', 'must be at least 1', 'greater_than_equal'],
  ]),
  onePart('a health check every day', { healthPeriodSeconds: 86_400 }, 'less than or equal to 3600', [
    ['queue.health_period_seconds', 'must be at most 3600', 'less_than_equal'],
  ]),
  onePart('a health check of no time', { healthTimeoutSeconds: 0 }, 'greater than or equal to 1', [
    ['queue.health_timeout_seconds', 'must be at least 1', 'greater_than_equal'],
  ]),
  onePart('no time to end', { terminationGracePeriodSeconds: 0 }, 'greater than or equal to 1', [
    ['queue.termination_grace_period_seconds', 'must be at least 1', 'greater_than_equal'],
  ]),
  onePart('more than two hours to end', { terminationGracePeriodSeconds: 7201 }, 'less than or equal to 7200', [
    ['queue.termination_grace_period_seconds', 'must be at most 7200', 'less_than_equal'],
  ]),
  onePart('two preStop hooks', { preStop: { sleep: { seconds: 1 }, exec: { command: ['a'] } } }, NOT_BOTH, [
    ['queue.pre_stop', NOT_BOTH],
  ]),
  onePart(
    'a wait that takes all the time',
    { terminationGracePeriodSeconds: 10, preStop: { sleep: { seconds: 10 } } },
    'the sleep of preStop must be shorter',
    [['queue.pre_stop', 'the sleep of preStop must be shorter than terminationGracePeriodSeconds']],
  ),
  {
    name: 'a migration without a command',
    runtime: { migrate: { timeoutSeconds: 60 } },
    payload: { migrate: { timeout_seconds: 60 } },
    kubectl: 'set command or args',
    http: [['migrate', 'set command or args: without them, the image would start its server instead of the migration']],
  },
  {
    name: 'a migration of more than a day',
    runtime: { migrate: { args: ['up'], timeoutSeconds: 86_401 } },
    payload: { migrate: { args: ['up'], timeout_seconds: 86_401 } },
    kubectl: 'less than or equal to 86400',
    http: [['migrate.timeout_seconds', 'must be at most 86400', 'less_than_equal']],
  },
  names('a value that there is not', { URL: 'postgres' }, 'Unsupported value', [
    ['env_names.URL', expect.stringContaining('must be one of postgres_uri') as string, 'enum'],
  ]),
  names(
    'a name that no shell can use',
    { 'DATABASE-URL': 'postgres_uri' },
    'must be the name of an environment variable',
    [
      [
        'env_names.DATABASE-URL',
        'must be the name of an environment variable: letters, digits and _, not beginning with a digit',
        'string_pattern_mismatch',
      ],
    ],
  ),
  names("the platform's own name", { DATABASE_URI: 'redis_uri' }, PLATFORMS, [['env_names.DATABASE_URI', PLATFORMS]]),
  names('the name that selects an external database', { POSTGRES_URI_CUSTOM: 'postgres_uri' }, 'choose another', [
    [
      'env_names.POSTGRES_URI_CUSTOM',
      'these names select an external database or Redis: POSTGRES_URI_CUSTOM, REDIS_URI_CUSTOM; choose another',
    ],
  ]),
  {
    ...names('the name of a secret', { DB_URL: 'postgres_uri' }, NAMED_TWICE, [['env_names.DB_URL', NAMED_TWICE]]),
    secrets: ['DB_URL'],
  },
  {
    name: 'a query without text',
    runtime: { queueDepth: { perPod: 5 } },
    payload: { queue_depth: { per_pod: 5 } },
    kubectl: 'Required value',
    http: [['queue_depth.query', 'is required', 'missing']],
  },
  {
    name: 'no jobs for a pod',
    runtime: { queueDepth: { query: 'SELECT 1', perPod: 0 } },
    payload: { queue_depth: { query: 'SELECT 1', per_pod: 0 } },
    kubectl: 'greater than or equal to 1',
    http: [['queue_depth.per_pod', 'must be at least 1', 'greater_than_equal']],
  },
  {
    name: 'a query of an external database',
    runtime: { queueDepth: { query: 'SELECT 1' } },
    payload: { queue_depth: { query: 'SELECT 1' } },
    secrets: ['POSTGRES_URI_CUSTOM'],
    kubectl: "queueDepth queries the deployment's own PostgreSQL",
    http: [['queue_depth', "queueDepth queries the deployment's own PostgreSQL: remove it, or POSTGRES_URI_CUSTOM"]],
  },
  ...(['database', 'redis'] as const).map((field) => {
    const variable = field === 'database' ? 'POSTGRES_URI_CUSTOM' : 'REDIS_URI_CUSTOM';
    const message = `${field} none and ${variable} contradict each other: remove one of them`;
    const runtime = { [field]: 'none' };
    return {
      name: `no ${field}, and an external one`,
      runtime,
      payload: runtime,
      secrets: [variable],
      kubectl: message,
      http: [[field, message]] as Finding[],
    };
  }),
  {
    name: 'another word than none',
    runtime: { database: 'own' },
    payload: { database: 'own' },
    kubectl: 'Unsupported value: "own"',
    http: [['database', 'must be one of none', 'enum']],
  },
  {
    name: 'a query of a database that is not there',
    runtime: { database: 'none', queueDepth: { query: 'SELECT 1' } },
    payload: { database: 'none', queue_depth: { query: 'SELECT 1' } },
    kubectl: "queueDepth queries the deployment's own PostgreSQL",
    http: [['queue_depth', "queueDepth queries the deployment's own PostgreSQL: remove it, or reset database"]],
  },
  {
    name: 'a scheme of another database',
    runtime: { postgresUriScheme: 'mysql' },
    payload: { postgres_uri_scheme: 'mysql' },
    kubectl: 'should match',
    http: [['postgres_uri_scheme', SCHEME, 'string_pattern_mismatch']],
  },
  {
    name: 'a scheme with the beginning of a URI',
    runtime: { postgresUriScheme: 'postgres://' },
    payload: { postgres_uri_scheme: 'postgres://' },
    kubectl: 'should match',
    http: [['postgres_uri_scheme', SCHEME, 'string_pattern_mismatch']],
  },
  {
    name: 'a scheme of no URI',
    runtime: { database: 'none', postgresUriScheme: 'postgres' },
    payload: { database: 'none', postgres_uri_scheme: 'postgres' },
    kubectl: NO_URI,
    http: [['postgres_uri_scheme', NO_URI]],
  },
  {
    name: 'a scheme of an external URI',
    runtime: { postgresUriScheme: 'postgresql+asyncpg' },
    payload: { postgres_uri_scheme: 'postgresql+asyncpg' },
    secrets: ['POSTGRES_URI_CUSTOM'],
    kubectl: THEIR_SCHEME,
    http: [['postgres_uri_scheme', THEIR_SCHEME]],
  },
  {
    name: 'values of stores that are not there',
    runtime: { database: 'none', redis: 'none', envNames: { DB: 'postgres_uri', CACHE: 'redis_host' } },
    payload: { database: 'none', redis: 'none', env_names: { DB: 'postgres_uri', CACHE: 'redis_host' } },
    kubectl: 'this value does not exist while database is none: remove the name, or reset database',
    http: [
      ['env_names.DB', 'this value does not exist while database is none: remove the name, or reset database'],
      ['env_names.CACHE', 'this value does not exist while redis is none: remove the name, or reset redis'],
    ],
  },
  {
    ...names('a part of an external URI', { DB_HOST: 'postgres_host' }, EXTERNAL, [['env_names.DB_HOST', EXTERNAL]]),
    secrets: ['POSTGRES_URI_CUSTOM'],
  },
];

/** Plain variables that neither door takes, with the names of the record's secrets and the platform's values under other names. */
export interface RefusedVariables {
  readonly name: string;
  readonly env: readonly unknown[];
  readonly secrets?: readonly string[];
  readonly envNames?: Parts;
  readonly kubectl: string;
  /** `where` is below env. */
  readonly http: readonly Finding[];
}

const IN_SECRETS = 'this name is in env and also in secrets or in secret references: remove it from one of them';
const IN_ENV_NAMES = 'this name is in env and also in envNames of runtime: remove it from one of them';
const SELECTS =
  'POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM select an external database or Redis, and their URIs have passwords: set them in secrets';
const TOO_MUCH = 'must have at most 65536 characters together: mount long texts as a ConfigMap';

export const refusedVariables: readonly RefusedVariables[] = [
  {
    name: 'one name twice',
    env: ['A', 'B', 'A'].map((name, n) => ({ name, value: `${n}` })),
    kubectl: 'Duplicate value',
    http: [['2.name', 'this name is a duplicate']],
  },
  ...['PORT', 'REDIS_URI', 'OTEL_SERVICE_NAME'].map(
    (name): RefusedVariables => ({
      name: `the platform's own name ${name}`,
      env: [{ name, value: '1' }],
      kubectl: 'these names are set by the platform: PORT',
      http: [['0.name', expect.stringContaining('these names are set by the platform: PORT') as string]],
    }),
  ),
  ...['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map(
    (name): RefusedVariables => ({
      name: `${name}, which selects a store`,
      env: [{ name, value: 'redis://a' }],
      kubectl: SELECTS,
      http: [['0.name', SELECTS]],
    }),
  ),
  {
    name: 'the name of a secret',
    env: [
      { name: 'A', value: '1' },
      { name: 'API_KEY', value: '2' },
    ],
    secrets: ['API_KEY'],
    kubectl: IN_SECRETS,
    http: [['1.name', IN_SECRETS]],
  },
  {
    name: 'a name with a value of the platform',
    env: [{ name: 'DB_URL', value: '1' }],
    envNames: { DB_URL: 'postgres_uri' },
    kubectl: IN_ENV_NAMES,
    http: [['0.name', IN_ENV_NAMES]],
  },
  {
    name: 'a name that no shell can use',
    env: [{ name: 'LOG-LEVEL', value: 'debug' }],
    kubectl: 'should match',
    http: [
      [
        '0.name',
        'must be the name of an environment variable: letters, digits and _, not beginning with a digit',
        'string_pattern_mismatch',
      ],
    ],
  },
  {
    name: 'no value',
    env: [{ name: 'A' }],
    kubectl: 'Required value',
    http: [['0.value', 'is required', 'missing']],
  },
  {
    name: 'a number as a value',
    env: [{ name: 'A', value: 1 }],
    kubectl: 'must be of type string',
    http: [['0.value', 'must be a string', 'string_type']],
  },
  {
    name: 'one long value',
    env: [{ name: 'A', value: 'x'.repeat(32_769) }],
    kubectl: 'may not be more than 32768',
    http: [['0.value', 'must have at most 32768 characters', 'string_too_long']],
  },
  {
    name: 'much text together',
    env: ['A', 'B', 'C'].map((name) => ({ name, value: 'x'.repeat(21_846) })),
    kubectl: TOO_MUCH,
    http: [['', TOO_MUCH]],
  },
  {
    name: 'more than a hundred',
    env: Array.from({ length: 101 }, (_, n) => ({ name: `A${n}`, value: '' })),
    kubectl: 'must have at most 100 items',
    http: [['', 'must have at most 100 items', 'too_long']],
  },
];

/** Tasks that neither door takes. */
export interface RefusedTasks {
  readonly name: string;
  readonly tasks: readonly Parts[];
  readonly kubectl: string;
  /** `where` is below tasks. */
  readonly http: readonly Finding[];
}

const NEVER = 'names only days that its months do not have, so it would never run: correct the day or the month';
const REVERSED =
  'has a range that ends before it begins, which Kubernetes refuses: list its two parts, such as 5-6,0-1 for Friday to Monday';
const LOCAL =
  "must be the name of a time zone such as Europe/Berlin: Local is not one. To use the time zone of the cluster's control plane, leave the field out";
const TOO_OFTEN =
  'would run more often than every 5 minutes: choose at most 12 minutes of an hour, such as */5 * * * *, or @every 5m';
const EVERY_MOMENT = 'would run more often than once a minute: write @every 1m or longer';
const clean = (more: Parts = {}): Parts => ({ name: 'clean', command: ['clean'], ...more });
const NOT_A_SCHEDULE =
  'must be a schedule as in a CronJob, such as 0 3 * * * or @hourly, without TZ=: the time zone has a field of its own';

export const refusedTasks: readonly RefusedTasks[] = [
  {
    name: 'one name twice',
    tasks: [clean(), clean({ schedule: '@hourly' })],
    kubectl: 'Duplicate value',
    http: [['1.name', 'this name is a duplicate']],
  },
  ...['TZ=UTC 0 3 * * *', 'CRON_TZ=UTC 0 3 * * *', '0 25 * * *', '@reboot'].map(
    (schedule): RefusedTasks => ({
      name: `the schedule ${schedule}`,
      tasks: [clean({ schedule })],
      kubectl: 'should match',
      http: [['0.schedule', NOT_A_SCHEDULE, 'string_pattern_mismatch']],
    }),
  ),
  {
    name: 'a time zone that is none',
    tasks: [clean({ schedule: '@hourly', timeZone: 'Europe/' })],
    kubectl: 'should match',
    http: [['0.time_zone', 'must be the name of a time zone such as Europe/Berlin', 'string_pattern_mismatch']],
  },
  {
    name: 'days that their months do not have',
    tasks: [clean({ schedule: '0 0 30 2 *' })],
    kubectl: NEVER,
    http: [['0.schedule', NEVER]],
  },
  ...['0 0 * * 5-1', '0 22-6 * * *', '0 3 1 nov-FEB *'].map(
    (schedule): RefusedTasks => ({
      name: `a range that ends before it begins: ${schedule}`,
      tasks: [clean({ schedule })],
      kubectl: REVERSED,
      http: [['0.schedule', REVERSED]],
    }),
  ),
  {
    name: 'a run each second',
    tasks: [clean({ schedule: '@every 1s' })],
    kubectl: EVERY_MOMENT,
    http: [['0.schedule', EVERY_MOMENT]],
  },
  {
    name: 'the local time zone, which Kubernetes refuses',
    tasks: [clean({ schedule: '@hourly', timeZone: 'Local' })],
    kubectl: LOCAL,
    http: [['0.time_zone', LOCAL]],
  },
  {
    name: 'a name that is no DNS label',
    tasks: [clean({ name: 'Clean_up' })],
    kubectl: 'should match',
    http: [
      [
        '0.name',
        'must be lower-case letters, digits and -, beginning and ending with a letter or digit',
        'string_pattern_mismatch',
      ],
    ],
  },
  {
    name: 'no command',
    tasks: [{ name: 'clean' }],
    kubectl: 'Required value',
    http: [['0.command', 'is required', 'missing']],
  },
  {
    name: 'an unknown concurrency',
    tasks: [clean({ concurrency: 'Forbid' })],
    kubectl: 'Unsupported value',
    http: [['0.concurrency', 'must be one of forbid, replace, allow', 'enum']],
  },
  {
    name: 'more than a day',
    tasks: [clean({ timeoutSeconds: 86_401 })],
    kubectl: 'less than or equal to 86400',
    http: [['0.timeout_seconds', 'must be at most 86400', 'less_than_equal']],
  },
  {
    name: 'more than twenty',
    tasks: Array.from({ length: 21 }, (_, n) => clean({ name: `t${n}` })),
    kubectl: 'must have at most 20 items',
    http: [['', 'must have at most 20 items', 'too_long']],
  },
];

/** A part of `database` that neither door takes. */
interface RefusedPart {
  readonly name: string;
  readonly part: Parts;
  readonly kubectl: string;
  /** `where` is below the part. */
  readonly http: readonly Finding[];
}

export const refusedBackups: readonly RefusedPart[] = [
  {
    name: 'a schedule with a time zone',
    part: { schedule: 'TZ=UTC 0 3 * * *' },
    kubectl: 'should match',
    http: [['schedule', NOT_A_SCHEDULE, 'string_pattern_mismatch']],
  },
  {
    name: 'a time zone that is none',
    part: { timeZone: 'Europe/' },
    kubectl: 'should match',
    http: [['time_zone', 'must be the name of a time zone such as Europe/Berlin', 'string_pattern_mismatch']],
  },
  {
    name: 'days that their months do not have',
    part: { schedule: '0 3 31 4,6 *' },
    kubectl: NEVER,
    http: [['schedule', NEVER]],
  },
  {
    name: 'a range that ends before it begins',
    part: { schedule: '0 3 * * sat-SUN' },
    kubectl: REVERSED,
    http: [['schedule', REVERSED]],
  },
  ...['@every 1s', '@every 4m59s', '* 3 * * *', '*/4 * * * *', '*/5,1-56/5 * * * *'].map(
    (schedule): RefusedPart => ({
      name: `too often: ${schedule}`,
      part: { schedule },
      kubectl: TOO_OFTEN,
      http: [['schedule', TOO_OFTEN]],
    }),
  ),
  {
    name: 'verifications each minute',
    part: { verify: true, verifySchedule: '* * * * *' },
    kubectl: TOO_OFTEN,
    http: [['verify_schedule', TOO_OFTEN]],
  },
  {
    name: 'the local time zone, which Kubernetes refuses',
    part: { timeZone: 'local' },
    kubectl: LOCAL,
    http: [['time_zone', LOCAL]],
  },
  {
    name: 'a schedule of verifications that is none',
    part: { verify: true, verifySchedule: 'weekly' },
    kubectl: 'should match',
    http: [['verify_schedule', NOT_A_SCHEDULE, 'string_pattern_mismatch']],
  },
  {
    name: 'verifications on days that their months do not have',
    part: { verify: true, verifySchedule: '0 3 31 4,6 *' },
    kubectl: NEVER,
    http: [['verify_schedule', NEVER]],
  },
  {
    name: 'verifications in a range that ends before it begins',
    part: { verify: true, verifySchedule: '0 3 * * sat-SUN' },
    kubectl: REVERSED,
    http: [['verify_schedule', REVERSED]],
  },
  {
    name: 'none to keep',
    part: { keep: 0 },
    kubectl: 'greater than or equal to 1',
    http: [['keep', 'must be at least 1', 'greater_than_equal']],
  },
  {
    name: 'too many days to keep',
    part: { keepDays: 3651 },
    kubectl: 'less than or equal to 3650',
    http: [['keep_days', 'must be at most 3650', 'less_than_equal']],
  },
  {
    name: 'an age of more than a year',
    part: { staleAfterHours: 8761 },
    kubectl: 'less than or equal to 8760',
    http: [['stale_after_hours', 'must be at most 8760', 'less_than_equal']],
  },
  {
    name: 'no age of a verification',
    part: { verify: true, verifyStaleAfterHours: 0 },
    kubectl: 'greater than or equal to 1',
    http: [['verify_stale_after_hours', 'must be at least 1', 'greater_than_equal']],
  },
];

const NOT_A_TIME = 'must be a time such as 2026-11-25T12:00:00Z, on a day that exists';

export const refusedRestores: readonly RefusedPart[] = [
  {
    name: 'no deployment that it comes from',
    part: { at: '2026-02-01T00:00:00Z' },
    kubectl: 'Required value',
    http: [['from', 'is required', 'missing']],
  },
  {
    name: 'a deployment of another namespace',
    part: { from: 'other/shop' },
    kubectl: 'should match',
    http: [
      [
        'from',
        'must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit',
        'string_pattern_mismatch',
      ],
    ],
  },
  {
    name: 'a time that is none',
    part: { from: 'shop', at: 'yesterday' },
    kubectl: 'should match',
    http: [['at', NOT_A_TIME, 'string_pattern_mismatch']],
  },
  {
    name: 'a day that its month does not have',
    part: { from: 'shop', at: '2026-02-31T00:00:00Z' },
    kubectl: 'should match',
    http: [['at', NOT_A_TIME, 'string_pattern_mismatch']],
  },
  {
    name: 'a backup that is a path',
    part: { from: 'shop', backup: '../other' },
    kubectl: 'should match',
    http: [['backup', 'must be the name of a backup such as 20261125T120000Z-1a2b3c4d', 'string_pattern_mismatch']],
  },
  {
    name: 'a time and a backup',
    part: { from: 'shop', at: '2026-02-01T00:00:00Z', backup: '20260201T020000Z-0000000a' },
    kubectl: 'set at or backup, not both',
    http: [['backup', 'set at or backup, not both', 'value_error']],
  },
];

/** The spec as the HTTP API takes it. */
export function payloadSpec(spec: Parts): Parts {
  return Object.fromEntries(Object.entries(spec).map(([field, value]) => [snake(field), value]));
}

/** The record's names of fields that messages of these rows have. Over HTTP they have those of requests: `healthPath` is `health_path`. */
const NAMED =
  /\b(?:minScale|maxScale|healthPath|healthCommand|healthRestart|heartbeatFile|heartbeatMaxAgeSeconds|preStop|terminationGracePeriodSeconds|queueDepth|postgresUriScheme|envNames)\b/g;

function overHttp(msg: unknown): unknown {
  return typeof msg === 'string' ? msg.replaceAll(NAMED, snake) : msg;
}

/** Holds the answer of the HTTP API, a `detail`, against what the row says. */
export function expectFindings(detail: unknown, says: Refused['says'][1], below = 'resource_spec'): void {
  if (typeof says === 'string') {
    expect(JSON.stringify(detail)).toContain(says.replaceAll('"', '\\"'));
    return;
  }
  const at = ['body', 'source_config', below].join('.');
  const found = (detail as readonly { loc: unknown[]; msg: string; type: string }[]).map(({ loc, ...rest }) => ({
    loc: loc.join('.'),
    ...rest,
  }));
  const loc = (where: string): string => (where === '' ? at : `${at}.${where}`);
  expect(found).toEqual(
    says.map(([where, msg, type = 'value_error']) => ({ loc: loc(where), msg: overHttp(msg), type })),
  );
}
