// The bounds that are explored.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { CODE_HOST_INTEGRATIONS } from '../../../src/kinds/code-host-integration.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { HORIZONTAL_POD_AUTOSCALERS, NAMESPACES, NODES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { aSpec } from '../../support/builders.ts';
import type { FakeRequest } from '../../support/fake-kube/fake-kube.ts';
import type { JsonObject } from '../../support/fake-kube/field-sets.ts';
import { changeBy, deletes, interruptBy } from './authors.ts';
import { BACKUP_EVENTS, putStoreCredentials, RUN_EVENTS } from './backup-events.ts';
import type { Bound } from './bound.ts';
import { BUILD_EVENTS, credentialsBack, credentialsGone, interrupt, ORGANIZATION, push } from './build-events.ts';
import { CLUSTER_EVENTS, claimGrows, type WithTemplate } from './cluster-events.ts';
import { MOVE_EVENTS } from './database-moves.ts';
import { EXTERNAL_STORE_EVENTS } from './external-stores.ts';
import { listenerBounds } from './listener-bounds.ts';
import * as people from './people-events.ts';
import { POSTGRES_CLUSTER_EVENTS } from './postgres-cluster.ts';
import type { Admission, Scene } from './scene.ts';
import { TASK_EVENTS } from './task-events.ts';
import { UPKEEP_BOUND } from './upkeep-bound.ts';

type Spec = Partial<AppDeployment['spec']>;

export const PLAIN = Settings.parse({ keda: { enabled: false } });
const WITH_BACKUPS = Settings.parse({
  keda: { enabled: false },
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
});
const VERIFIED = { backup: { verify: true } };
const WITH_ADDRESSES = Settings.parse({
  keda: { enabled: false },
  address: { kind: 'ingress', baseDomain: 'apps.example' },
});
const WITH_KEDA = Settings.parse({ keda: { enabled: true } });
const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
export const WITH_BUILDS = Settings.parse({
  hosting: 'cloud',
  codeHosts: [{ host: 'git.example' }],
  keda: { enabled: false },
  builds: {
    registry: { host: 'registry.example.com', tokens: true },
    images: { builder: 'registry.example.com/davit-builder:1', davit: 'registry.example.com/davit:1' },
    concurrency: { perTenant: 1, total: 1 },
  },
});
/** Fewer than the settings allow, so that a history is short. */
const FEW_REVISIONS: Settings = { ...WITH_BUILDS, revisions: { ...WITH_BUILDS.revisions, kept: 2 } };

function aRecord(namespace: string, spec: Spec = {}, name = 'shop'): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace, generation: 1 },
    spec: aSpec(spec),
  };
}
export function begin(spec: Spec = {}, namespaces: readonly string[] = ['team'], names: readonly string[] = ['shop']) {
  return (scene: Scene): void => {
    for (const name of namespaces) {
      scene.put(NAMESPACES, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels: { 'davit.dev/tenant': 'true' }, finalizers: ['kubernetes'] },
      });
      for (const record of names) scene.put(APP_DEPLOYMENTS, aRecord(name, spec, record), 'person');
    }
  };
}
export function beginBuilds(
  more: Spec['sourceConfig'] = {},
  namespaces: readonly string[] = ['team'],
  names: readonly string[] = ['shop'],
  revision: Spec['sourceRevisionConfig'] = {},
) {
  return (scene: Scene): void => {
    begin(
      {
        source: 'codehost',
        sourceConfig: { integrationId: INTEGRATION, repoUrl: 'https://git.example/team/shop', ...more },
        sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json', ...revision },
      },
      namespaces,
      names,
    )(scene);
    scene.put(CODE_HOST_INTEGRATIONS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'CodeHostIntegration',
      metadata: { name: 'git', namespace: ORGANIZATION, uid: INTEGRATION },
      spec: {
        kind: 'gitea',
        apiUrl: 'https://git.example/api/v1',
        credentialsRef: { name: 'git' },
        tenants: [...namespaces],
      },
    } as KubeObject);
    people.putSecret(scene, ORGANIZATION, 'git', 'token');
    scene.put(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'node' },
      status: { runtimeHandlers: [{ features: { userNamespaces: true } }] },
    } as KubeObject);
  };
}

