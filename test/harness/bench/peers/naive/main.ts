// An operator for AppDeployments as one would write it in TypeScript without a runtime: @kubernetes/client-node's own
// informers and generated calls. Its children are those of the file that CHILDREN names, which the benchmark renders with
// Davit's own makers, so that both make the same objects.

import { createHash } from 'node:crypto';
import {
  ApiException,
  CustomObjectsApi,
  type Informer,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  type ObjectCache,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { Queue } from './queue.ts';
import {
  type Condition,
  differs,
  filled,
  readRendering,
  type Status,
  stamped,
  type Thing,
  type Values,
} from './rendering.ts';

const FINALIZER = 'davit.dev/teardown';
const LABEL = 'davit.dev/deployment';
const UID_LABEL = 'davit.dev/deployment-uid';
const GROUP = 'davit.dev/v1alpha1';

/** Everything that is watched: API version, kind and path. */
const WATCHED = [
  [GROUP, 'AppDeployment', 'appdeployments'],
  [GROUP, 'AppRevision', 'apprevisions'],
  [GROUP, 'TracingProject', 'tracingprojects'],
  ['apps/v1', 'Deployment', 'deployments'],
  ['apps/v1', 'StatefulSet', 'statefulsets'],
  ['v1', 'Service', 'services'],
  ['v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'],
  ['v1', 'Secret', 'secrets'],
  ['v1', 'Pod', 'pods'],
  ['v1', 'Namespace', 'namespaces'],
  ['networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'],
  ['autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'],
  ['policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'],
] as const;

interface Record extends Thing {
  readonly spec: {
    readonly revisionSerial?: number;
    readonly sourceRevisionConfig: { readonly imageUri?: string };
  };
}

type Watched = Informer<Thing> & ObjectCache<Thing>;

const config = new KubeConfig();
config.loadFromFile(process.env['KUBECONFIG'] ?? '');
const api = KubernetesObjectApi.makeApiClient(config);
const customApi = config.makeApiClient(CustomObjectsApi);
const rendering = readRendering(process.env['CHILDREN'] ?? '');
const queue = new Queue(Number(process.env['WORKERS']), reconcile);
const caches = new Map<string, Watched>(
  WATCHED.map(([apiVersion, kind, plural]) => [kind, watch(apiVersion, kind, plural)]),
);

await Promise.all([...caches.values()].map((cache) => cache.start()));
process.stdout.write('READY\n');
queue.start();

function watch(apiVersion: string, kind: string, plural: string): Watched {
  const path = apiVersion === 'v1' ? `/api/v1/${plural}` : `/apis/${apiVersion}/${plural}`;
  const informer = makeInformer<Thing>(config, path, () => api.list<Thing>(apiVersion, kind));
  const wake = kind === 'AppDeployment' ? wakeRecord : wakeOwner;
  for (const verb of ['add', 'update', 'delete'] as const) informer.on(verb, wake);
  // It stops on any error; its own example starts it again after a while.
  informer.on('error', () => setTimeout(() => void informer.start(), 1000));
  return informer;
}

function wakeRecord({ metadata }: Thing): void {
  queue.add(`${metadata?.namespace}/${metadata?.name}`);
}

function wakeOwner({ metadata }: Thing): void {
  const owner = metadata?.labels?.[LABEL];
  if (owner !== undefined) queue.add(`${metadata?.namespace}/${owner}`);
}

async function reconcile(key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/');
  const record = caches.get('AppDeployment')?.get(name, namespace) as Record | undefined;
  if (record === undefined) return;
  const values = valuesOf(record);
  if (values === undefined) return;
  if (record.metadata?.deletionTimestamp) return tearDown(record, values);
  if (!record.metadata?.finalizers?.includes(FINALIZER)) await setFinalizers(record, [FINALIZER]);
  await make(filled(rendering.tracingProject, values), record);
  await make(revisionOf(record, values), record);
  const children = rendering.children.map((child) => stamped(child, values));
  const claims = children.filter(({ kind }) => kind === 'PersistentVolumeClaim');
  const secrets = rendering.secrets.map((secret) => make(filled(secret, values), record));
  await Promise.all([...secrets, ...claims.map((claim) => apply(claim, record))]);
  await Promise.all(children.filter((child) => !claims.includes(child)).map((child) => apply(child, record)));
  for (const status of rendering.statuses) await report(filled(status, values));
}

function valuesOf({ metadata, spec }: Record): Values | undefined {
  const { name = '', namespace = '', uid = '', generation } = metadata ?? {};
  const tenantId = caches.get('Namespace')?.get(namespace)?.metadata?.uid;
  if (tenantId === undefined) return undefined;
  const revisionId = uuid5(uid, spec.revisionSerial === undefined ? `g${generation}` : `s${spec.revisionSerial}`);
  return {
    name,
    namespace,
    uid,
    tenantId,
    image: spec.sourceRevisionConfig.imageUri ?? '',
    revisionId,
    revisionShort: revisionId.slice(0, 8),
    now: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}

function uuid5(namespace: string, name: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name);
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function revisionOf(record: Record, values: Values): Thing {
  const revision = filled(rendering.revision, values);
  const spec = { ...(revision.spec as object), deploymentGeneration: record.metadata?.generation };
  return { ...revision, spec: { ...spec, revisionSerial: record.spec.revisionSerial } };
}

/** The object in the place of this one, as last seen; another's is an error. */
function there({ kind, metadata }: Thing, record: Record): Thing | undefined {
  const found = caches.get(kind)?.get(metadata?.name ?? '', metadata?.namespace);
  // A tracing project is reused, whoever made it.
  if (found && kind !== 'TracingProject' && found.metadata?.labels?.[UID_LABEL] !== record.metadata?.uid)
    throw new Error(`${kind} ${metadata?.name} is there already and is not ours`);
  return found;
}

async function make(wanted: Thing, record: Record): Promise<void> {
  if (there(wanted, record)) return;
  try {
    await api.create(wanted, undefined, undefined, rendering.fieldManager);
  } catch (error) {
    // The watch has not brought it yet.
    if (!(error instanceof ApiException && error.code === 409)) throw error;
  }
}

async function apply(wanted: Thing, record: Record): Promise<void> {
  const actual = there(wanted, record);
  if (actual && !differs(wanted, plain(actual))) return;
  await api.patch(modelled(wanted), undefined, undefined, rendering.fieldManager, true, PatchStrategy.ServerSideApply);
}

/** The generated models call `from` of a NetworkPolicy `_from`, and drop what is called `from`. */
function modelled(thing: Thing): Thing {
  if (thing.kind !== 'NetworkPolicy') return thing;
  return JSON.parse(JSON.stringify(thing).replaceAll('"from":', '"_from":')) as Thing;
}

/** A listed object is a model, a watched one is not. */
function plain(thing: Thing): Thing {
  if (thing.kind !== 'NetworkPolicy') return thing;
  return JSON.parse(JSON.stringify(thing).replaceAll('"_from":', '"from":')) as Thing;
}

async function report(wanted: Thing): Promise<void> {
  const { kind, apiVersion, metadata } = wanted;
  const actual = caches.get(kind)?.get(metadata?.name ?? '', metadata?.namespace);
  const generation = actual?.metadata?.generation ?? 1;
  const status = withTimesOf(actual?.status, { ...wanted.status, observedGeneration: generation }, generation);
  if (!differs(status, actual?.status)) return;
  const plural = WATCHED.find((watched) => watched[1] === kind)?.[2] ?? '';
  const [group = '', version = ''] = apiVersion.split('/');
  const { name = '', namespace = '' } = metadata ?? {};
  const body = { apiVersion, kind, metadata: { name, namespace }, status };
  await customApi.patchNamespacedCustomObjectStatus(
    { group, version, namespace, plural, name, body, fieldManager: rendering.fieldManager, force: true },
    setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
  );
}

async function setFinalizers({ apiVersion, kind, metadata }: Record, finalizers: string[]): Promise<void> {
  const { name, namespace, uid, resourceVersion } = metadata ?? {};
  const patch = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion, finalizers } } as Thing;
  await api.patch(patch, undefined, undefined, rendering.fieldManager, undefined, PatchStrategy.MergePatch);
}

