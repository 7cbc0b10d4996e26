// The tables of docs/fields.md: the defaults of a ResourceSpec, what a change restarts, and what each field becomes.

import { effectiveNumbers, resolve } from '../deploy/record/resolve.ts';
import type { DeploymentType } from '../kinds/app-deployment.ts';
import { ROLES } from '../kinds/meta.ts';
import { type Measure, NUMBER_FIELDS, ResourceSpec } from '../kinds/resource-spec.ts';
import { defaultSettings } from '../kinds/settings.ts';
import { structuralSchema } from '../kinds/structural-schema.ts';
import { effectsTable, fieldsOf, specWith } from './effects.ts';
import { withTable } from './sections.ts';

/** A container with every field. */
const HELPER: NonNullable<ResourceSpec['sidecars']>[number] = {
  name: 'helper',
  image: 'registry.example/helper:2',
  imagePullPolicy: 'Always',
  command: ['helper', '--serve'],
  args: ['--port', '9000'],
  workingDir: '/work',
  env: [
    { name: 'PLAIN', value: 'text' },
    { name: 'FROM', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
  envFrom: [{ configMapRef: { name: 'shop-config' } }, { prefix: 'A_', secretRef: { name: 'shop-keys' } }],
  resources: { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '100m', 'ephemeral-storage': '1Gi' } },
  volumeMounts: [
    { name: 'scratch', mountPath: '/scratch', subPath: 'inner', mountPropagation: 'HostToContainer', readOnly: true },
    { name: 'scratch', mountPath: '/own', subPathExpr: '$(DAVIT_ROLE)' },
  ],
  securityContext: { readOnlyRootFilesystem: true, runAsUser: 1000, capabilities: { drop: ['ALL'] } },
  restartPolicy: 'Always',
};

/** Every field. No number follows another. */
export const EXAMPLE: ResourceSpec = {
  minScale: 3,
  maxScale: 4,
  cpu: 0.5,
  cpuLimit: 1.5,
  memoryMb: 768,
  memoryLimitMb: 3072,
  queueMinScale: 2,
  queueMaxScale: 5,
  queueCpu: 0.25,
  queueCpuLimit: 3,
  queueMemoryMb: 1536,
  queueMemoryLimitMb: 5120,
  orchestratorMinScale: 2,
  orchestratorMaxScale: 6,
  orchestratorCpu: 0.1,
  orchestratorCpuLimit: 2.5,
  orchestratorMemoryMb: 256,
  orchestratorMemoryLimitMb: 6144,
  executorCpu: 0.75,
  executorCpuLimit: 4,
  executorMemoryMb: 1024,
  executorMemoryLimitMb: 7168,
  redisCpu: 0.2,
  redisCpuLimit: 0.9,
  redisMemoryMb: 300,
  redisMemoryLimitMb: 1000,
  dbCpu: 0.3,
  dbCpuLimit: 0.8,
  dbMemoryMb: 700,
  dbMemoryLimitMb: 8192,
  dbStorageGi: 25,
  dbMaxConnections: 250,
};

/** Every field that is no number. The server has it alone, as far as there are no other parts. */
const PODS: ResourceSpec = {
  labels: { team: 'blue' },
  annotations: { 'example.org/note': 'hello' },
  serviceAccountName: 'shop',
  imagePullSecrets: [{ name: 'registry' }],
  volumes: [
    { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
    { name: 'shop-config', configMap: { name: 'shop-config', items: [{ key: 'a.conf', path: 'a.conf' }] } },
    { name: 'shop-keys', secret: { secretName: 'shop-keys', optional: true } },
    { name: 'shop-data', persistentVolumeClaim: { claimName: 'shop-data', readOnly: true } },
    { name: 'shop-files', nfs: { server: 'files.example', path: '/exports/shop' } },
    {
      name: 'shop-sources',
      projected: { sources: [{ configMap: { name: 'shop-config' } }, { secret: { name: 'shop-keys' } }] },
    },
    { name: 'shop-pod', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
    { name: 'shop-vault', csi: { driver: 'secrets.example', volumeAttributes: { kind: 'shop' } } },
  ],
  volumeMounts: HELPER.volumeMounts,
  initContainers: [HELPER],
  sidecars: [{ ...HELPER, name: 'proxy', restartPolicy: 'Never' }],
};

export const RESOURCE_SPEC_EXAMPLES = [
  // Its defaults differ from the example, and let a range be larger than one pod.
  { deploymentType: 'prod', resourceSpec: EXAMPLE },
  { resourceSpec: PODS },
] as const;

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
  readonly fields: readonly string[];
  readonly larger: Consequence;
  readonly smaller: Consequence;
}

function ofRoles(...measures: readonly Measure[]): readonly string[] {
  const roles: readonly string[] = ROLES;
  return NUMBER_FIELDS.filter(({ part, measure }) => roles.includes(part) && measures.includes(measure)).map(
    ({ field }) => field,
  );
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

/** Fields that do what those of the server, of init containers or of volume_mounts do. */
const REPEATED = /^(?:queue|orchestrator|executor)[A-Z]|^sidecars\[\]\.|volumeMounts\[\]\./;

/** docs/fields.md with its tables regenerated. */
export function withResourceSpecTables(page: string): string {
  const SOURCE = 'src/tools/resource-spec-doc.ts';
  const fields = fieldsOf('resourceSpec', structuralSchema(ResourceSpec), RESOURCE_SPEC_EXAMPLES);
  const withDefaults = withTable(page, `${SOURCE}, defaults`, defaultsTable());
  const withChanges = withTable(withDefaults, `${SOURCE}, changes`, changesTable());
  const shown = fields.filter(({ field }) => !REPEATED.test(field));
  return withTable(withChanges, `${SOURCE}, fields`, effectsTable(shown, apiName));
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
  const resourceSpec = { queueMinScale: 1, orchestratorMinScale: 1, ...given };
  const spec = specWith({ resourceSpec, ...(deploymentType && { deploymentType }) });
  return effectiveNumbers(resolve(spec, defaultSettings()));
}

function defaultsTable(): string {
  const [none, dev, prod] = [defaultsOf(), defaultsOf('dev'), defaultsOf('prod')];
  const lines = NUMBER_FIELDS.filter(({ field }) => !REPEATED.test(field)).map(
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

/** The first word of a path as the API writes it: below it names are Kubernetes' own. */
function apiName(field: string): string {
  return field.replace(/^[A-Za-z]+/, (word) => word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}