/** As the API server: random values are those of the object's name, and claims are protected while pods use them. */
export const ADMISSION: Admission = {
  admit(resource: Resource, object: JsonObject, before: KubeObject | undefined, scene: Scene) {
    if (resource.kind === 'StatefulSet') rewriteImages(scene, object as unknown as KubeObject & WithTemplate);
    const metadata = object['metadata'] as Record<string, string & string[]>;
    if (resource.kind === 'PersistentVolumeClaim' && before === undefined)
      metadata['finalizers'] = ['kubernetes.io/pvc-protection'] as string & string[];
    const name = String(metadata['name']);
    if (resource.kind === 'Secret' && /--(postgres|redis|-pg\d+)$/.test(name)) {
      const data = object['data'] as Record<string, string>;
      for (const key of Object.keys(data ?? {})) data[key] = Buffer.from(`password of ${name}`).toString('base64');
    }
  },
};

/** A webhook that has every image come from a mirror. */
function rewriteImages(scene: Scene, { metadata: { namespace = '' }, spec }: KubeObject & WithTemplate): void {
  if (scene.mark(namespace, 'webhook') !== 'rewrites') return;
  for (const container of spec.template.spec.containers as unknown as { image: string }[])
    if (!container.image.startsWith('mirror.example/')) container.image = `mirror.example/${container.image}`;
}

let refusals = 0;
/** What quotas, webhooks and rights refuse. */
export function refuse(scene: Scene, { verb, kind, ref, dryRun }: FakeRequest): Error | undefined {
  const { namespace = '' } = ref;
  const refused = (words: string): Error =>
    new Forbidden(`${verb} ${kind} ${ref.name}: ${words}`, { serverMessage: words });
  const isRead = verb === 'get' || verb === 'list';
  if (scene.mark(namespace, 'rights') === `${isRead ? 'read' : 'write'} ${kind}${kind.endsWith('s') ? 'es' : 's'}`)
    return refused(`User "davit" cannot ${verb} resource "${kind.toLowerCase()}s" in the namespace "${namespace}"`);
  if (isRead || verb === 'delete') return undefined;
  if (kind === 'Pod' && dryRun === true && scene.mark(namespace, 'quota') === 'full')
    return refused(
      `pods "${ref.name}" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5`,
    );
  const says = scene.mark(namespace, 'webhook');
  if (kind === 'StatefulSet' && dryRun !== true && says?.startsWith('refuses') === true)
    return refused(
      `admission webhook "policy.example" denied the request: ${says}${says === 'refuses each time' ? ` ${(refusals += 1)}` : ''}`,
    );
  return undefined;
}

interface Autoscaler extends KubeObject {
  readonly spec: { readonly scaleTargetRef: { readonly name: string } };
}
/** KEDA's webhook: a Deployment with an autoscaler gets no ScaledObject, but where one of two annotations says so. */
function refuseByKeda(scene: Scene, request: FakeRequest): Error | undefined {
  const { verb, kind, ref, body } = request;
  if (kind !== 'ScaledObject' || !['apply', 'create', 'update', 'patch'].includes(verb)) return refuse(scene, request);
  const scaled = body as KubeObject & {
    spec?: { scaleTargetRef?: { name?: string }; advanced?: { horizontalPodAutoscalerConfig?: { name?: string } } };
  };
  const target = scaled.spec?.scaleTargetRef?.name;
  const takes = scaled.metadata?.annotations?.['scaledobject.keda.sh/transfer-hpa-ownership'] === 'true';
  const named = scaled.spec?.advanced?.horizontalPodAutoscalerConfig?.name;
  for (const { metadata, spec } of scene.all<Autoscaler>(HORIZONTAL_POD_AUTOSCALERS, ref.namespace ?? '')) {
    if (spec.scaleTargetRef.name !== target) continue;
    if (metadata.annotations?.['validations.keda.sh/hpa-ownership'] === 'false') continue;
    if (takes && named === metadata.name) continue;
    if (metadata.ownerReferences?.some((owner) => owner.kind === 'ScaledObject')) continue;
    const words = `admission webhook "vscaledobject.kb.io" denied the request: the workload '${target}' is already managed by the hpa '${metadata.name}'`;
    return new Forbidden(words, { serverMessage: words });
  }
  return undefined;
}

