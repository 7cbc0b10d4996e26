// Names that the outside world sees and that therefore never change lightly: group, labels, annotations, finalizer.

export const GROUP = 'davit.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Server-side apply field manager of the controller. */
export const FIELD_MANAGER = 'davit-controller';
/** Field manager of `status.build` of AppRevisions. */
export const BUILD_FIELD_MANAGER = 'davit-build';
/** Holds `replicas` of a Deployment from the moment in which the controller lets go of it until an autoscaler writes it. */
export const HAND_OVER_MANAGER = 'davit-hand-over';
/** Field manager of writes that the facade makes with its caller's token. */
export const FACADE_FIELD_MANAGER = 'davit-api';

/** Held by a record until its visible teardown is finished. */
export const FINALIZER = 'davit.dev/teardown';

/** On a namespace: it is a tenant. */
export const TENANT_LABEL = 'davit.dev/tenant';
/** On a child: the record's name. Also the index by which a record finds its children. */
export const DEPLOYMENT_LABEL = 'davit.dev/deployment';
/** On a child: the record's uid, so that a child of an earlier record of the same name is told apart. */
export const DEPLOYMENT_UID_LABEL = 'davit.dev/deployment-uid';
/** On a workload, its pods and what belongs to it: server, queue, orchestrator, executor, redis or postgres. */
export const COMPONENT_LABEL = 'davit.dev/component';
/** On a pod, by the StatefulSet controller: name of the ControllerRevision whose template it was made from. */
export const CONTROLLER_REVISION_LABEL = 'controller-revision-hash';
/** On a pod template: the revision's id, by which the active revision can always be recovered. */
export const REVISION_LABEL = 'davit.dev/revision';
/** On a Secret of values: it was made by the facade for one record's `secrets`. */
export const VARIABLES_LABEL = 'davit.dev/variables';
/** On everything that belongs to one build, in the builds' namespace: id of the revision that is built. */
export const BUILD_LABEL = 'davit.dev/build';
/** On the same: namespace of the record. */
export const BUILD_TENANT_LABEL = 'davit.dev/build-tenant';
/** On the same: uid of the record. */
export const BUILD_DEPLOYMENT_LABEL = 'davit.dev/build-deployment';
/** On a Secret of the organization's namespace: the id of the OAuth provider whose client secret the facade put there. */
export const PROVIDER_LABEL = 'davit.dev/oauth-provider';
/** On the same Secret: the addresses that it was given for, as `clientSecretFor` has them. It is of no use for others. */
export const SENT_TO_ANNOTATION = 'davit.dev/sent-to';
/** Prefix of tag labels on a record: `tag.davit.dev/<uuid>: ""`. */
export const TAG_LABEL_PREFIX = 'tag.davit.dev/';

/** On a record: nothing is changed, status is still reported. */
export const PAUSED_ANNOTATION = 'davit.dev/paused';
/** On a tenant's namespace: the hosts that it may claim, `shop.example.com` or `*.example.com`, separated by commas. */
export const HOSTS_ANNOTATION = 'davit.dev/hosts';
/** On a record: uid of the earlier deployment of its name whose kept PostgreSQL volume and password it takes up. */
export const ADOPT_DATABASE_ANNOTATION = 'davit.dev/adopt-database';
/** On a record: uid of the lost PostgreSQL volume in whose place an empty one is made. */
export const EMPTY_DATABASE_ANNOTATION = 'davit.dev/empty-database';
/** On a PostgreSQL volume: image that its data was last run by; another major version could not read it. */
export const POSTGRES_IMAGE_ANNOTATION = 'davit.dev/postgres-image';
/** On a record: id of the revision whose build is to end. */
export const INTERRUPT_ANNOTATION = 'davit.dev/interrupt';
/** On a child: digest of what was last applied, so that a field no longer wanted is removed. */
export const APPLIED_ANNOTATION = 'davit.dev/applied';
/** On a Deployment: `"true"` while an autoscaler decides its `replicas`, and the controller never writes them. */
export const AUTOSCALED_ANNOTATION = 'davit.dev/autoscaled';
/** On a pod template and its workload: keyed digest of what its pods read from Secrets; a rotation changes it and rolls them. */
export const SECRETS_ANNOTATION = 'davit.dev/secrets';

/** The parts that a record can be made of, in the order in which they are shown. */
export const COMPONENTS = ['server', 'queue', 'orchestrator', 'executor', 'redis', 'postgres'] as const;
export type Component = (typeof COMPONENTS)[number];
/** The parts that run the record's own image. */
export const ROLES = ['server', 'queue', 'orchestrator', 'executor'] as const;
export type Role = (typeof ROLES)[number];
/** The parts that hold data. */
export const STORE_PARTS = ['postgres', 'redis'] as const;
export type StorePart = (typeof STORE_PARTS)[number];

/** Init containers of ours, whose state says whether database and Redis answer. No record may use their names. */
export const WAIT_FOR_DATABASE = 'wait-for-database';
export const WAIT_FOR_REDIS = 'wait-for-redis';

/** Environment variables that the platform sets in every pod of a record; a secret may not take their names. */
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
/** A secret or reference of this name says: use that database, make none. */
export const EXTERNAL_POSTGRES_VARIABLE = 'POSTGRES_URI_CUSTOM';
/** A secret or reference of this name says: use that Redis, make none. */
export const EXTERNAL_REDIS_VARIABLE = 'REDIS_URI_CUSTOM';
