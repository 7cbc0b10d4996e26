// Changes of a record, made from the schema of its spec: every field that there is gets values, lists and maps of
// values, and is taken away again. A field that nobody gave values to fails the walk by name.

import fc from 'fast-check';
import { AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_VARIABLES,
  ROLES,
  STORE_FIELDS,
  STORE_PARTS,
} from '../../../src/kinds/meta.ts';
import { OWN_STORE_VALUES, STORE_VALUES } from '../../../src/kinds/platform-values.ts';
import { VOLUME_KINDS } from '../../../src/kinds/pod-policy.ts';
import { ORDERED_PAIRS, type ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { doesWithout, type Runtime } from '../../../src/kinds/runtime.ts';
import type { RuntimePart } from '../../../src/kinds/runtime-part.ts';
import { type StructuralSchema, structuralSchema } from '../../../src/kinds/structural-schema.ts';

/** One field of a spec, set or (value undefined) taken away. */
export interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Fields that the walk leaves alone, each for its reason. */
const LEFT_ALONE: Readonly<Record<string, string>> = {
  source: 'it cannot be changed',
  'sourceConfig.integrationId': 'codehost alone',
  'sourceConfig.repoUrl': 'codehost and templates alone',
  'sourceConfig.buildOnPush': 'codehost alone',
  'sourceConfig.installCommand': 'not external_docker',
  'sourceConfig.buildCommand': 'not external_docker',
  'sourceConfig.listenerId': 'then another cluster makes the children',
  'sourceConfig.listenerConfig': 'then another cluster makes the children',
  'sourceRevisionConfig.repoRef': 'not external_docker',
  'sourceRevisionConfig.workflowConfigPath': 'not external_docker',
  'sourceRevisionConfig.sourceTarballPath': 'not external_docker',
  'sourceRevisionConfig.davitFile': 'not external_docker',
  rebuildSerial: 'without revisionSerial it asks for nothing',
  rollbackTo: 'it takes an old snapshot, a fresh record has none',
};
/** Fields that a record of the walk cannot be without. */
const NEVER_TAKEN_AWAY: ReadonlySet<string> = new Set([
  'sourceRevisionConfig.imageUri',
  'secrets',
  'databaseDeletionPolicy',
  'tracingProjectDeletionPolicy',
]);
/** Below these every field is changed on its own. */
const OPENED: ReadonlySet<string> = new Set([
  'sourceConfig',
  'sourceRevisionConfig',
  'sourceConfig.resourceSpec',
  'sourceConfig.runtime',
]);

/** Objects of the namespace that records of the walk may name; whoever walks on a real API server makes them first. */
export const NAMED = {
  secrets: { mine: ['key', 'uri'], other: ['key', 'uri'] },
  configMaps: ['settings', 'more'],
  serviceAccounts: ['runner', 'walker'],
  claims: ['files'],
  /** As the annotation of the tenant's namespace has them. */
  hosts: 'shop.example store.example',
} as const;

/** What can stand in a field that the schema leaves open, by the end of its path. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  'secrets[]': reference(['API_KEY', 'DEBUG', 'POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM']),
  'secretReferences[]': reference(['LICENSE', 'MAIL', 'POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM']),
  imageUri: ['registry.example/shop:1', 'registry.example/shop:2', `registry.example/shop@sha256:${'ab'.repeat(32)}`],
  customUrl: ['https://shop.example', 'store.example'],
  access: [{ from: [] }, { from: ['front'] }, { from: ['front', 'back'] }],
  placement: [{ hostUsers: false }, { resources: { 'ephemeral-storage': '1Gi' } }],
  revisionSerial: [0],
  'labels{}': ['blue', 'green', ''],
  'annotations{}': ['hello', 'good\nbye', ''],
  serviceAccountName: NAMED.serviceAccounts,
  healthCommand: [['healthy', '--quick'], ['true']],
  heartbeatFile: ['/tmp/alive', '/run/beat'],
  postgresUriScheme: ['postgres', 'postgresql+asyncpg', 'postgresql+psycopg'],
  healthPath: ['/healthz', '/ok?check_db=1'],
  tasks: [
    [{ name: 'clean', schedule: '0 3 * * *', command: ['clean'] }],
    [{ name: 'clean', schedule: '@hourly', timeZone: 'Etc/UTC', command: ['clean'], concurrency: 'replace' }],
    [{ name: 'ask', command: ['ask'], timeoutSeconds: 60 }],
  ],
  workers: [
    { mailer: { command: ['mail'] } },
    { mailer: { command: ['mail'], singleton: true } },
    { mailer: { command: ['mail', '--fast'], heartbeatFile: '/tmp/alive', maxScale: 0 } },
    { scheduler: { command: ['tick'], singleton: true }, constructor: { args: ['build'], minScale: 2, maxScale: 5 } },
  ],
  'sourceConfig.database': [
    { backup: {} },
    { backup: { schedule: '0 3 * * *', timeZone: 'Etc/UTC', keep: 3, verify: true } },
    { backup: { enabled: false, staleAfterHours: 24 } },
    { backup: {}, restore: { from: 'old' } },
    { restore: { from: 'older', at: '2026-02-01T00:00:00Z' } },
  ],
  queueDepth: [{ query: 'SELECT 1' }, { query: 'SELECT 2', perPod: 5 }],
  migrate: [{ command: ['up'] }, { args: ['up'], timeoutSeconds: 60 }],
  preStop: [{ sleep: { seconds: 1 } }, { sleep: { seconds: 60 } }, { exec: { command: ['drain'] } }],
  'imagePullSecrets[].name': Object.keys(NAMED.secrets),
  'volumes[].name': ['one', 'two', 'three'],
  configMap: [{ name: 'settings' }, { name: 'more', optional: true, items: [{ key: 'a', path: 'a.conf' }] }],
  secret: [{ secretName: 'mine' }, { secretName: 'other', defaultMode: 0o400 }],
  emptyDir: [{}, { sizeLimit: '1Gi' }, { medium: 'Memory', sizeLimit: '64Mi' }],
  persistentVolumeClaim: [{ claimName: 'files' }, { claimName: 'files', readOnly: true }],
  nfs: [{ server: 'files.example', path: '/exports' }],
  projected: [
    { sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'mine' } }] },
    { sources: [{ downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }] },
  ],
  downwardAPI: [{ items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] }],
  csi: [{ driver: 'secrets.example' }, { driver: 'files.example', readOnly: true, volumeAttributes: { a: 'b' } }],
  'volumeMounts[].name': ['one', 'two', 'three'],
  mountPath: ['/one', '/two', '/three'],
  subPath: ['inner', 'a/b'],
  subPathExpr: ['$(DAVIT_ROLE)'],
  'initContainers[].name': ['a', 'b', 'c'],
  'sidecars[].name': ['c', 'd', 'e'],
  image: ['registry.example/helper:1', 'registry.example/helper:2'],
  'command[]': ['helper', '--serve', ''],
  'args[]': ['--port', '9000', '$(PLAIN)'],
  workingDir: ['/work', ''],
  'env[].name': ['PLAIN', 'FROM', 'THIRD'],
  value: ['text', ''],
  valueFrom: [
    { fieldRef: { fieldPath: 'metadata.name' } },
    { configMapKeyRef: { name: 'settings', key: 'a', optional: true } },
    { secretKeyRef: { name: 'mine', key: 'key' } },
    { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } },
  ],
  'envFrom[]': [{ configMapRef: { name: 'settings' } }, { prefix: 'A_', secretRef: { name: 'mine', optional: true } }],
  resources: [
    { limits: { cpu: 1, memory: '64Mi' } },
    { requests: { cpu: '50m', memory: '1024Ki' } },
    { limits: { cpu: '1.5', memory: '1Gi' }, requests: { cpu: '0.1', memory: '0.5Gi', 'ephemeral-storage': '1G' } },
  ],
  securityContext: [
    { readOnlyRootFilesystem: true, runAsUser: 1000, capabilities: { drop: ['ALL'] } },
    { runAsNonRoot: true, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } },
    { privileged: false, allowPrivilegeEscalation: false },
  ],
};
const KEYS: Readonly<Record<string, readonly string[]>> = {
  labels: ['team', 'example.org/tier', 'stage'],
  annotations: ['example.org/note', 'note', 'more'],
  envNames: ['A_URL', 'B_HOST', 'C_JOBS'],
};

function reference(names: readonly string[]): object[] {
  return names.flatMap((name) =>
    Object.keys(NAMED.secrets).map((secretName) => ({
      name,
      secretName,
      secretKey: name.endsWith('_CUSTOM') ? 'uri' : 'key',
    })),
  );
}

/** The value of the longest end of `path` that there is one for. */
function byEnd<T>(table: Readonly<Record<string, T>>, path: string): T | undefined {
  const ends = Object.keys(table).filter((end) => path === end || path.endsWith(`.${end}`));
  return table[ends.toSorted((a, b) => b.length - a.length)[0] ?? ''];
}

function arbitraryOf(schema: StructuralSchema, path: string): fc.Arbitrary<unknown> {
  const values = byEnd(VALUES, path);
  if (values !== undefined) return fc.constantFrom(...values);
  const { type, minimum, maximum, properties, items, additionalProperties } = schema;
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
  if (type === 'boolean') return fc.boolean();
  // Few, so that a walk goes to no pods and back, and from a fixed number to an autoscaler.
  if (/scale$/i.test(path)) return fc.constantFrom(0, 1, 2, 5, Number(maximum));
  if (type === 'integer' || type === 'number') return numberBetween(Number(minimum), Number(maximum), type);
  if (items) return fc.array(arbitraryOf(items, `${path}[]`), { maxLength: 3 });
  if (additionalProperties) {
    const keys = byEnd(KEYS, path);
    if (keys) return fc.dictionary(fc.constantFrom(...keys), arbitraryOf(additionalProperties, `${path}{}`));
  }
  if (properties) {
    const parts = Object.entries(properties).map(([name, part]) => [name, arbitraryOf(part, `${path}.${name}`)]);
    return fc.record(Object.fromEntries(parts) as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [...(schema.required ?? [])],
    });
  }
  throw new Error(`Give the walk values for ${path}, in test/harness/walk/changes.ts.`);
}