/** In one write. */
const imageAndScale = (tag: string, scale: number): object => ({
  sourceRevisionConfig: { imageUri: `registry.example/shop:${tag}` },
  sourceConfig: { resourceSpec: { minScale: scale, maxScale: scale } },
});
const QUEUE = { queueMinScale: 1, queueMaxScale: 1 };
export const FIXED = { minScale: 1, maxScale: 1 };
const IN_CLUSTER: Spec = {
  sourceConfig: { resourceSpec: FIXED, database: { driver: 'cloudnative-pg', instances: 1 } },
  databaseDeletionPolicy: 'Retain',
};
const MOVED: Spec = {
  sourceConfig: { resourceSpec: FIXED, runtime: { redis: 'none' }, database: { driver: 'pod', backup: {} } },
};
const moreMemory =
  (memoryMb: number) =>
  ({ sourceConfig: { resourceSpec } }: AppDeployment['spec']): object | undefined =>
    resourceSpec?.memoryMb === memoryMb ? undefined : { sourceConfig: { resourceSpec: { memoryMb } } };
export const CLEAN = { name: 'clean', schedule: '0 3 * * *', command: ['clean'] };
const OUTSIDE = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'external', secretKey: 'uri' }];
const OUTSIDE_REDIS = [{ name: 'REDIS_URI_CUSTOM', secretName: 'external', secretKey: 'uri' }];
export const MIGRATE = { migrate: { command: ['up'] } };
const { DELETIONS } = people;

