// Condition types and reasons of an AppDeployment, each with its meaning and what to do. The tables in
// docs/reasons.md are generated from this file.

import { conditionOf } from './conditions.ts';
import type { StorePart } from './meta.ts';

export const CONDITION_TYPES = {
  Ready:
    'The latest revision is deployed and serving at this generation, or the record is scaled to zero and no known problem prevents that revision from running.',
  Available:
    'The active revision is serving, and no database or Redis that it uses is known to fail: its status in the API is READY.',
  Reconciling: 'The controller is applying the record to the cluster.',
  Stalled: 'The record does not change until a person acts.',
  DatabaseReady:
    "The deployment's own PostgreSQL answers, and no new pod fails to connect to it; an external one answered the last pod that connected. While an earlier revision serves with its own PostgreSQL and the latest revision needs none, the condition is about that PostgreSQL.",
  RedisReady: 'Redis answers, with the same rules as for DatabaseReady.',
  WorkloadsReady: 'Every pod of every part runs the latest revision and is ready.',
  AutoscalingReady: 'Every autoscaler has its metrics, or the number of pods is fixed. Ready does not depend on it.',
  TasksReady:
    "No task's last run failed. The condition exists while the active revision has tasks. Ready does not depend on it.",
  ResourceSpecHonored:
    'Every field of resource_spec takes effect as written. If not, the message names the field and the cause. Ready does not depend on it.',
  AddressReady: 'The address is routed to the main service, or none is requested.',
  ReferencesResolved: 'Every Secret and key that the record names exists.',
  PolicyAccepted: "The record complies with the platform's rules for sources and pods.",
  BackupReady:
    "The last backup of the deployment's own PostgreSQL is in the store and is not too old. A record with its own PostgreSQL has this condition, unless it has an archive instead. Ready does not depend on it.",
  ArchiveReady:
    "Every change of the deployment's own PostgreSQL goes to the archive, whose last base backup is not too old. Only a record with an archive has this condition. Ready does not depend on it.",
  BackupVerified:
    "A backup of the deployment's own PostgreSQL was restored into a temporary server, not too long ago, with every row. Only a record with verification has this condition. Ready does not depend on it.",
  DatabaseRestored:
    "The backup that the deployment's own PostgreSQL begins with is loaded. Only a record with source_config.database.restore has this condition. Its pods and its migration wait for the backup.",
} as const;
export type ConditionType = keyof typeof CONDITION_TYPES;

/** The condition of a datastore. */
export const STORE_CONDITIONS = { postgres: 'DatabaseReady', redis: 'RedisReady' } as const satisfies Record<
  StorePart,
  ConditionType
>;

interface ReasonMeaning {
  readonly meaning: string;
  readonly todo: string;
}

