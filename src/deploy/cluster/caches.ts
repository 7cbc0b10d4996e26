// The watch caches of records, their revisions and their children.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { APP_LOGS } from '../../kinds/app-log.ts';
import { APP_REVISIONS, type AppRevision } from '../../kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../../kinds/app-template.ts';
import { isUnderWay } from '../../kinds/build.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { LISTENERS, type Listener } from '../../kinds/listener.ts';
import { DEPLOYMENT_LABEL, PROVIDER_LABEL } from '../../kinds/meta.ts';
import { imagesOf } from '../../kinds/registry-images.ts';
import type { Settings } from '../../kinds/settings.ts';
import { TRACING_PROJECTS, type TracingProject } from '../../kinds/tracing-project.ts';
import { slimManagedFields } from '../../runtime/controller/managed-fields.ts';
import { cacheMaker, type MakeCache } from '../../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../../runtime/controller/reflector.ts';
import {
  BASE_BACKUPS,
  CRON_JOBS,
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  HTTP_ROUTES,
  INGRESSES,
  JOBS,
  NAMESPACES,
  NETWORK_POLICIES,
  OBJECT_STORES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  POSTGRES_CLUSTERS,
  SCALED_OBJECTS,
  SCHEDULED_BACKUPS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  TRIGGER_AUTHENTICATIONS,
} from '../../runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../runtime/kube/client.ts';
import { makeOrganizationCaches, type OrganizationCaches, SECRETS_NAMED } from '../../tokens/caches.ts';
import type { BaseBackup } from '../assess/base-backups.ts';
import type { Pod } from '../assess/observed.ts';
import { imagesOfRevision, withoutTags } from '../record/revision-image.ts';
import { revisionsOf } from '../record/revisions.ts';
import { readAtStart } from '../record/secret-references.ts';
import type { ObjectStoreSeen } from '../record/wal-archive.ts';
import {
  firstLabels,
  slimCronJob,
  slimJob,
  slimMetadata,
  slimObject,
  slimOperation,
  slimPod,
  slimTracingProject,
} from './slim.ts';

/** Kinds of a record's children except pods, revisions, Secrets and address objects. */
const CHILD_RESOURCES = [
  DEPLOYMENTS,
  STATEFUL_SETS,
  SERVICES,
  PERSISTENT_VOLUME_CLAIMS,
  NETWORK_POLICIES,
  HORIZONTAL_POD_AUTOSCALERS,
  POD_DISRUPTION_BUDGETS,
  JOBS,
  CRON_JOBS,
] as const;

/** Kinds of which not all is kept: a tenant may make any number of large objects, and Davit compares no field of them, or only of its own. */
const SLIM: Readonly<Partial<Record<string, (object: KubeObject) => KubeObject>>> = {
  [JOBS.kind]: slimJob,
  [CRON_JOBS.kind]: slimCronJob,
};

/** Index of revisions by id, in lower case. */
export const REVISION_ID = 'revision id';
/** Index of revisions whose build is queued or runs: `under way`. */
export const BUILD_IS = 'build is';
/** Index of records and revisions by the images that they name, without tag and digest. */
export const IMAGE_NAMED = 'image named';
/** Index of operations by the name of their deployment. */
export const DEPLOYMENT_NAMED = 'deployment named';
/** Index of CloudNativePG's Backups by the name of their Cluster. */
export const CLUSTER_NAMED = 'cluster named';
/** Index of records by the id of the Listener that they reference, in lower case. */
export const LISTENER_NAMED = 'listener named';

