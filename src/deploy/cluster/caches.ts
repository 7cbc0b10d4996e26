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
import type { AddressSettings } from '../../kinds/settings.ts';
import { TRACING_PROJECTS, type TracingProject } from '../../kinds/tracing-project.ts';
import { slimManagedFields } from '../../runtime/controller/managed-fields.ts';
import type { RuntimeMetrics } from '../../runtime/controller/metrics.ts';
import { reflectNamespaces } from '../../runtime/controller/multi-namespace-reflector.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../../runtime/controller/reflector.ts';
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
import type { KubeClient, KubeObject, Resource } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import { makeOrganizationCaches, type OrganizationCaches, SECRETS_NAMED } from '../../tokens/caches.ts';
import type { BaseBackup } from '../assess/base-backups.ts';
import type { Pod } from '../assess/observed.ts';
import { imagesOfRevision, withoutTags } from '../record/revision-image.ts';
import { readAtStart } from '../record/secret-references.ts';
import type { ObjectStoreSeen } from '../record/wal-archive.ts';
import {
  firstLabels,
  slimCronJob,
  slimJob,
  slimMetadata,
  slimOperation,
  slimPod,
  slimSecret,
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

export interface CacheOptions {
  readonly client: KubeClient;
  /** Tenant namespaces to watch. If empty, the whole cluster is watched. */
  readonly namespaces: readonly string[];
  readonly organizationNamespace: string;
  readonly addressKind: AddressSettings['kind'];
  /** Whether queue workers may follow the depth of their queue. */
  readonly keda: boolean;
  /** Whether records may have driver cloudnative-pg. */
  readonly cloudNativePg: boolean;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly onRewound?: (what: string) => void;
}

const LABELLED = { labelSelector: DEPLOYMENT_LABEL, indexedLabels: [DEPLOYMENT_LABEL] };

/** By kind. */
function childCaches(options: CacheOptions): Map<string, Reflector<KubeObject>> {
  const ofLogs = { ...LABELLED, metadataOnly: true, transform: slimSecret };
  return new Map<string, Reflector<KubeObject>>([
    ...CHILD_RESOURCES.map((resource): [string, Reflector<KubeObject>] => {
      const transform = SLIM[resource.kind];
      const details = { ...LABELLED, ...(transform && { transform }) };
      return [resource.kind, perNamespace<KubeObject>(options, resource, details)];
    }),
    [APP_LOGS.kind, perNamespace<KubeObject>(options, APP_LOGS, ofLogs)],
  ]);
}

export function makeCaches(options: CacheOptions): Caches {
  const records = perNamespace<AppDeployment>(options, APP_DEPLOYMENTS, {
    transform: slimManagedFields,
    indexes: {
      [SECRETS_NAMED]: ({ spec }) => secretsNamed(spec),
      [LISTENER_NAMED]: listenerNamed,
      [IMAGE_NAMED]: ({ spec }) => withoutTags(Array.from(imagesOf(spec), ({ image }) => image)),
    },
  });
  const revisions = perNamespace<AppRevision>(options, APP_REVISIONS, {
    indexedLabels: [DEPLOYMENT_LABEL],
    indexes: {
      [SECRETS_NAMED]: ({ spec }) => spec.requested.secrets.map(({ secretName }) => secretName),
      [REVISION_ID]: ({ spec }) => [spec.id.toLowerCase()],
      [BUILD_IS]: ({ status }) => (isUnderWay(status?.build) ? ['under way'] : []),
      [IMAGE_NAMED]: (revision) => withoutTags(imagesOfRevision(revision)),
    },
  });
  const operations = perNamespace<DatastoreOperation>(options, DATASTORE_OPERATIONS, {
    transform: slimOperation,
    indexes: { [DEPLOYMENT_NAMED]: ({ spec }) => [spec.deployment] },
  });
  const tracingProjects = perNamespace<TracingProject>(options, TRACING_PROJECTS, { transform: slimTracingProject });
  const namespaces = makeReflector<KubeObject>({ ...options, resource: NAMESPACES });
  const pods = perNamespace<Pod>(options, PODS, { ...LABELLED, transform: slimPod });
  const secrets = perNamespace<KubeObject>(options, SECRETS, {
    metadataOnly: true,
    transform: slimSecret,
    indexedLabels: [DEPLOYMENT_LABEL, PROVIDER_LABEL],
  });
  const children = childCaches(options).set(SECRETS.kind, secrets);
  const { namespaces: listed, organizationNamespace, ...ofOrganization } = options;
  const listeners = perNamespace<Listener>(options, LISTENERS, {});
  const templates = makeReflector<AppTemplate>({
    ...ofOrganization,
    resource: APP_TEMPLATES,
    namespace: organizationNamespace,
  });
  const coversOrganization = listed.length === 0 || listed.includes(organizationNamespace);
  const organization = makeOrganizationCaches(
    ofOrganization,
    organizationNamespace,
    coversOrganization ? secrets : undefined,
  );
  const addresses = addressesFor(options);
  if (addresses) children.set(addresses.resource.kind, addresses);
  const ofOthers = cachesOfOthers(options);
  for (const cache of ofOthers.all) children.set(cache.resource.kind, cache);
  const own = { records, revisions, operations, tracingProjects, namespaces, pods, templates, listeners };
  const { baseBackups } = ofOthers.caches;
  const all = [
    ...Object.values(own),
    ...children.values(),
    ...(baseBackups ? [baseBackups] : []),
    ...organization.all,
  ] as unknown as Reflector<KubeObject>[];
  return { ...organization, ...own, secrets, addresses, ...ofOthers.caches, children, all };
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

/** HTTPRoutes are optional because the Gateway API's CRDs may be installed later than Davit. */
function addressesFor(options: CacheOptions): Reflector<KubeObject> | undefined {
  const details = { labelSelector: DEPLOYMENT_LABEL, indexedLabels: [DEPLOYMENT_LABEL] };
  if (options.addressKind === 'ingress') return perNamespace<KubeObject>(options, INGRESSES, details);
  if (options.addressKind === 'gateway')
    return perNamespace<KubeObject>(options, HTTP_ROUTES, { ...details, optional: true });
  return undefined;
}

/** Kinds of software that may be installed later than Davit. `all`: those of children. */
function cachesOfOthers(options: CacheOptions): {
  readonly caches: Pick<Caches, 'keda' | 'postgresClusters' | 'objectStores' | 'baseBackups'>;
  readonly all: readonly Reflector<KubeObject>[];
} {
  const details = { labelSelector: DEPLOYMENT_LABEL, indexedLabels: [DEPLOYMENT_LABEL], optional: true };
  const of = (resource: Resource): Reflector<KubeObject> => perNamespace<KubeObject>(options, resource, details);
  const keda = (options.keda ? [SCALED_OBJECTS, TRIGGER_AUTHENTICATIONS] : []).map(of);
  if (!options.cloudNativePg)
    return {
      caches: { keda, postgresClusters: undefined, objectStores: undefined, baseBackups: undefined },
      all: keda,
    };
  const [postgresClusters, objectStores] = [of(POSTGRES_CLUSTERS), of(OBJECT_STORES)];
  const baseBackups = perNamespace<BaseBackup>(options, BASE_BACKUPS, {
    transform: slimBaseBackup,
    indexes: { [CLUSTER_NAMED]: ({ spec }) => (spec?.cluster?.name === undefined ? [] : [spec.cluster.name]) },
    optional: true,
  });
  return {
    caches: { keda, postgresClusters, objectStores: objectStores as Reflector<ObjectStoreSeen>, baseBackups },
    all: [...keda, postgresClusters, objectStores, of(SCHEDULED_BACKUPS)],
  };
}

function perNamespace<T extends KubeObject>(
  { namespaces, ...options }: CacheOptions,
  resource: Resource,
  details: Partial<ReflectorOptions<T>>,
): Reflector<T> {
  return reflectNamespaces<T>(namespaces, { ...options, resource, ...details });
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