/** Ends and what lies near the beginning: sizes that people use. */
function numberBetween(minimum: number, maximum: number, type: 'integer' | 'number'): fc.Arbitrary<number> {
  const near = Math.min(maximum, minimum + (type === 'integer' ? 2048 : 8));
  const inner =
    type === 'integer'
      ? fc.integer({ min: minimum, max: near })
      : fc
          .integer({ min: Math.ceil(minimum * 100), max: Math.floor(near * 100) })
          .map((hundredths) => hundredths / 100);
  return fc.oneof(
    { weight: 4, arbitrary: inner },
    { weight: 1, arbitrary: fc.constantFrom(minimum, Math.min(maximum, 64)) },
  );
}

/** Every field that the walk changes, with the values that it may take. */
function changedFields(
  schema: StructuralSchema,
  path: readonly string[],
): { readonly path: readonly string[]; readonly values: fc.Arbitrary<unknown> }[] {
  const said = path.join('.');
  if (said in LEFT_ALONE) return [];
  if (said === '' || OPENED.has(said))
    return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => changedFields(part, [...path, name]));
  return [{ path, values: arbitraryOf(schema, said) }];
}

export const FIELDS = changedFields(structuralSchema(AppDeploymentSpec), []);

/** Fields that decide which kinds of children there are. Each new field of a schema would otherwise make them rarer. */
const DECISIVE: ReadonlySet<string> = new Set([
  'sourceConfig.runtime.queueDepth',
  'sourceConfig.runtime.workers',
  'sourceConfig.resourceSpec.maxScale',
  'sourceConfig.resourceSpec.queueMaxScale',
  'sourceConfig.tasks',
]);

