// The tables of docs/resource-spec.md: what each field of a ResourceSpec becomes in the children of a record. The rows say what is
// to be; a test makes the children of each row's record and compares, and finds a field of the schema without a row.

import { effectiveNumbers, resolve } from '../deployments/record/resolve.ts';
import type { AppDeploymentSpec, DeploymentType } from '../schema/app-deployment.ts';
import type { ResourceSpec, VolumeMount } from '../schema/resource-spec.ts';
import { defaultSettings } from '../schema/settings.ts';
import { withTable } from './sections.ts';

/** One place in a child. */
interface Effect {
  /** `Deployment shop`; a record named `shop` is meant. */
  readonly object: string;
  /** Path in it: `spec.replicas`; an element of a list by its name or mountPath, a key with dots, in brackets. */
  readonly at: string;
  /** What stands there; undefined: the object isn't made. */
  readonly is: unknown;
}

export interface Row<Given = ResourceSpec> {
  /** Path in what is given, lists as `volumes[].name`. */
  readonly field: string;
  /** With this field set, and what it cannot be without. */
  readonly given: Given;
  /** What is written in the page's column "example": the value of the field itself. */
  readonly example: unknown;
  readonly effects: readonly Effect[];
}

/** Where the containers of one part are. */
interface Part {
  readonly object: string;
  readonly container: string;
}

const SERVER: Part = { object: 'Deployment shop', container: 'spec.template.spec.containers[server]' };
const QUEUE: Part = { object: 'Deployment shop--queue', container: 'spec.template.spec.containers[queue]' };
const ORCHESTRATOR: Part = {
  object: 'Deployment shop--orchestrator',
  container: 'spec.template.spec.containers[orchestrator]',
};
const EXECUTOR: Part = { object: 'Deployment shop--executor', container: 'spec.template.spec.containers[executor]' };
const REDIS: Part = { object: 'StatefulSet shop--redis', container: 'spec.template.spec.containers[redis]' };
const POSTGRES: Part = { object: 'StatefulSet shop--postgres', container: 'spec.template.spec.containers[postgres]' };
const POD = 'spec.template.spec';

type Numbers = {
  [Field in keyof ResourceSpec]-?: NonNullable<ResourceSpec[Field]> extends number ? Field : never;
}[keyof ResourceSpec];

function amount(field: Numbers, example: number, { object, container }: Part, at: string, is: string): Row {
  return {
    field,
    given: { [field]: example },
    example,
    effects: [{ object, at: `${container}.resources.${at}`, is }],
  };
}

function scale(field: Numbers, example: number, { object }: Part, replicas: number): Row {
  return {
    field,
    given: { [field]: example },
    example,
    effects: [{ object, at: 'spec.replicas', is: replicas }],
  };
}

function largest(field: Numbers, example: number, { object }: Part): Row {
  const autoscaler = object.replace('Deployment', 'HorizontalPodAutoscaler');
  return {
    field,
    given: { [field]: example },
    example,
    effects: [{ object: autoscaler, at: 'spec.maxReplicas', is: example }],
  };
}

function podField(field: keyof ResourceSpec, example: unknown, at: string, is: unknown, name: string = field): Row {
  return {
    field: name,
    given: { [field]: example },
    example,
    effects: [{ object: SERVER.object, at: `spec.template.${at}`, is }],
  };
}