export interface Caches extends OrganizationCaches {
  readonly records: Reflector<AppDeployment>;
  readonly revisions: Reflector<AppRevision>;
  readonly operations: Reflector<DatastoreOperation>;
  readonly tracingProjects: Reflector<TracingProject>;
  readonly namespaces: Reflector<KubeObject>;
  readonly pods: Reflector<Pod>;
  /** Metadata of all Secrets, including users' Secrets that records reference. Values are never cached. */
  readonly secrets: Reflector<KubeObject>;
  /** Ingresses or HTTPRoutes, which `children` contains too. Undefined if the platform publishes no addresses. */
  readonly addresses: Reflector<KubeObject> | undefined;
  /** KEDA's kinds, which `children` contains too. Empty if the platform does not use KEDA. */
  readonly keda: readonly Reflector<KubeObject>[];
  /** CloudNativePG's Clusters, which `children` contains too. Undefined if the platform does not use CloudNativePG. */
  readonly postgresClusters: Reflector<KubeObject> | undefined;
  /** Archives, also of deployments that are gone, which `children` contains too. Undefined as with `postgresClusters`. */
  readonly objectStores: Reflector<ObjectStoreSeen> | undefined;
  /** CloudNativePG's Backups, which have no label of Davit's. Undefined as with `postgresClusters`. */
  readonly baseBackups: Reflector<BaseBackup> | undefined;
  /** Caches of children by kind, including Secrets, address objects, and the metadata of AppLogs. */
  readonly children: ReadonlyMap<string, Reflector<KubeObject>>;
  /** AppTemplates of the organization's namespace. */
  readonly templates: Reflector<AppTemplate>;
  readonly listeners: Reflector<Listener>;
}

const LABELLED = { labelSelector: DEPLOYMENT_LABEL, indexedLabels: [DEPLOYMENT_LABEL] };

export function makeCaches(watching: Watching, settings: Settings): Caches {
  const { namespaces: listed, organizationNamespace } = settings;
  const cache = cacheMaker(watching, listed);
  const records = cache<AppDeployment>(APP_DEPLOYMENTS, {
    transform: slimManagedFields,
    indexes: {
      [SECRETS_NAMED]: ({ spec }) => secretsNamed(spec),
      [LISTENER_NAMED]: listenerNamed,
      [IMAGE_NAMED]: ({ spec }) => withoutTags(Array.from(imagesOf(spec), ({ image }) => image)),
    },
  });
  const revisions = cache<AppRevision>(APP_REVISIONS, {
    indexedLabels: [DEPLOYMENT_LABEL],
    indexes: {
      [SECRETS_NAMED]: ({ spec }) => spec.requested.secrets.map(({ secretName }) => secretName),
      [REVISION_ID]: ({ spec }) => [spec.id.toLowerCase()],
      [BUILD_IS]: ({ status }) => (isUnderWay(status?.build) ? ['under way'] : []),
      [IMAGE_NAMED]: (revision) => withoutTags(imagesOfRevision(revision)),
    },
  });
  const operations = cache<DatastoreOperation>(DATASTORE_OPERATIONS, {
    transform: slimOperation,
    indexes: { [DEPLOYMENT_NAMED]: ({ spec }) => [spec.deployment] },
  });
  const tracingProjects = cache<TracingProject>(TRACING_PROJECTS, { transform: slimTracingProject });
  const namespaces = cache(NAMESPACES);
  const pods = cache<Pod>(PODS, { ...LABELLED, transform: slimPod });
  const secrets = cache(SECRETS, {
    metadataOnly: true,
    transform: slimObject,
    indexedLabels: [DEPLOYMENT_LABEL, PROVIDER_LABEL],
  });
  const children = new Map<string, Reflector>(
    CHILD_RESOURCES.map((resource) => {
      const transform = SLIM[resource.kind];
      return [resource.kind, cache(resource, { ...LABELLED, ...(transform && { transform }) })];
    }),
  );
  children.set(APP_LOGS.kind, cache(APP_LOGS, { ...LABELLED, metadataOnly: true, transform: slimObject }));
  children.set(SECRETS.kind, secrets);
  const listeners = cache<Listener>(LISTENERS);
  const templates = cache<AppTemplate>(APP_TEMPLATES, { namespace: organizationNamespace });
  const coversOrganization = listed.length === 0 || listed.includes(organizationNamespace);
  const organization = makeOrganizationCaches(
    watching,
    organizationNamespace,
    coversOrganization ? secrets : undefined,
  );
  const others = cachesOfOthers(cache, settings);
  for (const one of others.ofChildren) children.set(one.resource.kind, one);
  const own = { records, revisions, operations, tracingProjects, namespaces, pods, templates, listeners };
  const all = [
    ...Object.values(own),
    ...children.values(),
    ...(others.caches.baseBackups ? [others.caches.baseBackups] : []),
    ...organization.all,
  ] as unknown as Reflector<KubeObject>[];
  return { ...organization, ...own, secrets, ...others.caches, children, all };
}