/** Any one change; a field is taken away every fourth time where it may be. */
export function aChange(): fc.Arbitrary<Change> {
  return fc.oneof(
    ...FIELDS.map(({ path, values }) => {
      const said = path.join('.');
      const set = values.map((value): Change => ({ path, value }));
      const taken = { weight: NEVER_TAKEN_AWAY.has(said) ? 0 : 1, arbitrary: fc.constant({ path, value: undefined }) };
      return { weight: DECISIVE.has(said) ? 4 : 1, arbitrary: fc.oneof({ weight: 3, arbitrary: set }, taken) };
    }),
  );
}

/** `spec` with the change, and whatever else has to follow for it to be valid. */
export function changed(spec: AppDeploymentSpec, { path, value }: Change): AppDeploymentSpec {
  const next = structuredClone(spec) as unknown as Record<string, unknown>;
  if (path.join('.') === 'revisionSerial') return made({ ...spec, revisionSerial: (spec.revisionSerial ?? 0) + 1 });
  let here = next;
  for (const step of path.slice(0, -1)) here = (here[step] ??= {}) as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete here[last];
  else here[last] = structuredClone(value);
  return made(withoutLateRestore(spec, next as unknown as AppDeploymentSpec));
}

/** A restore is asked for when a record is made, or never. */
function withoutLateRestore(before: AppDeploymentSpec, after: AppDeploymentSpec): AppDeploymentSpec {
  const { database, ...config } = after.sourceConfig;
  if (database?.restore === undefined || before.sourceConfig.database?.restore !== undefined) return after;
  const { restore: _late, ...others } = database;
  return { ...after, sourceConfig: { ...config, database: others } };
}