const NUMBERS: readonly Row[] = [
  scale('minScale', 3, SERVER, 3),
  largest('maxScale', 4, SERVER),
  amount('cpu', 0.5, SERVER, 'requests.cpu', '500m'),
  amount('cpuLimit', 1.5, SERVER, 'limits.cpu', '1500m'),
  amount('memoryMb', 768, SERVER, 'requests.memory', '768Mi'),
  amount('memoryLimitMb', 3072, SERVER, 'limits.memory', '3Gi'),
  scale('queueMinScale', 2, QUEUE, 2),
  largest('queueMaxScale', 3, QUEUE),
  amount('queueCpu', 0.25, QUEUE, 'requests.cpu', '250m'),
  amount('queueCpuLimit', 3, QUEUE, 'limits.cpu', '3'),
  amount('queueMemoryMb', 1536, QUEUE, 'requests.memory', '1536Mi'),
  amount('queueMemoryLimitMb', 5120, QUEUE, 'limits.memory', '5Gi'),
  amount('orchestratorCpu', 0.1, ORCHESTRATOR, 'requests.cpu', '100m'),
  amount('orchestratorCpuLimit', 2.5, ORCHESTRATOR, 'limits.cpu', '2500m'),
  amount('orchestratorMemoryMb', 256, ORCHESTRATOR, 'requests.memory', '256Mi'),
  amount('orchestratorMemoryLimitMb', 6144, ORCHESTRATOR, 'limits.memory', '6Gi'),
  scale('orchestratorMinScale', 2, ORCHESTRATOR, 2),
  scale('orchestratorMaxScale', 0, ORCHESTRATOR, 0),
  amount('executorCpu', 0.75, EXECUTOR, 'requests.cpu', '750m'),
  amount('executorCpuLimit', 4, EXECUTOR, 'limits.cpu', '4'),
  amount('executorMemoryMb', 1024, EXECUTOR, 'requests.memory', '1Gi'),
  amount('executorMemoryLimitMb', 7168, EXECUTOR, 'limits.memory', '7Gi'),
  amount('redisCpu', 0.2, REDIS, 'requests.cpu', '200m'),
  amount('redisCpuLimit', 0.9, REDIS, 'limits.cpu', '900m'),
  amount('redisMemoryMb', 300, REDIS, 'requests.memory', '300Mi'),
  {
    field: 'redisMemoryLimitMb',
    given: { redisMemoryLimitMb: 1000 },
    example: 1000,
    effects: [
      { object: REDIS.object, at: `${REDIS.container}.resources.limits.memory`, is: '1000Mi' },
      {
        object: REDIS.object,
        at: `${REDIS.container}.args`,
        is: ['/etc/davit/redis.conf', '--maxmemory', '750mb', '--maxmemory-policy', 'noeviction'],
      },
    ],
  },
  amount('dbCpu', 0.3, POSTGRES, 'requests.cpu', '300m'),
  amount('dbCpuLimit', 0.8, POSTGRES, 'limits.cpu', '800m'),
  amount('dbMemoryMb', 700, POSTGRES, 'requests.memory', '700Mi'),
  amount('dbMemoryLimitMb', 8192, POSTGRES, 'limits.memory', '8Gi'),
  {
    field: 'dbStorageGi',
    given: { dbStorageGi: 25 },
    example: 25,
    effects: [{ object: 'PersistentVolumeClaim shop--postgres', at: 'spec.resources.requests.storage', is: '25Gi' }],
  },
  {
    field: 'dbMaxConnections',
    given: { dbMaxConnections: 250 },
    example: 250,
    effects: [{ object: POSTGRES.object, at: `${POSTGRES.container}.args`, is: ['-c', 'max_connections=250'] }],
  },
];

const PODS: readonly Row[] = [
  podField('labels', { team: 'blue' }, 'metadata.labels.team', 'blue'),
  podField('annotations', { 'example.org/note': 'hello' }, 'metadata.annotations[example.org/note]', 'hello'),
  {
    field: 'serviceAccountName',
    given: { serviceAccountName: 'shop' },
    example: 'shop',
    effects: [
      { object: SERVER.object, at: `${POD}.serviceAccountName`, is: 'shop' },
      { object: SERVER.object, at: `${POD}.automountServiceAccountToken`, is: true },
    ],
  },
  podField(
    'imagePullSecrets',
    [{ name: 'registry' }],
    'spec.imagePullSecrets',
    [{ name: 'registry' }],
    'imagePullSecrets[].name',
  ),
];

/** The eight kinds of volume, each as it is written in a record and in a pod. */
const VOLUMES = {
  configMap: { name: 'shop-config', items: [{ key: 'a.conf', path: 'a.conf' }] },
  secret: { secretName: 'shop-keys', optional: true },
  emptyDir: { sizeLimit: '1Gi' },
  persistentVolumeClaim: { claimName: 'shop-data', readOnly: true },
  nfs: { server: 'files.example', path: '/exports/shop' },
  projected: { sources: [{ configMap: { name: 'shop-config' } }, { secret: { name: 'shop-keys' } }] },
  downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
  csi: { driver: 'secrets.example', volumeAttributes: { kind: 'shop' } },
} as const;

const VOLUME_ROWS: readonly Row[] = [
  {
    field: 'volumes[].name',
    given: { volumes: [{ name: 'scratch', emptyDir: {} }] },
    example: 'scratch',
    effects: [{ object: SERVER.object, at: `${POD}.volumes[scratch].name`, is: 'scratch' }],
  },
  ...Object.entries(VOLUMES).map(([kind, source]) => ({
    field: `volumes[].${kind}`,
    given: { volumes: [{ name: 'extra', [kind]: source }] },
    example: source,
    effects: [{ object: SERVER.object, at: `${POD}.volumes[extra].${kind}`, is: source }],
  })),
];