/** Those of addresses, and of what may be installed later than Davit: the kinds of the Gateway API, KEDA and CloudNativePG. */
function cachesOfOthers(
  cache: MakeCache,
  { address: { kind }, keda: { enabled: followsQueues }, database }: Settings,
): {
  readonly caches: Pick<Caches, 'addresses' | 'keda' | 'postgresClusters' | 'objectStores' | 'baseBackups'>;
  readonly ofChildren: readonly Reflector[];
} {
  const optional = { ...LABELLED, optional: true };
  const addresses =
    kind === 'none' ? undefined : kind === 'ingress' ? cache(INGRESSES, LABELLED) : cache(HTTP_ROUTES, optional);
  const of = (isUsed: boolean, resources: readonly Resource[]): Reflector[] =>
    isUsed ? resources.map((resource) => cache(resource, optional)) : [];
  const hasClusters = database.cloudNativePg.enabled;
  const keda = of(followsQueues, [SCALED_OBJECTS, TRIGGER_AUTHENTICATIONS]);
  const ofPostgres = of(hasClusters, [POSTGRES_CLUSTERS, OBJECT_STORES, SCHEDULED_BACKUPS]);
  const [postgresClusters, objectStores] = ofPostgres;
  const baseBackups = hasClusters
    ? cache<BaseBackup>(BASE_BACKUPS, {
        transform: slimBaseBackup,
        indexes: { [CLUSTER_NAMED]: ({ spec }) => (spec?.cluster?.name === undefined ? [] : [spec.cluster.name]) },
        optional: true,
      })
    : undefined;
  return {
    caches: {
      addresses,
      keda,
      postgresClusters,
      objectStores: objectStores as Reflector<ObjectStoreSeen> | undefined,
      baseBackups,
    },
    ofChildren: [...(addresses ? [addresses] : []), ...keda, ...ofPostgres],
  };
}

/**
 * Names of all Secrets that the environment of the record's pods uses. They include its values Secrets, whose users the
 * Secret collector looks up.
 */
function secretsNamed(spec: AppDeployment['spec']): string[] {
  const reads = readAtStart(spec, spec.sourceConfig.resourceSpec);
  return [...new Set(reads.map(({ secretName }) => secretName))];
}

function listenerNamed({ spec }: AppDeployment): string[] {
  const { listenerId } = spec.sourceConfig;
  return listenerId === undefined ? [] : [listenerId.toLowerCase()];
}

/** The revisions of this record, newest first. */
export function ownRevisions(record: AppDeployment, { revisions }: Pick<Caches, 'revisions'>): AppRevision[] {
  const { namespace = '', name } = record.metadata;
  return revisionsOf(record, revisions.byLabel(namespace, DEPLOYMENT_LABEL, name));
}

/**
 * Children that carry the label of this record's name, including those of an earlier record of that name. Without pods
 * and revisions.
 */
export function childrenNamed({ children }: Caches, namespace: string, name: string): readonly KubeObject[] {
  return [...children.values()].flatMap((cache) => cache.byLabel(namespace, DEPLOYMENT_LABEL, name));
}

/** The used part (deploy/assess/base-backups.ts): a Backup has the label file of PostgreSQL and whatever its plugin says. */
function slimBaseBackup({ apiVersion, kind, metadata, spec, status = {} }: BaseBackup): BaseBackup {
  const { phase, error, startedAt, stoppedAt } = status;
  return {
    apiVersion,
    kind,
    metadata: slimMetadata(metadata, firstLabels),
    ...(spec?.cluster && { spec: { cluster: spec.cluster } }),
    status: {
      ...(phase !== undefined && { phase }),
      ...(error !== undefined && { error: error.slice(0, 1024) }),
      ...(startedAt !== undefined && { startedAt }),
      ...(stoppedAt !== undefined && { stoppedAt }),
    },
  };
}