export const REASONS = {
  Serving: { meaning: 'All parts run.', todo: 'Nothing.' },
  Progressing: { meaning: 'A rollout is in progress.', todo: 'Wait. The message names what is missing.' },
  Settled: { meaning: 'Nothing is left to do.', todo: 'Nothing.' },
  Deleting: {
    meaning: 'The record is being deleted, one part after another.',
    todo: 'Wait. The message names the part.',
  },
  Paused: {
    meaning:
      'The record has the annotation davit.dev/paused, or Davit is paused: Davit does not change the deployment.',
    todo: 'Remove the annotation or the setting to continue.',
  },
  ScaledToZero: { meaning: 'max_scale is 0, so no pod runs.', todo: 'Raise max_scale to run it again.' },
  FixedScale: { meaning: 'The number of pods is fixed.', todo: 'Nothing.' },
  Autoscaled: { meaning: 'Autoscalers set the number of pods.', todo: 'Nothing.' },
  MetricsMissing: {
    meaning: 'An autoscaler has no CPU and memory metrics of the pods.',
    todo: 'Wait a minute after a start. Otherwise install metrics-server, or run kubectl describe hpa.',
  },
  FollowsQueue: {
    meaning: 'KEDA sets the number of queue workers from the depth of their queue (runtime.queue_depth).',
    todo: 'Nothing.',
  },
  KedaMissing: {
    meaning:
      'runtime.queue_depth has no effect, because the platform has no KEDA: queue workers follow CPU and memory.',
    todo: 'Ask the platform team to install KEDA (settings.keda.enabled must not be false), or remove queue_depth.',
  },
  QueueDepthUnknown: {
    meaning: 'KEDA or its autoscaler does not receive the queue depth, so the number of queue workers does not change.',
    todo: 'Check the query of runtime.queue_depth and that KEDA runs with its metrics server, and run kubectl describe scaledobject.',
  },
  CloudNativePgMissing: {
    meaning:
      "The deployment's own PostgreSQL has driver cloudnative-pg, but this platform has no CloudNativePG. Davit does not create or change the database.",
    todo: 'Ask the platform team to install CloudNativePG (settings.database.cloudNativePg.enabled must not be false); the deployment then continues automatically. A new database can use driver pod instead.',
  },
  InstancesMissing: {
    meaning: 'PostgreSQL answers, but fewer of its instances are ready than source_config.database.instances.',
    todo: 'Wait. If it persists, run kubectl describe clusters.postgresql.cnpg.io NAME--postgres, and check the pods of its instances.',
  },
  DatabaseDriverFixed: {
    meaning:
      'source_config.database.driver has changed, but the database has data. Davit does not change the database.',
    todo: 'Restore source_config.database.driver, or move the database as the message says (docs/databases.md).',
  },
  DatabaseDriverUnknown: {
    meaning:
      'The database was created with a driver that this version of Davit does not have. Davit does not change the deployment.',
    todo: 'Use the database as an external one, as the message says.',
  },
  OperationRunning: {
    meaning: 'An operation on the database has stopped the deployment: a restore, a move, an upgrade or a return.',
    todo: 'Wait. kubectl get dsop shows its progress. To cancel the operation, delete it.',
  },
  DatabaseDriverInUse: {
    meaning: 'An operation has moved the database, but source_config.database.driver still names the previous driver.',
    todo: 'Read the message. Set source_config.database.driver to the driver in use.',
  },
  AsAsked: { meaning: 'Every field of resource_spec takes effect as written.', todo: 'Nothing.' },
  MinimumIsOne: {
    meaning: 'A minimum of 0 pods is treated as 1.',
    todo: 'Nothing, or set the minimum to 1. To run no pods, set max_scale to 0.',
  },
  StoreIsExternal: {
    meaning: 'resource_spec has sizes of a database or Redis that is external.',
    todo: 'Remove the fields that the message names from resource_spec.',
  },
  StoreNotNeeded: {
    meaning: 'resource_spec has sizes of a database or Redis that the record does without.',
    todo: 'Remove the fields that the message names from resource_spec.',
  },
  BackedUp: { meaning: 'The store has a backup that is not too old, and no run has failed since.', todo: 'Nothing.' },
  NotConfigured: {
    meaning:
      "The deployment's own PostgreSQL has neither backups nor an archive: if its volume is lost, its data is lost.",
    todo: 'Ask the platform team to set settings.backups.store, or turn backups on as the message says.',
  },
  BackupPending: { meaning: 'No backup has been made yet.', todo: 'Wait for the schedule.' },
  BackupFailing: {
    meaning: 'The last backup failed, or its pod cannot start. Existing backups stay in the store.',
    todo: 'Read the message, which quotes the last output. Correct the cause, then run the command in the message.',
  },
  BackupsHeld: {
    meaning:
      'The database began empty after the loss of its data was accepted, and the store has backups of the previous database. No backup runs on schedule, so that retention does not delete them.',
    todo: 'Run one of the two commands in the message: the first restores the newest backup, the second backs up the current database.',
  },
  BackupStale: {
    meaning: 'The last backup is older than source_config.database.backup.stale_after_hours.',
    todo: 'Check the schedule, and the events of CronJob NAME---backup.',
  },
  BackupStoreMissing: {
    meaning: 'The record needs a backup store for backups, an archive or a restore, and this platform has none.',
    todo: 'Ask the platform team to set settings.backups.store, or remove the field of source_config.database that the message names.',
  },
  BackupCredentialsMissing: {
    meaning: "The namespace does not have the Secret with the store's credentials.",
    todo: 'Create the Secret that the message names (docs/backup.md).',
  },
  BackupNotPossible: {
    meaning: 'The record has backups turned on, but its database is external.',
    todo: 'Remove source_config.database.backup, and back up the external database where it runs.',
  },
  Archived: {
    meaning: 'The database can be restored to any point in time since the one in the message.',
    todo: 'Nothing.',
  },
  ArchivePending: {
    meaning: 'The archive has no base backup yet, or has not reported one.',
    todo: 'Wait. The first one is made as soon as PostgreSQL answers.',
  },
  ArchiveFailing: {
    meaning:
      'Changes do not reach the archive, or the last base backup failed. PostgreSQL keeps unarchived changes until its volume is full.',
    todo: 'Read the message, which quotes CloudNativePG. Check the store, its keys and its space; archiving then resumes automatically.',
  },
  ArchiveStale: {
    meaning: 'The last base backup is older than source_config.database.archive.stale_after_hours.',
    todo: 'Check the schedule: kubectl describe scheduledbackups.postgresql.cnpg.io.',
  },
  ArchivePluginMissing: {
    meaning:
      "The record has an archive or begins with one, but the platform does not have CloudNativePG's Barman Cloud plugin.",
    todo: 'Ask the platform team to install the plugin (docs/backup.md). The deployment then continues automatically.',
  },
  ArchiveNotPossible: {
    meaning: 'The record has an archive turned on, but its database is not a Cluster of CloudNativePG.',
    todo: 'Remove source_config.database.archive, or move the database to driver cloudnative-pg.',
  },
  ArchiveMissing: {
    meaning: 'The record begins with an archive, but the namespace has no archive with this point in time.',
    todo: 'Correct source_config.database.restore. The message lists the points in time that exist.',
  },
  Verified: {
    meaning:
      'The backup that the message names was restored into a temporary server, and has every row that its database had.',
    todo: 'Nothing.',
  },
  VerificationPending: {
    meaning: 'No backup has been verified yet.',
    todo: 'Wait for the schedule, or read the message.',
  },
  VerificationWithoutCounts: {
    meaning: 'The newest backup was restored, but it has no counts to compare with.',
    todo: 'Wait for the next backup, or read the message. A backup has counts if verification is on when it is made.',
  },
  VerificationFailing: {
    meaning: 'The newest backup could not be restored, or it differs from its database.',
    todo: 'Read the message, which quotes the last output. Make a backup now, then run the command in the message.',
  },
  VerificationStale: {
    meaning: 'The last verification is older than source_config.database.backup.verify_stale_after_hours.',
    todo: 'Check the schedule, and the events of CronJob NAME---verify.',
  },
  Restored: { meaning: 'The database began with the backup that the message names.', todo: 'Nothing.' },
  Restoring: {
    meaning: 'The backup that the database begins with is being loaded, or waits for PostgreSQL.',
    todo: 'Wait.',
  },
  RestoreFailed: {
    meaning: 'The backup that the database begins with was not loaded. The database is empty.',
    todo: 'Read the message. Correct the cause, then delete Job NAME---restore, which Davit creates again; or correct or remove source_config.database.restore.',
  },
  RestoreNotPossible: {
    meaning: 'The backup in source_config.database.restore cannot be loaded into the database.',
    todo: 'Read the message: another namespace does not allow it, the driver differs, or the database is external.',
  },
  WaitingForImage: { meaning: 'The record has no image or source yet.', todo: 'Push an image, or set imageUri.' },
  BuilderNotConfigured: {
    meaning: 'The source has to be built, but no builder is configured.',
    todo: 'Use an image, or ask the platform team to configure a registry and a builder (settings.builds). The deployment then continues automatically.',
  },
  FileUnread: {
    meaning:
      'The next revision is created when davit_file has been read from the code host. The running revision keeps serving.',
    todo: "Wait. If it persists, check the integration and settings.codeHosts. The message quotes the code host's answer.",
  },
  BuildQueued: {
    meaning: 'The build of the latest revision waits for its turn.',
    todo: 'Wait. The running revision keeps serving.',
  },
  Building: {
    meaning: 'The latest revision is being built.',
    todo: 'Wait. kubectl davit logs NAME --build, or build_logs of the HTTP API, shows its progress.',
  },
  BuildFailed: {
    meaning: 'The latest revision could not be built. The running revision keeps serving.',
    todo: 'Follow the message; the reason is in status.build of the revision ("Builds" below).',
  },
  BuildInterrupted: {
    meaning: 'The build of the latest revision was interrupted. The running revision keeps serving.',
    todo: 'Create a new revision to build again.',
  },
  Migrating: {
    meaning: 'The migration of a revision runs before its rollout. The running revision keeps serving.',
    todo: 'Wait. The message has the command that shows its log.',
  },
  MigrationFailed: {
    meaning: 'The migration of the latest revision failed. The running revision keeps serving.',
    todo: 'Read the message, which quotes its last output. Correct the cause, then deploy a new revision, which runs the migration again.',
  },
  NoTaskFailed: { meaning: "No task's last run failed.", todo: 'Nothing.' },
  TaskFailed: {
    meaning: 'The last run of a task failed. The deployment keeps serving, and the next run follows the schedule.',
    todo: 'Read the message, which quotes its last output. kubectl davit tasks NAME shows its last runs; kubectl davit run NAME --task TASK runs it again.',
  },
  TaskMissed: {
    meaning: 'A run of a task was due, but its CronJob did not start it. The deployment keeps serving.',
    todo: 'Run the command in the message. A quota, a policy or an unavailable control plane prevents new Jobs. The next run that starts clears this reason.',
  },
  ListenerSilent: {
    meaning:
      "A listener's cluster runs this record and has stopped reporting. The other conditions are the last reported ones.",
    todo: 'Check the listener: kubectl get listeners -o wide. The record continues automatically when it reports again.',
  },
  ListenerPending: {
    meaning: "The listener's cluster has not applied the last change yet.",
    todo: 'Wait. If it persists, check the pod of davit-listener on that cluster.',
  },
  NamespaceNotAllowed: {
    meaning: "The namespace of the listener's cluster does not exist or does not accept deployments of the listener.",
    todo: "On that cluster: kubectl label namespace NAME davit.dev/listener=ID davit.dev/tenant=true, with the listener's id.",
  },
  ListenerTooOld: {
    meaning: "The Davit of the listener's cluster does not know a field of the record.",
    todo: 'Upgrade Davit on that cluster, or remove the field that the message names.',
  },
  HubChanged: {
    meaning:
      "The listener's cluster has work from another hub, or from a later state of this hub than the one to which it was restored.",
    todo: 'Follow docs/listeners.md, "A restored hub".',
  },
  Answering: {
    meaning:
      "The deployment's own database or Redis answers. An external one answered when the pod in the message started. Davit does not connect to it, so a later failure shows only when a pod starts.",
    todo: 'Nothing.',
  },
  NotObserved: { meaning: 'Davit has not observed anything yet.', todo: 'Wait a moment.' },
  NotNeeded: {
    meaning: 'The datastore is not needed while nothing runs, or never (database or redis: none).',
    todo: 'Nothing.',
  },
  Starting: {
    meaning: 'The database or Redis has started but does not answer yet.',
    todo: 'Wait. If it persists, check its pod.',
  },
  Resizing: {
    meaning: 'PostgreSQL or Redis answers, and its running pod is being resized to its new CPU and memory.',
    todo: 'Wait.',
  },
  ResizeDeferred: {
    meaning:
      'PostgreSQL or Redis runs with its previous CPU and memory, because its node has no room for the new ones.',
    todo: 'Free room on the node, or set smaller sizes. If another node has room, run the command in the message. Otherwise the pod is resized as soon as its node can.',
  },
  NotAnswering: {
    meaning:
      "The deployment's own database or Redis no longer answers, or the newest pod cannot connect to it or to an external one. Pods that connected earlier may still serve.",
    todo: 'Check its pod, or the address, password and network of the external one. The log of the waiting init container shows the cause.',
  },
  ImagePullFailed: {
    meaning: 'An image cannot be pulled. The message has the cause as the node reports it.',
    todo: 'Correct the image, or add a pull secret.',
  },
  ContainerCrashed: {
    meaning:
      'A container exits instead of running. When it has exited settings.pods.maxCrashes times, the deployment is Stalled, and a new revision is DEPLOY_FAILED. The pods of a deployed revision stay, and Kubernetes restarts them.',
    todo: "Read the message and the pod's log. Deploy a corrected revision. If the cause was elsewhere and no longer exists, kubectl davit restart NAME starts the pods at once.",
  },
  NoReadyPod: {
    meaning: 'A part that was deployed has had no ready pod for longer than settings.pods.unavailableSeconds.',
    todo: "Read the message, which quotes its health check, and the pod's log.",
  },
  ContainerConfigInvalid: {
    meaning: 'A container cannot be created from its configuration.',
    todo: 'Correct the field that the message names.',
  },
  Unschedulable: {
    meaning: 'No node has room for the pod.',
    todo: 'Follow the message: lower the requests, add capacity, or uncordon a node.',
  },
  NodeNotReady: {
    meaning:
      'The node of a pod has stopped reporting, so the pod counts as not ready, even if its containers are running.',
    todo: 'Check the node: kubectl describe node NODE. Kubernetes replaces the pods of Deployments after about five minutes; a database, singleton, task or migration follows when its pod is released (PodStuckTerminating).',
  },
  VolumePending: { meaning: 'The volume is not bound.', todo: 'Check the storage class and its provisioner.' },
  VolumeNotMounted: {
    meaning: 'A volume of a pod cannot be mounted.',
    todo: "Create the ConfigMap, Secret or share that the kubelet's message names. The pod then starts automatically; the kubelet retries within two minutes.",
  },
  ProgressDeadlineExceeded: {
    meaning: 'The rollout made no progress within its deadline.',
    todo: 'Read the message. Deploy a corrected revision.',
  },
  RolloutPaused: {
    meaning: 'A person paused the rollout of a Deployment (kubectl rollout pause). Davit does not resume it.',
    todo: 'Run the kubectl rollout resume command in the message.',
  },
  PodStuckTerminating: {
    meaning: 'A pod is past its termination time and still exists: its node is lost, or a finalizer holds it.',
    todo: 'Follow the message. Do not force the deletion while the node may still run.',
  },
  PodsRefused: {
    meaning: 'The API server rejects the pods.',
    todo: "Correct the cause in the server's message: quota, policy or a missing service account.",
  },
  AllResolved: { meaning: 'Every Secret and key that a variable names exists.', todo: 'Nothing.' },
  SecretMissing: {
    meaning: 'A Secret that the record names does not exist.',
    todo: 'Create it. The deployment then continues automatically.',
  },
  SecretKeyMissing: {
    meaning: 'A Secret lacks a key that the record names.',
    todo: 'Add the key. The deployment then continues automatically.',
  },
  SecretNotFixed: {
    meaning: "A Secret with the name of the record's values is not Opaque and immutable.",
    todo: 'If it is Opaque, make it immutable with the command in the message. Otherwise, name another Secret.',
  },
  SecretTooLarge: {
    meaning: 'An init container or sidecar gets all keys of a Secret that has more than 1,000.',
    todo: 'Name the keys that the container needs under env, or name a smaller Secret.',
  },
  Accepted: { meaning: 'The record complies with the rules.', todo: 'Nothing.' },
  SourceNotAllowed: { meaning: 'The hosting mode does not allow this source.', todo: 'Use an allowed source.' },
  TemplateNotFound: {
    meaning: 'No AppTemplate offers the image or repository of a record with source internal_template.',
    todo: 'Choose the image or repository of an AppTemplate, or ask the platform team to add one. The deployment then continues automatically.',
  },
  ListenerNotFound: {
    meaning: "The tenant has no Listener with the record's listener_id, or the Listener does not list the namespace.",
    todo: 'Set listener_id to the uid of a Listener in the same namespace, and k8s_namespace to a namespace that it lists.',
  },
  IntegrationNotFound: {
    meaning:
      'The code host integration that the record names does not exist or does not list the namespace, or the repository is on another host.',
    todo: 'Set integration_id to the uid of a CodeHostIntegration, ask the platform team to add the namespace to its tenants, and use a repository on its host. Existing revisions continue.',
  },
  NotATenant: {
    meaning: 'The namespace is not a tenant.',
    todo: "Label the namespace davit.dev/tenant=true, or move the record to a tenant's namespace.",
  },
  OwnDatabaseForbidden: {
    meaning: 'The platform provides no databases.',
    todo: 'Set POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM, or database and redis of runtime to none.',
  },
  ApiTokenNotOffered: {
    meaning: "The record needs a token for Davit's HTTP API (runtime.api_token), but its pods cannot get or use one.",
    todo: 'Follow the message, or remove api_token. Existing revisions continue.',
  },
  ImageNotAllowed: {
    meaning:
      "An image of source internal_docker is not in the deployment's own repository or has no digest, or an image is in a repository of the platform's registry that this tenant may not use.",
    todo: "Push the image to the deployment's repository and name it by digest; or use an image of the tenant's own repositories, of base/, or of another registry. Existing revisions continue.",
  },
  InstancesNotOffered: {
    meaning: 'source_config.database.instances is above 1, but driver pod has one instance only.',
    todo: 'Remove source_config.database.instances, or set driver to cloudnative-pg. Existing revisions continue.',
  },
  LimitExceeded: {
    meaning: 'A value in resource_spec exceeds a limit of the platform.',
    todo: 'Lower the values that the message names.',
  },
  PlacementNotAllowed: {
    meaning: "A part's placement names a label, taint, runtime class or resource that the platform does not list.",
    todo: 'Use values that the platform lists, or ask the platform team to add yours to settings.placement.allowed or settings.limits.resources. Existing revisions continue.',
  },
  PodPolicyViolated: {
    meaning: 'A field of resource_spec violates the pod policy.',
    todo: 'Remove the fields that the message names.',
  },
  Routed: {
    meaning: 'The address is routed to the main service. Without access.lock, everybody who reaches it has access.',
    todo: 'Nothing, or set access.lock (docs/deploy.md).',
  },
  AddressPending: {
    meaning: 'The address was created, but no ingress controller or Gateway has accepted it yet.',
    todo: 'If it persists, check that the ingress class or Gateway in the settings exists. If the ingress controller reports no status, this reason stays. It does not prevent Ready.',
  },
  NoAddressConfigured: {
    meaning: 'The record has a customUrl, but this platform provides no addresses.',
    todo: 'Set settings.address.kind to ingress or gateway, or remove customUrl.',
  },
  HostNotAllowed: {
    meaning: 'The tenant may not claim this host.',
    todo: 'Choose a host that the message lists, or ask the platform team to add yours to the annotation davit.dev/hosts of the namespace.',
  },
  HostTaken: {
    meaning: 'Another deployment has this host.',
    todo: 'Choose another host. When the host is released, the deployment gets it automatically.',
  },
  GatewayRefused: {
    meaning: 'The Gateway does not accept the route.',
    todo: "Correct the cause in the Gateway's message: the listener's hostname, allowedRoutes or a missing Gateway.",
  },
  GatewayApiMissing: {
    meaning: 'The platform uses HTTPRoutes, but the cluster does not have that kind.',
    todo: 'Ask the platform team to install the Gateway API. Davit then creates the addresses automatically.',
  },
  NameConflict: {
    meaning: 'A foreign object has a name that Davit needs.',
    todo: 'Rename or delete that object, or create the record with another name.',
  },
  DatabaseKept: {
    meaning: 'The database of an earlier deployment of this name was retained and has not been adopted.',
    todo: 'Adopt it with the command in the message, or delete it to start with an empty database.',
  },
  PasswordMissing: {
    meaning: "The Secret with the password of the deployment's own PostgreSQL or Redis was deleted or lost its labels.",
    todo: 'Restore it from a backup, or restore its labels as the message says. The deployment then continues automatically.',
  },
  ContractUnknown: {
    meaning:
      'A newer version of Davit, which has been rolled back, created the latest revision. Running pods are not changed.',
    todo: 'Upgrade the controller again, or raise spec.revisionSerial by one. The new revision restarts the pods.',
  },
  VolumeMissing: {
    meaning:
      "A volume that a pod needs does not exist: the volume of the deployment's own PostgreSQL, or one in resource_spec.",
    todo: 'Restore it from a backup, or follow the message to start with an empty database.',
  },
  VolumeTerminating: {
    meaning: 'The PostgreSQL volume is being deleted. PostgreSQL answers until its pod stops; then its data is lost.',
    todo: 'Back up the data before the pod restarts.',
  },
  VolumeLost: {
    meaning: 'The PostgreSQL volume has lost its PersistentVolume.',
    todo: 'Restore the PersistentVolume, or restore claim and volume from a backup.',
  },
  VolumeFull: {
    meaning:
      'PostgreSQL has stopped because its volume is full. Davit detects this only when PostgreSQL stops: until then, only a metric of the kubelet shows how full a volume is.',
    todo: 'Raise db_storage_gi. PostgreSQL starts again when the volume has grown, which needs a storage class with allowVolumeExpansion.',
  },
  VolumeResizing: {
    meaning: 'The PostgreSQL volume is smaller than db_storage_gi and is being expanded.',
    todo: 'Wait. If it persists, run kubectl describe pvc, and check that the storage class has allowVolumeExpansion.',
  },
  VolumeResizeFailed: {
    meaning: 'The PostgreSQL volume could not be expanded to db_storage_gi.',
    todo: 'Set a size that the storage class supports, or fix the cause that kubectl describe pvc shows.',
  },
  ApplyRefused: {
    meaning: 'The API server rejected an object of the deployment.',
    todo: "Correct the cause in the server's message.",
  },
  RequestFailed: {
    meaning: 'A request to the API server failed: the server or one of its webhooks failed or did not answer.',
    todo: 'Wait: Davit retries automatically. If it persists, check the server or webhook that the message names.',
  },
  StorageCannotShrink: {
    meaning: 'db_storage_gi is smaller than the volume.',
    todo: "Set it to at least the volume's size.",
  },
} as const satisfies Record<string, ReasonMeaning>;
export type Reason = keyof typeof REASONS;