/** The six fields of a mount. */
const MOUNT = {
  name: 'scratch',
  mountPath: '/scratch',
  subPath: 'inner',
  mountPropagation: 'HostToContainer',
  readOnly: true,
  subPathExpr: '$(DAVIT_ROLE)',
} as const;

/** `put`: makes a ResourceSpec of a mount; `container`: where that container is in the Deployment. */
function mountRows(field: string, container: string, put: (mount: VolumeMount) => ResourceSpec): Row[] {
  return Object.entries(MOUNT).map(([name, value]) => ({
    field: `${field}.${name}`,
    given: put({ name: 'scratch', mountPath: '/scratch', [name]: value }),
    example: value,
    effects: [{ object: SERVER.object, at: `${container}.volumeMounts[/scratch].${name}`, is: value }],
  }));
}

/** The fields of a container that become the field of the same name. */
const CONTAINER: Readonly<Record<string, unknown>> = {
  name: 'helper',
  image: 'registry.example/helper:2',
  imagePullPolicy: 'Always',
  command: ['helper', '--serve'],
  args: ['--port', '9000'],
  workingDir: '/work',
  envFrom: [{ configMapRef: { name: 'shop-config' } }, { prefix: 'A_', secretRef: { name: 'shop-keys' } }],
  securityContext: { readOnlyRootFilesystem: true, runAsUser: 1000, capabilities: { drop: ['ALL'] } },
};
const ENV = [
  { name: 'PLAIN', value: 'text' },
  { name: 'FROM', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
];
const RESOURCES = { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '100m', 'ephemeral-storage': '1Gi' } };

type ContainerList = 'initContainers' | 'sidecars';

/** Every field of a container. Both lists become init containers: a sidecar is one that is always started again. */
function containerRows(list: ContainerList): Row[] {
  const helper = { name: 'helper', image: 'registry.example/helper:1' };
  const container = `${POD}.initContainers[helper]`;
  const row = (name: string, parts: object, example: unknown, at: string, is: unknown = example): Row => ({
    field: `${list}[].${name}`,
    given: { [list]: [{ ...helper, ...parts }] },
    example,
    effects: [{ object: SERVER.object, at: `${container}.${at}`, is }],
  });
  return [
    ...Object.entries(CONTAINER).map(([name, value]) => row(name, { [name]: value }, value, name)),
    row('env[].name', { env: ENV }, 'PLAIN', 'env[PLAIN].name'),
    row('env[].value', { env: ENV }, 'text', 'env[PLAIN].value'),
    row('env[].valueFrom', { env: ENV }, ENV[1]?.valueFrom, 'env[FROM].valueFrom'),
    row('resources.limits', { resources: RESOURCES }, RESOURCES.limits, 'resources.limits'),
    row('resources.requests', { resources: RESOURCES }, RESOURCES.requests, 'resources.requests'),
    ...mountRows(`${list}[].volumeMounts[]`, container, (mount) => ({
      volumes: [{ name: 'scratch', emptyDir: {} }],
      [list]: [{ ...helper, volumeMounts: [mount] }],
    })),
    list === 'sidecars'
      ? row('restartPolicy', { restartPolicy: 'Never' }, 'Never', 'restartPolicy', 'Always')
      : row('restartPolicy', { restartPolicy: 'Always' }, 'Always', 'restartPolicy'),
  ];
}

export const ROWS: readonly Row[] = [
  ...NUMBERS,
  ...PODS,
  ...VOLUME_ROWS,
  ...mountRows('volumeMounts[]', SERVER.container, (mount) => ({
    volumes: [{ name: 'scratch', emptyDir: {} }],
    volumeMounts: [mount],
  })),
  ...containerRows('initContainers'),
  ...containerRows('sidecars'),
];

/** What a change does to the pods that run. */
const CONSEQUENCES = {
  scale: 'more or fewer pods; none is replaced',
  rollout: 'a rollout: new pods before the old ones go',
  resize: 'in place: the pod keeps running',
  replace: 'the pod is replaced once',
  grow: 'the volume grows, the pod keeps running',
  refused: 'refused, reason StorageCannotShrink',
} as const;
export type Consequence = keyof typeof CONSEQUENCES;

interface Change {
  readonly fields: readonly Numbers[];
  readonly larger: Consequence;
  readonly smaller: Consequence;
}

const ROLES = ['', 'queue', 'orchestrator', 'executor'] as const;