/** What the rules between fields ask for: the schema says one field at a time. */
function made(spec: AppDeploymentSpec): AppDeploymentSpec {
  const secrets = oncePer(spec.secrets, ({ name }) => name);
  const taken = new Set(secrets.map(({ name }) => name));
  const references = oncePer(spec.secretReferences ?? [], ({ name }) => name).filter(({ name }) => !taken.has(name));
  const { resourceSpec, runtime, env } = spec.sourceConfig;
  const named = new Set([...secrets, ...references].map(({ name }) => name));
  return {
    ...spec,
    secrets,
    ...(spec.secretReferences && { secretReferences: references }),
    sourceConfig: {
      ...spec.sourceConfig,
      ...(resourceSpec && { resourceSpec: madeParts(resourceSpec) }),
      ...(runtime && { runtime: madeRuntime(runtime, named) }),
      ...(env && { env: oncePer(env, ({ name }) => name) }),
    },
  };
}

function madeRuntime(given: Runtime, named: ReadonlySet<string>): Runtime {
  const unknown = Object.entries(OWN_STORE_VALUES).flatMap(([variable, values]) => (named.has(variable) ? values : []));
  const runtime: Record<string, unknown> = { ...given };
  for (const role of ROLES) {
    const part = given[role] && madeHealth(given[role]);
    if (part) runtime[role] = part;
    if (part && (part.preStop?.sleep?.seconds ?? 0) >= (part.terminationGracePeriodSeconds ?? Infinity))
      runtime[role] = { ...part, terminationGracePeriodSeconds: 7200 };
  }
  for (const part of STORE_PARTS) if (named.has(EXTERNAL_VARIABLES[part])) delete runtime[STORE_FIELDS[part]];
  const none = STORE_PARTS.filter((part) => doesWithout(part, runtime as Runtime));
  unknown.push(...none.flatMap((part) => STORE_VALUES[part]));
  const envNames = Object.entries(given.envNames ?? {}).filter(([, value]) => !unknown.includes(value));
  if (named.has(EXTERNAL_POSTGRES_VARIABLE) || none.includes('postgres')) {
    delete runtime['queueDepth'];
    delete runtime['postgresUriScheme'];
  }
  return {
    ...runtime,
    ...(given.envNames && { envNames: Object.fromEntries(envNames) }),
    ...(given.without && { without: oncePer(given.without, (name) => name) }),
  };
}