/** Whether a `todo` says more than the message of the condition does. */
export function isAdvice(todo: string): boolean {
  return todo !== 'Nothing.' && !/\bthe message\b/i.test(todo);
}

/** Reasons of what is well, in progress, or as a person wanted it. */
const CALM: ReadonlySet<string> = new Set<Reason>([
  'Serving',
  'Progressing',
  'Settled',
  'Deleting',
  'Paused',
  'ScaledToZero',
  'FixedScale',
  'Autoscaled',
  'FollowsQueue',
  'AsAsked',
  'MinimumIsOne',
  'StoreIsExternal',
  'StoreNotNeeded',
  'WaitingForImage',
  'FileUnread',
  'BuildQueued',
  'Building',
  'BuildInterrupted',
  'Migrating',
  'NoTaskFailed',
  'Answering',
  'NotObserved',
  'NotNeeded',
  'Starting',
  'Resizing',
  'AllResolved',
  'Accepted',
  'Routed',
  'AddressPending',
  'VolumeResizing',
  'BackedUp',
  'NotConfigured',
  'BackupPending',
  'Archived',
  'ArchivePending',
  'Verified',
  'VerificationPending',
  'VerificationWithoutCounts',
  'Restored',
  'Restoring',
  'OperationRunning',
  'DatabaseDriverInUse',
]);

/** Whether something has failed, also where it is tried again. A new reason is a failure until it is listed in CALM. */
export function isFailure(reason: string): boolean {
  return !CALM.has(reason);
}

/** Whether the latest revision is in trouble, also while an earlier one serves. */
export function needsAttention(
  conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[] = [],
): boolean {
  const ready = conditionOf(conditions, 'Ready');
  return ready !== undefined && ready.status !== 'True' && isFailure(ready.reason);
}