function ofRoles(...measures: readonly string[]): readonly Numbers[] {
  return ROLES.flatMap((role) =>
    measures.map((measure) => (role === '' ? measure : `${role}${measure[0]?.toUpperCase()}${measure.slice(1)}`)),
  ).filter((field): field is Numbers => NUMBERS.some((row) => row.field === field));
}

export const CHANGES: readonly Change[] = [
  { fields: ofRoles('minScale', 'maxScale'), larger: 'scale', smaller: 'scale' },
  { fields: ofRoles('cpu', 'cpuLimit', 'memoryMb', 'memoryLimitMb'), larger: 'rollout', smaller: 'rollout' },
  {
    fields: ['dbCpu', 'dbCpuLimit', 'dbMemoryMb', 'redisCpu', 'redisCpuLimit', 'redisMemoryMb'],
    larger: 'resize',
    smaller: 'resize',
  },
  { fields: ['dbMemoryLimitMb'], larger: 'resize', smaller: 'replace' },
  { fields: ['redisMemoryLimitMb', 'dbMaxConnections'], larger: 'replace', smaller: 'replace' },
  { fields: ['dbStorageGi'], larger: 'grow', smaller: 'refused' },
];

/** docs/resource-spec.md with its tables regenerated. */
export function withResourceSpecTables(page: string): string {
  const SOURCE = 'src/generate/resource-spec-doc.ts';
  const withDefaults = withTable(page, `${SOURCE}, defaults`, defaultsTable());
  const withChanges = withTable(withDefaults, `${SOURCE}, changes`, changesTable());
  return withTable(withChanges, `${SOURCE}, fields`, `${ROWS.length} fields:\n\n${effectsTable(ROWS, apiName)}`);
}

/** Values in force of every number, where no size is given. There is an executor only where a size of it is. */
export function defaultsOf(deploymentType?: DeploymentType): Readonly<Record<string, number | undefined>> {
  const sizedByCpu = inForceWith({ executorCpu: 1 }, deploymentType);
  const { executorCpu, executorCpuLimit } = inForceWith({ executorMemoryMb: 64 }, deploymentType);
  return { ...sizedByCpu, executorCpu, executorCpuLimit };
}

function inForceWith(
  given: ResourceSpec,
  deploymentType: DeploymentType | undefined,
): Readonly<Record<string, number | undefined>> {
  const spec: AppDeploymentSpec = {
    source: 'external_docker',
    sourceConfig: {
      resourceSpec: { queueMinScale: 1, orchestratorMinScale: 1, ...given },
      ...(deploymentType && { deploymentType }),
    },
    sourceRevisionConfig: {},
    secrets: [],
    databaseDeletionPolicy: 'Delete',
    tracingProjectDeletionPolicy: 'Retain',
  };
  return effectiveNumbers(resolve(spec, defaultSettings()));
}

function defaultsTable(): string {
  const [none, dev, prod] = [defaultsOf(), defaultsOf('dev'), defaultsOf('prod')];
  const lines = NUMBERS.map(
    ({ field }) => `| \`${apiName(field)}\` | ${none[field] ?? ''} | ${dev[field] ?? ''} | ${prod[field] ?? ''} |\n`,
  );
  return `| Field | none | dev | prod |
|---|---|---|---|
${lines.join('')}`;
}

function changesTable(): string {
  const lines = CHANGES.map(({ fields, larger, smaller }) => {
    const named = fields.map((field) => `\`${apiName(field)}\``).join(', ');
    return `| ${named} | ${CONSEQUENCES[larger]} | ${CONSEQUENCES[smaller]} |\n`;
  });
  return `| Fields | A larger value | A smaller value |
|---|---|---|
${lines.join('')}| all others | ${CONSEQUENCES.rollout} | |
`;
}

/** The rows as a table; `nameOf` gives a field's name in the API. */
export function effectsTable(rows: readonly Row<unknown>[], nameOf: (field: string) => string): string {
  const lines = rows.flatMap(({ field, example, effects }) =>
    effects.map(
      ({ object, at, is }) =>
        `| \`${nameOf(field)}\` | ${cell(example)} | ${object} | \`${at}\` | ${is === undefined ? 'not made' : cell(is)} |\n`,
    ),
  );
  return `| Field | Example | Object | Path | Value there |
|---|---|---|---|---|
${lines.join('')}`;
}

/** The first word of a path as the API writes it: below it names are Kubernetes' own. */
function apiName(field: string): string {
  return field.replace(/^[A-Za-z]+/, (word) => word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

function cell(value: unknown): string {
  return `\`${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('|', '\\|')}\``;
}