/** One way to ask for the health of a part, and what goes with it. */
function madeHealth(given: RuntimePart): RuntimePart {
  const { healthPath, healthCommand, heartbeatFile, heartbeatMaxAgeSeconds, healthRestart, ...rest } = given;
  if (heartbeatFile !== undefined)
    return {
      ...rest,
      heartbeatFile,
      ...(heartbeatMaxAgeSeconds !== undefined && { heartbeatMaxAgeSeconds }),
      ...(healthRestart !== undefined && { healthRestart }),
    };
  if (healthCommand) return { ...rest, healthCommand, ...(healthRestart !== undefined && { healthRestart }) };
  return { ...rest, ...(healthPath !== undefined && { healthPath }) };
}

function madeParts(given: ResourceSpec): ResourceSpec {
  const spec: Record<string, unknown> = { ...given };
  for (const [low, high] of ORDERED_PAIRS) {
    const [least, most] = [given[low], given[high]];
    if (least !== undefined && most !== undefined && most < least) spec[high] = least;
  }
  const volumes = oncePer(given.volumes ?? [], ({ name }) => name).map(oneKind);
  const known = new Set(volumes.map(({ name }) => name));
  const sidecars = oncePer(given.sidecars ?? [], ({ name }) => name);
  const running = new Set(sidecars.map(({ name }) => name));
  const initContainers = oncePer(given.initContainers ?? [], ({ name }) => name).filter(
    ({ name }) => !running.has(name),
  );
  return {
    ...spec,
    ...(given.imagePullSecrets && { imagePullSecrets: oncePer(given.imagePullSecrets, ({ name }) => name) }),
    ...(given.volumes && { volumes }),
    ...(given.volumeMounts && { volumeMounts: madeMounts(given.volumeMounts, known) }),
    ...(given.sidecars && { sidecars: sidecars.map((container) => madeContainer(container, known)) }),
    ...(given.initContainers && {
      initContainers: initContainers.map((container) => madeContainer(container, known)),
    }),
  };
}

type Volume = NonNullable<ResourceSpec['volumes']>[number];
function oneKind(volume: Volume): Volume {
  const kind = VOLUME_KINDS.find((one) => volume[one] !== undefined) ?? 'emptyDir';
  return { name: volume.name, [kind]: volume[kind] ?? {} };
}

type Mounts = NonNullable<ResourceSpec['volumeMounts']>;
function madeMounts(mounts: Mounts, known: ReadonlySet<string>): Mounts {
  return oncePer(mounts, ({ mountPath }) => mountPath)
    .filter(({ name }) => known.has(name))
    .map(({ subPathExpr, mountPropagation, ...mount }) => ({
      ...mount,
      ...(mount.subPath === undefined && subPathExpr !== undefined && { subPathExpr }),
      ...(mountPropagation !== undefined && mountPropagation !== 'Bidirectional' && { mountPropagation }),
    }));
}

type OneContainer = NonNullable<ResourceSpec['sidecars']>[number];
function madeContainer({ restartPolicy, ...container }: OneContainer, known: ReadonlySet<string>): OneContainer {
  const { env, volumeMounts } = container;
  return {
    ...container,
    // The other policies need a feature of Kubernetes that not every cluster has.
    ...(restartPolicy === 'Always' && { restartPolicy }),
    ...(env && { env: oncePer(env, ({ name }) => name).map(oneValue) }),
    ...(volumeMounts && { volumeMounts: madeMounts(volumeMounts, known) }),
  };
}

type Variable = NonNullable<OneContainer['env']>[number];
function oneValue({ name, value, valueFrom }: Variable): Variable {
  if (valueFrom !== undefined) return { name, valueFrom };
  return { name, ...(value !== undefined && { value }) };
}

function oncePer<T>(list: readonly T[], key: (item: T) => string): T[] {
  const seen = new Set<string>();
  return list.filter((item) => !seen.has(key(item)) && seen.add(key(item)));
}