export const BOUNDS: readonly Bound[] = [
  {
    name: 'rollouts',
    about: 'One record with a queue: images, rollback, pause, deletion of children and revisions, crashing pods.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: { ...FIXED, ...QUEUE } } }),
    events: [
      ...CLUSTER_EVENTS,
      people.image('2'),
      people.image('bad'),
      people.sizes('more memory of the queue', { queueMemoryMb: 2048, queueMemoryLimitMb: 4096 }),
      people.rollback,
      people.pause,
      people.resume,
      people.newRevision,
      DELETIONS.deployment,
      DELETIONS.service,
      DELETIONS.revision,
      people.scaleByHand,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'data',
    about: 'The volume, its password and the way to an external database and back.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED } }),
    events: [
      ...CLUSTER_EVENTS,
      people.externalDatabase,
      people.ownDatabase,
      people.newSecret('external', 'uri'),
      DELETIONS.ownSecret,
      DELETIONS.claim,
      DELETIONS.password,
      DELETIONS.statefulSet,
      people.sizes('a larger volume', { dbStorageGi: 20 }),
      people.sizes('a smaller volume', { dbStorageGi: 1 }),
      claimGrows,
      people.storesStuck,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'refusals',
    about: 'Webhooks that rewrite, or refuse with other words each time; rights that are taken and given back.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED, runtime: MIGRATE } }),
    events: [
      ...CLUSTER_EVENTS,
      people.storesStuck,
      people.webhookRefuses,
      people.webhookRefusesOtherwise,
      people.webhookRewrites,
      people.webhookGone,
      people.rightTaken('write Services'),
      people.rightTaken('write StatefulSets'),
      people.rightTaken('write Jobs'),
      people.rightTaken('read Secrets'),
      people.rightsBack,
      people.image('2'),
      people.sizes('more memory of PostgreSQL', { dbMemoryMb: 2048 }),
      people.newSecret('external', 'uri'),
      people.externalDatabase,
      DELETIONS.statefulSet,
      DELETIONS.service,
      people.deleteRecord,
    ],
    people: 3,
    troubles: 3,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'addresses',
    about: 'Two tenants that want one host: claims, edits, pauses, deletions and new records of the name.',
    settings: WITH_ADDRESSES,
    namespaces: ['team', 'other'],
    begin: begin({ sourceConfig: { resourceSpec: { ...FIXED, maxScale: 1 } } }, ['team', 'other']),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      people.customUrl('www.apps.example'),
      people.customUrl('www2.apps.example'),
      people.customUrl(undefined),
      people.rightTaken('write Ingresses'),
      people.rightsBack,
      people.pause,
      people.resume,
      people.deleteRecord,
      people.remake('shop', (namespace) => aRecord(namespace, { sourceConfig: { resourceSpec: FIXED } })),
      people.tenantLabel(undefined),
      people.tenantLabel('true'),
      DELETIONS.ingress,
    ],
    people: 4,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'life',
    about: 'Deletion and re-creation under the same name, tenants, pauses, scale to zero and back.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED } }),
    events: [
      ...CLUSTER_EVENTS,
      people.deleteRecord,
      people.remake('shop', (namespace) => aRecord(namespace, { sourceConfig: { resourceSpec: FIXED } })),
      people.tenantLabel(undefined),
      people.tenantLabel('true'),
      people.pause,
      people.resume,
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('scale 1', { minScale: 1, maxScale: 1 }),
      DELETIONS.claim,
      DELETIONS.deployment,
    ],
    people: 4,
    troubles: 0,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'clusters',
    about: 'A database by CloudNativePG: deleted with its record or retained, lost, made again, and adopted.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin(IN_CLUSTER),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...POSTGRES_CLUSTER_EVENTS,
      people.deleteRecord,
      people.specChange('Delete', ({ databaseDeletionPolicy }) =>
        databaseDeletionPolicy === 'Delete' ? undefined : { databaseDeletionPolicy: 'Delete' },
      ),
      people.remake('shop', (namespace) => aRecord(namespace, IN_CLUSTER)),
      people.pause,
      people.resume,
      DELETIONS.postgresCluster,
      DELETIONS.password,
    ],
    people: 4,
    troubles: 0,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'moves',
    about:
      'Operations on a database: restored, moved from a pod to a Cluster, returned to and deleted, cancelled at any point: loads fail, data is lost, the operator goes, the record changes and goes.',
    history: ['a run of CronJob shop---backup begins in team', 'run shop---backup-run ends as it should in team'],
    settings: WITH_BACKUPS,
    namespaces: ['team'],
    begin(scene) {
      begin(MOVED)(scene);
      putStoreCredentials(scene, 'team');
    },
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...POSTGRES_CLUSTER_EVENTS,
      ...MOVE_EVENTS,
      ...RUN_EVENTS,
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('scale 1', { minScale: 1, maxScale: 1 }),
      people.image('2'),
      people.runtime('a migration', MIGRATE),
      people.rollback,
      people.specChange('Retain', ({ databaseDeletionPolicy }) =>
        databaseDeletionPolicy === 'Retain' ? undefined : { databaseDeletionPolicy: 'Retain' },
      ),
      people.deleteRecord,
      people.remake('shop', (namespace) => aRecord(namespace, MOVED)),
      DELETIONS.claim,
      DELETIONS.postgresCluster,
      DELETIONS.password,
    ],
    people: 5,
    troubles: 2,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'workers',
    share: 2,
    about:
      'Named workers: a command, a scale, a singleton that is one no longer, a name that goes; images and crashes.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({
      sourceConfig: {
        resourceSpec: FIXED,
        runtime: {
          database: 'none',
          redis: 'none',
          workers: { mailer: { command: ['mail'] }, scheduler: { command: ['tick'], singleton: true } },
        },
      },
    }),
    events: [
      ...CLUSTER_EVENTS,
      people.worker('a faster mailer', 'mailer', { command: ['mail', '--fast'] }),
      people.worker('a mailer that is a singleton', 'mailer', { singleton: true, minScale: 1, maxScale: 1 }),
      people.worker('a scheduler that is no singleton', 'scheduler', { singleton: false }),
      people.worker('two mailers', 'mailer', { minScale: 2, maxScale: 2, singleton: false }),
      people.worker('no pods of the scheduler', 'scheduler', { minScale: 0, maxScale: 0 }),
      people.worker('no mailer', 'mailer', null),
      people.worker('a poster', 'poster', { command: ['mail'] }),
      people.image('2'),
      people.image('bad'),
      people.rollback,
      people.singletonsStuck,
      people.pause,
      people.resume,
      DELETIONS.deployment,
      DELETIONS.statefulSet,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'quota',
    about: 'A quota that is full and is freed, while the scale and the image change; a webhook that refuses.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: { minScale: 5, maxScale: 5, ...QUEUE } } }),
    events: [
      ...CLUSTER_EVENTS,
      people.quotaFull,
      people.quotaFreed,
      people.webhookRefuses,
      DELETIONS.statefulSet,
      people.webhookGone,
      people.sizes('scale 2', { minScale: 2, maxScale: 2 }),
      people.sizes('scale 5', { minScale: 5, maxScale: 5 }),
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('no queue', { queueMinScale: 0, queueMaxScale: 0 }),
      people.sizes('more memory', { memoryMb: 1024 }),
      people.image('2'),
      people.rollback,
    ],
    people: 3,
    troubles: 2,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'autoscaling',
    about: 'HPA and KEDA take turns under KEDA’s webhook; an autoscaler writes replicas.',
    settings: WITH_KEDA,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: { ...FIXED, queueMinScale: 1, queueMaxScale: 4 } } }),
    events: [
      ...CLUSTER_EVENTS,
      people.runtime('queue depth', { queueDepth: { query: 'SELECT 1' } }),
      people.runtime('no queue depth', { queueDepth: null }),
      people.sizes('a fixed queue', { queueMinScale: 2, queueMaxScale: 2 }),
      people.sizes('a queue of 1 to 4', { queueMinScale: 1, queueMaxScale: 4 }),
      people.image('2'),
      people.rollback,
      DELETIONS.autoscaler,
      DELETIONS.deployment,
    ],
    people: 3,
    troubles: 1,
    refuse: refuseByKeda,
    admission: ADMISSION,
  },
  {
    name: 'migrations',
    about: 'A migration that fails, ends or is deleted, while images, children and the scale change.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: { ...FIXED, ...QUEUE }, runtime: MIGRATE } }),
    events: [
      ...CLUSTER_EVENTS,
      people.image('2'),
      people.image('3'),
      people.rollback,
      people.newRevision,
      people.runtime('no migration', { migrate: null }),
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('scale 2', { minScale: 2, maxScale: 2 }),
      people.specChange('image 2 and scale 0', ({ sourceRevisionConfig: { imageUri } }) =>
        imageUri?.endsWith(':1') === true ? imageAndScale('2', 0) : undefined,
      ),
      people.specChange('image 3 and scale 2', ({ sourceRevisionConfig: { imageUri } }) =>
        imageUri?.endsWith(':2') === true ? imageAndScale('3', 2) : undefined,
      ),
      people.quotaFull,
      people.quotaFreed,
      DELETIONS.job,
      DELETIONS.deployment,
      DELETIONS.revision,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'tasks',
    share: 2,
    about: 'Runs of a task begin, end and fail, while the task, the image, the database and the scale change.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED, tasks: [CLEAN] } }),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...TASK_EVENTS,
      people.image('2'),
      people.image('bad'),
      people.specChange('no task', ({ sourceConfig: { tasks } }) =>
        tasks === undefined ? undefined : { sourceConfig: { tasks: null } },
      ),
      people.specChange('a task', ({ sourceConfig: { tasks } }) =>
        tasks === undefined ? { sourceConfig: { tasks: [CLEAN] } } : undefined,
      ),
      people.newSecret('external', 'uri'),
      people.externalDatabase,
      people.ownDatabase,
      people.rollback,
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('scale 1', { minScale: 1, maxScale: 1 }),
    ],
    people: 3,
    troubles: 2,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'backups',
    about:
      'Backups and their verifications begin, end and fail, and go from the store, while the record asks for them or not, and is made again.',
    settings: WITH_BACKUPS,
    namespaces: ['team'],
    begin(scene) {
      begin({ sourceConfig: { resourceSpec: FIXED, database: VERIFIED } })(scene);
      putStoreCredentials(scene, 'team');
    },
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...BACKUP_EVENTS,
      people.specChange('no verifications', ({ sourceConfig: { database } }) =>
        database?.backup?.verify === true ? { sourceConfig: { database: { backup: { verify: null } } } } : undefined,
      ),
      people.specChange('no backups', ({ sourceConfig: { database } }) =>
        database === undefined ? undefined : { sourceConfig: { database: null } },
      ),
      people.specChange('backups with verifications', ({ sourceConfig: { database } }) =>
        database === undefined ? { sourceConfig: { database: VERIFIED } } : undefined,
      ),
      people.deleteRecord,
      people.remake('shop', (namespace) =>
        aRecord(namespace, { sourceConfig: { resourceSpec: FIXED, database: VERIFIED } }),
      ),
    ],
    people: 2,
    troubles: 3,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'external',
    about:
      'PostgreSQL and Redis that others run stop answering and answer again, while images, nodes and Secrets change.',
    settings: PLAIN,
    namespaces: ['team'],
    begin(scene) {
      people.putSecret(scene, 'team', 'external', 'uri');
      begin({ sourceConfig: { resourceSpec: { ...FIXED, ...QUEUE } }, secrets: [...OUTSIDE, ...OUTSIDE_REDIS] })(scene);
    },
    events: [
      ...CLUSTER_EVENTS,
      ...EXTERNAL_STORE_EVENTS,
      people.image('2'),
      people.image('bad'),
      people.rollback,
      people.runtime('a migration', MIGRATE),
      people.sizes('scale 0', { minScale: 0, maxScale: 0 }),
      people.sizes('scale 1', { minScale: 1, maxScale: 1 }),
      people.sizes('more memory of the queue', { queueMemoryMb: 2048, queueMemoryLimitMb: 4096 }),
      DELETIONS.deployment,
      DELETIONS.ownSecret,
      people.newSecret('external', 'uri'),
      people.pause,
      people.resume,
    ],
    people: 3,
    troubles: 3,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'crashes',
    about: 'The controller crashes after any of its writes, while the image changes and the record is deleted.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED } }),
    events: [
      ...CLUSTER_EVENTS,
      people.image('2'),
      people.rollback,
      people.deleteRecord,
      people.externalDatabase,
      DELETIONS.deployment,
      people.newSecret('external', 'uri'),
    ],
    people: 2,
    troubles: 0,
    crashes: true,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'lag',
    about: 'A cache has not seen the last event of one object.',
    settings: PLAIN,
    namespaces: ['team'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED } }),
    events: [
      ...CLUSTER_EVENTS,
      people.image('2'),
      people.rollback,
      people.deleteRecord,
      DELETIONS.deployment,
      DELETIONS.claim,
      DELETIONS.password,
    ],
    people: 2,
    troubles: 0,
    lags: true,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'builds',
    about: 'One record that is built: builds fail, children and revisions are deleted, the code host goes.',
    settings: WITH_BUILDS,
    namespaces: ['team'],
    begin: beginBuilds({ resourceSpec: { ...FIXED, ...QUEUE } }),
    events: [
      ...CLUSTER_EVENTS,
      ...BUILD_EVENTS,
      people.newRevision,
      people.rollback,
      people.codeHostDown,
      people.codeHostUp,
      interrupt,
      credentialsGone,
      credentialsBack,
      DELETIONS.job,
      people.pause,
      people.resume,
      DELETIONS.deployment,
      DELETIONS.revision,
      push('b'),
    ],
    people: 3,
    troubles: 2,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'authors',
    about:
      'People who say who they are, and others who do not, change, interrupt and delete a record; the controller crashes after any write.',
    settings: WITH_BUILDS,
    namespaces: ['team'],
    begin: beginBuilds({ resourceSpec: FIXED }),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...BUILD_EVENTS.filter(({ calm }) => calm === true),
      changeBy('anna', 'a new revision', () => ({})),
      changeBy('bert', 'more memory', moreMemory(1024)),
      changeBy(undefined, 'much memory', moreMemory(2048)),
      changeBy(undefined, 'two pods', ({ sourceConfig: { resourceSpec } }) =>
        resourceSpec?.minScale === 2 ? undefined : { sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } },
      ),
      interruptBy('anna'),
      interruptBy(undefined),
      deletes,
      people.pause,
      people.resume,
    ],
    people: 4,
    troubles: 0,
    crashes: true,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'turns',
    about: 'Two tenants whose builds share one place: pauses, tenants’ labels, deletions, the code host.',
    settings: WITH_BUILDS,
    namespaces: ['team', 'other'],
    begin: beginBuilds({ resourceSpec: FIXED }, ['team', 'other']),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...BUILD_EVENTS,
      people.specChange('build command 2', ({ sourceConfig: { buildCommand } }) =>
        buildCommand === undefined ? { sourceConfig: { buildCommand: 'make' } } : undefined,
      ),
      people.pause,
      people.resume,
      people.tenantLabel(undefined),
      people.tenantLabel('true'),
      people.deleteRecord,
      people.codeHostDown,
      people.codeHostUp,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'tenants',
    share: 6,
    interleavings: true,
    about: 'Three tenants whose records change, pause, lose children and go, in every order.',
    settings: PLAIN,
    namespaces: ['team', 'other', 'third'],
    begin: begin({ sourceConfig: { resourceSpec: FIXED } }, ['team', 'other', 'third']),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      people.image('2'),
      people.pause,
      people.resume,
      people.deleteRecord,
      DELETIONS.deployment,
    ],
    people: 6,
    troubles: 0,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'pushes',
    about: 'Pushes, rollbacks, requests to rebuild and changes of sizes, with few revisions kept.',
    history: [
      'somebody sets more memory of shop in team',
      'somebody pushes commit b in team',
      'somebody rolls shop by 1 back in team',
    ],
    settings: FEW_REVISIONS,
    namespaces: ['team'],
    begin: beginBuilds({ resourceSpec: FIXED, buildOnPush: true }),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...BUILD_EVENTS.filter(({ calm }) => calm === true),
      push('b'),
      push('c'),
      people.newRevision,
      people.rollback,
      people.sizes('more memory', { memoryMb: 1024 }),
      people.sizes('much memory', { memoryMb: 2048 }),
    ],
    people: 4,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  {
    name: 'files',
    share: 2,
    about:
      'A record with a davit.yaml of its repository: commits with and without a valid one, sizes, rollbacks, the code host.',
    settings: WITH_BUILDS,
    namespaces: ['team'],
    begin: beginBuilds({ resourceSpec: FIXED, buildOnPush: true }, ['team'], ['shop'], { davitFile: 'davit.yaml' }),
    events: [
      ...CLUSTER_EVENTS.filter(({ calm }) => calm === true),
      ...BUILD_EVENTS.filter(({ calm }) => calm === true),
      push('b'),
      push('c'),
      people.newRevision,
      people.rollback,
      people.sizes('more memory', { memoryMb: 1024 }),
      people.codeHostDown,
      people.codeHostUp,
    ],
    people: 3,
    troubles: 1,
    refuse,
    admission: ADMISSION,
  },
  ...listenerBounds(ADMISSION),
  UPKEEP_BOUND,
];