/** Removes what has no owner reference; the garbage collector takes the rest. */
async function tearDown(record: Record, values: Values): Promise<void> {
  if (!record.metadata?.finalizers?.includes(FINALIZER)) return;
  for (const template of [...rendering.secrets, ...rendering.children]) {
    const child = stamped(template, values);
    const actual = child.metadata?.ownerReferences ? undefined : there(child, record);
    const uid = actual?.metadata?.uid;
    if (uid === undefined) continue;
    try {
      await api.delete(child, undefined, undefined, undefined, undefined, undefined, { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ApiException && error.code === 404)) throw error;
    }
  }
  await setFinalizers(
    record,
    record.metadata.finalizers.filter((finalizer) => finalizer !== FINALIZER),
  );
}

/** What says what it said before keeps its time. */
function withTimesOf(before: Status | undefined, wanted: Status, observedGeneration: number): Status {
  const sameState = wanted.state !== undefined && wanted.state === before?.state;
  const { conditions } = wanted;
  return {
    ...wanted,
    ...(sameState && before?.stateChangedAt !== undefined && { stateChangedAt: before.stateChangedAt }),
    ...(conditions && {
      conditions: conditions.map((condition) => withTimeOf(before, { ...condition, observedGeneration })),
    }),
  };
}

function withTimeOf(before: Status | undefined, condition: Condition & { observedGeneration: number }): Condition {
  const same = before?.conditions?.find(({ type, status }) => type === condition.type && status === condition.status);
  return { ...condition, ...(same && { lastTransitionTime: same.lastTransitionTime }) };
}
