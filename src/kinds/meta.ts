// Names that are part of the public API: group, labels, annotations, finalizer. Changing one breaks existing objects.

import type { KubeObject, Resource } from '../runtime/kube/client.ts';

export const GROUP = 'davit.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** An object of one of Davit's kinds. */
export interface OwnObject<Kind extends string, Spec, Status = never> extends KubeObject {
  readonly kind: Kind;
  readonly spec: Spec;
  readonly status?: Status;
}

/** The resource of one of Davit's kinds. */
export function ownKind<const Kind extends string>(kind: Kind): Resource & { readonly kind: Kind } {
  return { group: GROUP, version: VERSION, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** Server-side apply field manager of the controller. */
export const FIELD_MANAGER = 'davit-controller';
/** Field manager of `status.build` of AppRevisions. */
export const BUILD_FIELD_MANAGER = 'davit-build';
/** Field manager that owns `replicas` of a Deployment after the controller has dropped it and before an autoscaler writes it. */
export const HAND_OVER_MANAGER = 'davit-hand-over';
/** Field manager of the facade's writes, which carry the caller's token. */
export const FACADE_FIELD_MANAGER = 'davit-api';

/** Kept on a record until its teardown is finished. */
export const FINALIZER = 'davit.dev/teardown';
/** On a DatastoreOperation: its deletion cancels it. */
export const OPERATION_FINALIZER = 'davit.dev/operation';

/** On a namespace: marks it as a tenant. */
export const TENANT_LABEL = 'davit.dev/tenant';
/** Kubernetes sets it on every namespace. */
export const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';
/** On a child: the record's name. The caches index children by this label. */
export const DEPLOYMENT_LABEL = 'davit.dev/deployment';
/** On a child: the record's uid. It distinguishes children of an earlier record of the same name. */
export const DEPLOYMENT_UID_LABEL = 'davit.dev/deployment-uid';
/** On a workload, its pods and related objects: server, queue, orchestrator, executor, redis or postgres. */
export const COMPONENT_LABEL = 'davit.dev/component';
/** On a pod, set by the StatefulSet controller: name of the ControllerRevision with its template. */
export const CONTROLLER_REVISION_LABEL = 'controller-revision-hash';
/** On a pod template: the revision's id, from which the active revision can always be recovered. */
export const REVISION_LABEL = 'davit.dev/revision';
/** On the StatefulSet of a store: id of the revision that changed it last, where pods do not say that it is in force. */
export const STORE_REVISION_ANNOTATION = 'davit.dev/store-revision';
/** On a Cluster of CloudNativePG: "on" ends its pods and keeps its volumes. */
export const HIBERNATION_ANNOTATION = 'cnpg.io/hibernation';
/** On what CloudNativePG makes for a Cluster: its name. */
export const CNPG_CLUSTER_LABEL = 'cnpg.io/cluster';
/** On a pod of an instance: primary or replica. */
export const CNPG_ROLE_LABEL = 'cnpg.io/instanceRole';
/** On an ObjectStore with which a database begins: its name in that store. */
export const ARCHIVE_SERVER_ANNOTATION = 'davit.dev/archive-server';
/** On the same: the point in time, RFC 3339. Absent: the newest that is archived. */
export const ARCHIVE_AT_ANNOTATION = 'davit.dev/archive-at';
/** On the pods of a Job of CloudNativePG: what it does. */
export const CNPG_JOB_LABEL = 'cnpg.io/jobRole';
/** Name of the Barman Cloud plugin in a Cluster. */
export const BARMAN_CLOUD_PLUGIN = 'barman-cloud.cloudnative-pg.io';
/** On a Secret of values: the facade created it for one record's `secrets`. */
export const VARIABLES_LABEL = 'davit.dev/variables';
/** On everything that belongs to one build, in the builds' namespace: id of the revision that is built. */
export const BUILD_LABEL = 'davit.dev/build';
/** On the same: namespace of the record. */
export const BUILD_TENANT_LABEL = 'davit.dev/build-tenant';
/** On the same: uid of the record. */
export const BUILD_DEPLOYMENT_LABEL = 'davit.dev/build-deployment';
/** On a pod: `"true"` if it gets a token for Davit's HTTP API. The chart's NetworkPolicy lets such pods reach it. */
export const API_TOKEN_LABEL = 'davit.dev/api-token';
/** Audience of that token: the HTTP API accepts it, and the API server does not. */
export const API_TOKEN_AUDIENCE = 'davit';
/** On the Secret with which a tenant's pods pull from the platform's registry. */
export const PULL_SECRET_LABEL = 'davit.dev/pull-secret';
/** On the same: when its password ends, RFC 3339. */
export const REGISTRY_EXPIRES_ANNOTATION = 'davit.dev/expires';
/** On a Secret of the organization's namespace: the id of the OAuth provider whose client secret the facade stored in it. */
export const PROVIDER_LABEL = 'davit.dev/oauth-provider';
/** On the same Secret: the addresses to which the client secret is bound, in the form of `clientSecretFor`. */
export const SENT_TO_ANNOTATION = 'davit.dev/sent-to';
/** On a Secret of the namespace of OAuth tokens: token, connection, flow or state. */
export const OAUTH_KIND_LABEL = 'davit.dev/oauth';
/** On the same: namespace of the tenant. */
export const OAUTH_TENANT_LABEL = 'davit.dev/oauth-tenant';
/** On the same: an HMAC of the person in that tenant. */
export const OAUTH_OWNER_LABEL = 'davit.dev/oauth-owner';
/** On the same: whose it is and what lists show of it, as JSON. */
export const OAUTH_ENTRY_ANNOTATION = 'davit.dev/oauth-entry';
/** On a tenant's namespace: the page that confirms who a person is before a token is stored. See docs/agents.md. */
export const OAUTH_VERIFIER_ANNOTATION = 'davit.dev/oauth-verifier-url';
/** On the same: username of the account with which that page's server confirms. */
export const OAUTH_VERIFIER_ACCOUNT_ANNOTATION = 'davit.dev/oauth-verifier-account';
/**
 * On a hub's namespace of a Listener: uid of the Listener. On a namespace of the listener's cluster: id of the Listener
 * whose deployments may run in it.
 */
export const LISTENER_LABEL = 'davit.dev/listener';
/** On a copy of a Secret in a hub's namespace of a Listener: id of the deployment. */
export const LISTENER_COPY_LABEL = 'davit.dev/listener-copy';
/** Kept on a Listener while its namespace has work. */
export const LISTENER_FINALIZER = 'davit.dev/listener';
/** Kept on a record that a listener's cluster runs, and on its ListenerWork, until the cluster has nothing of it. */
export const REMOTE_FINALIZER = 'davit.dev/remote-teardown';
/** On a record that is being deleted: its uid, to release it although the listener's cluster may still run it. */
export const ABANDON_ANNOTATION = 'davit.dev/abandon-remote';
/** On a copy in a listener's cluster: id of the record on the hub. Only the agent's account may set these four. */
export const ORIGIN_ID_ANNOTATION = 'davit.dev/origin-id';
/** On the same: generation of the record on the hub. */
export const ORIGIN_GENERATION_ANNOTATION = 'davit.dev/origin-generation';
/** On the same: id of the tenant on the hub. */
export const ORIGIN_TENANT_ANNOTATION = 'davit.dev/origin-tenant';
/** On the same: uid of the hub's namespace kube-system. */
export const ORIGIN_HUB_ANNOTATION = 'davit.dev/origin-hub';
/** On a copied Secret in a listener's cluster: version of the original. */
export const ORIGIN_VERSION_ANNOTATION = 'davit.dev/origin-version';
/** On a Listener: uid of the namespace kube-system of the cluster that takes the place of the one that enrolled. */
export const ACCEPT_CLUSTER_ANNOTATION = 'davit.dev/accept-cluster';
/** On a Listener's Lease: uid of the namespace kube-system of the cluster whose agent renews it. */
export const CLUSTER_ID_ANNOTATION = 'davit.dev/cluster-id';
/** On a Listener's Lease: version of the agent that renews it. */
export const AGENT_VERSION_ANNOTATION = 'davit.dev/agent-version';
/** Prefix of tag labels on a record: `tag.davit.dev/<uuid>: ""`. */
export const TAG_LABEL_PREFIX = 'tag.davit.dev/';

/** On a record: Davit changes nothing and still reports the status. Every value pauses but `false`. */
export const PAUSED_ANNOTATION = 'davit.dev/paused';

/** Whether an object's annotations pause it. People write `true`, `1`, `yes` or nothing. */
export function isPaused(annotations: Readonly<Record<string, string>> | undefined): boolean {
  const value = annotations?.[PAUSED_ANNOTATION];
  return value !== undefined && value.trim().toLowerCase() !== 'false';
}
/** On a tenant's namespace: the hosts that it may claim (`shop.example.com`, `*.example.com`), separated by commas. */
export const HOSTS_ANNOTATION = 'davit.dev/hosts';
/**
 * On a record: the namespaces that may have its backups, each as NAME/UID, separated by spaces. Only a person who may get the volumes of its own
 * namespace may set it.
 */
export const BACKUPS_FOR_ANNOTATION = 'davit.dev/backups-for';
/** On a tenant's namespace: the namespaces that are gone whose backups it may have, each as NAME/UID, separated by spaces. */
export const BACKUPS_OF_ANNOTATION = 'davit.dev/backups-of';
/** On a record: uid of the earlier deployment of its name whose retained PostgreSQL volume and password it adopts. */
export const ADOPT_DATABASE_ANNOTATION = 'davit.dev/adopt-database';
/**
 * On the Secret of a database that a deleted deployment has retained: its uid and the driver, because it used this one last of those that
 * it was moved from. Then `external` if it used a database of others after that (deploy/plan/used-last.ts).
 */
export const USED_LAST_ANNOTATION = 'davit.dev/used-last';
/** On a record: uid of the lost PostgreSQL volume that an empty one may replace. */
export const EMPTY_DATABASE_ANNOTATION = 'davit.dev/empty-database';
/** On a PostgreSQL volume: image that last ran on its data. Another major version cannot read the data. */
export const POSTGRES_IMAGE_ANNOTATION = 'davit.dev/postgres-image';
/** On a PostgreSQL volume: role of the application. Absent: it is the superuser. */
export const POSTGRES_USER_ANNOTATION = 'davit.dev/postgres-user';
/** On a record: id of the revision whose build is to end. */
export const INTERRUPT_ANNOTATION = 'davit.dev/interrupt';
/** On a record: who asked for its spec, for one generation alone (deploy/record/requester.ts). */
export const REQUESTED_BY_ANNOTATION = 'davit.dev/requested-by';
/** On a record: who asked to interrupt the build that the annotation davit.dev/interrupt names. */
export const INTERRUPTED_BY_ANNOTATION = 'davit.dev/interrupted-by';
/** Characters of a username that is shown. */
export const LONGEST_USERNAME = 256;
/** A header of Davit's own clients, which know the API's words alone. */
export const OWN_CLIENT_HEADER = 'x-davit-client';
/** On a record: the words of its creation for which the API has others, separated by spaces (deploy/http/aliases.ts). */
export const WORDS_ANNOTATION = 'davit.dev/words';
/** On a record: its name for people. */
export const DISPLAY_NAME_ANNOTATION = 'davit.dev/display-name';
/** On the Job of a run of a task: digest of the Idempotency-Key of the request that began it. */
export const IDEMPOTENCY_KEY_ANNOTATION = 'davit.dev/idempotency-key';
/** On a child: digest of the last applied manifest, so that fields which Davit no longer sets are removed. */
export const APPLIED_ANNOTATION = 'davit.dev/applied';
/** The recommended label by which Argo CD up to 2 finds the objects of an Application. */
export const ARGO_CD_TRACKING_LABEL = 'app.kubernetes.io/instance';
/** Forbids Argo CD to prune an object, and to delete it with its Application. */
export const NOT_PRUNED = { 'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false' } as const;
/** On a Deployment: `"true"` while an autoscaler owns `replicas`. The controller then does not write the field. */
export const AUTOSCALED_ANNOTATION = 'davit.dev/autoscaled';
/** On a pod template and its workload: keyed digest of the Secret values that the pods read. A rotation changes it and rolls the pods. */
export const SECRETS_ANNOTATION = 'davit.dev/secrets';
/** On the StatefulSet of a store: `"true"` while Davit resizes its pod. Davit undoes the strategy OnDelete of every other StatefulSet. */
export const RESIZING_ANNOTATION = 'davit.dev/resizing';

/** The parts of a deployment, in display order. */
export const COMPONENTS = ['server', 'queue', 'orchestrator', 'executor', 'redis', 'postgres'] as const;
export type Component = (typeof COMPONENTS)[number];
/** The parts that run the record's image. */
export const ROLES = ['server', 'queue', 'orchestrator', 'executor'] as const;
export type Role = (typeof ROLES)[number];
/** Most pods of one part. */
export const MOST_PODS = 100;
/** The component of a revision's migration, which is a Job and not a part. */
export const MIGRATION = 'migrate';
/** Its container. Records may have a container `migrate` of their own. */
export const MIGRATION_CONTAINER = 'davit-migration';
/** The component of the runs of tasks, which are Jobs and no part. */
export const TASK = 'task';
/** Their container. */
export const TASK_CONTAINER = 'davit-task';
/** On a task's CronJob, its Jobs and their pods: name of the task. */
export const TASK_LABEL = 'davit.dev/task';
/** Label of the pods of a Job. Source: Kubernetes, "Well-Known Labels". */
export const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';
/** Whether a pod's component is a store, or Davit's own work on one. All others may write to the database. */
export function isOfStores(component: string | undefined): boolean {
  return [...STORE_PARTS, BACKUP, RESTORE, VERIFY].some((one) => one === component);
}
/** The component of the runs that back up the deployment's own PostgreSQL, which are Jobs and no part. */
export const BACKUP = 'backup';
/** Their containers: the first writes the dump, the second takes it to the store. */
export const DUMP_CONTAINER = 'davit-dump';
export const UPLOAD_CONTAINER = 'davit-upload';
/** The component of the Jobs that load a backup into the deployment's own PostgreSQL. */
export const RESTORE = 'restore';
/** Their containers, in their order: the first asks whether the database is empty, the second fetches the backup, the third loads it. */
export const CHECK_CONTAINER = 'davit-check';
export const FETCH_CONTAINER = 'davit-fetch';
export const RESTORE_CONTAINER = 'davit-restore';
/**
 * Their exit code where another try would mend nothing: a database that is not empty, a backup that is not there or does not fit.
 * PostgreSQL's programs have none above 3.
 */
export const REFUSED = 4;
/** On the Job that loads the backup with which a database begins: which one it was made for (record/restore-request.ts). */
export const RESTORE_REQUEST_ANNOTATION = 'davit.dev/restore-request';
/** The component of the runs that restore the newest backup into a server of their own. They reach no database of a record. */
export const VERIFY = 'verify';
/** Their containers: the server, then those of a restore, and the one that compares. */
export const SERVER_CONTAINER = 'davit-server';
export const COMPARE_CONTAINER = 'davit-compare';
/** Components whose pods are of Davit's own Jobs and read or write the deployment's own PostgreSQL as a whole. */
export const DATABASE_JOBS = [BACKUP, RESTORE] as const;
/** A component whose pods run the record's image: a role, the name of a worker (worker-parts.ts), a migration or a task. */
export type ImageComponent = string;
/** Whether its pods run once, so that they are of no part of the deployment. */
export function runsOnce(component: string): boolean {
  return component === MIGRATION || component === TASK;
}
/** The parts that hold data. */
export const STORE_PARTS = ['postgres', 'redis'] as const;
export type StorePart = (typeof STORE_PARTS)[number];
/** Their names in sentences. */
export const STORE_NAMES = { postgres: 'PostgreSQL', redis: 'Redis' } as const satisfies Record<StorePart, string>;

/** Davit's init containers. Their state shows whether database and Redis answer. Records must not use their names. */
export const WAIT_FOR_DATABASE = 'wait-for-database';
export const WAIT_FOR_REDIS = 'wait-for-redis';

/** Names that a worker must not have: those of other parts, of what runs once, and of Davit's containers. */
export const RESERVED_WORKERS: readonly string[] = [
  ...COMPONENTS,
  MIGRATION,
  TASK,
  ...DATABASE_JOBS,
  VERIFY,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
];

/** Environment variables that the platform sets in every pod of a record. A secret must not have one of these names. */
export const PLATFORM_VARIABLES = [
  'PORT',
  'POSTGRES_URI',
  'DATABASE_URI',
  'REDIS_URI',
  'DAVIT_ROLE',
  'DAVIT_DEPLOYMENT_NAME',
  'DAVIT_DEPLOYMENT_ID',
  'DAVIT_REVISION_ID',
  'DAVIT_TENANT_ID',
  'N_JOBS_PER_WORKER',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const;
/** A secret or reference with this name selects an external database. */
export const EXTERNAL_POSTGRES_VARIABLE = 'POSTGRES_URI_CUSTOM';
/** A secret or reference with this name selects an external Redis. */
export const EXTERNAL_REDIS_VARIABLE = 'REDIS_URI_CUSTOM';

/** The variables that select an external PostgreSQL or Redis, by part. */
export const EXTERNAL_VARIABLES: Readonly<Record<StorePart, string>> = {
  postgres: EXTERNAL_POSTGRES_VARIABLE,
  redis: EXTERNAL_REDIS_VARIABLE,
};
/** The usual variables with the URI of each store. */
export const STORE_URIS: Readonly<Record<StorePart, readonly string[]>> = {
  postgres: ['POSTGRES_URI', 'DATABASE_URI'],
  redis: ['REDIS_URI'],
};
/** Fields of a runtime that say which stores a record does without, by part. */
export const STORE_FIELDS = { postgres: 'database', redis: 'redis' } as const satisfies Record<StorePart, string>;

/** Port of the Service of the main service, independent of the pods' port. */
export const SERVICE_PORT = 80;
