// Condition types and reasons of an AppDeployment, each with its meaning and what to do. docs/operations.md is made
// from this table.

export const CONDITION_TYPES = {
  Ready: 'The latest revision is deployed and serving at this generation; scaled to zero by intention counts.',
  Available: 'Database and Redis answer and the active revision is serving: the API says READY.',
  Reconciling: 'The controller is bringing the cluster to what the record says.',
  Stalled: 'Nothing more will happen until a person changes something.',
  DatabaseReady: 'PostgreSQL, own or external, answers.',
  RedisReady: 'Redis, own or external, answers.',
  WorkloadsReady: 'Every pod of every part runs the latest revision and is ready.',
  AutoscalingReady:
    'Every autoscaler knows what it decides by, or the number of pods is fixed. Ready does not depend on it.',
  ResourceSpecHonored:
    'Every field of resource_spec is taken as it stands; if not, the message says which is not, and why. Ready does not depend on it.',
  AddressReady: 'The address is routed to the main service, or none is asked for.',
  ReferencesResolved: 'Every Secret and key that the record names is there.',
  PolicyAccepted: "The record keeps the platform's rules for sources and pods.",
} as const;
export type ConditionType = keyof typeof CONDITION_TYPES;

interface ReasonMeaning {
  readonly meaning: string;
  readonly todo: string;
}

export const REASONS = {
  Serving: { meaning: 'It runs, whole.', todo: 'Nothing.' },
  Progressing: { meaning: 'A rollout is under way.', todo: 'Wait; the message says for what.' },
  Settled: { meaning: 'Nothing is left to do.', todo: 'Nothing.' },
  Deleting: { meaning: 'The record is being deleted, part by part.', todo: 'Wait; the message names the part.' },
  Paused: {
    meaning: 'The record carries davit.dev/paused, or all of Davit is paused: nothing is made, changed or deleted.',
    todo: 'Remove the annotation, or the setting, to go on.',
  },
  ScaledToZero: { meaning: 'max_scale is 0: nothing runs, as asked.', todo: 'Raise max_scale to run it again.' },
  FixedScale: { meaning: 'The number of pods is fixed.', todo: 'Nothing.' },
  Autoscaled: { meaning: 'Autoscalers decide the number of pods.', todo: 'Nothing.' },
  MetricsMissing: {
    meaning: 'An autoscaler does not get the CPU and memory that the pods use.',
    todo: 'Wait a minute after a start; else install metrics-server, or see what kubectl describe hpa says.',
  },
  AsAsked: { meaning: 'Every field of resource_spec is taken as it stands.', todo: 'Nothing.' },
  MinimumIsOne: {
    meaning: 'A minimum of 0 pods is taken as 1.',
    todo: 'Nothing; or set the minimum to 1. To run nothing, set max_scale to 0.',
  },
  StoreIsExternal: {
    meaning: 'Sizes of a database or Redis are given, and it is an external one.',
    todo: 'Take the fields that the message names out of resource_spec.',
  },
  WaitingForImage: { meaning: 'No image or source has been given yet.', todo: 'Push an image, or set imageUri.' },
  BuilderNotConfigured: {
    meaning: 'The source has to be built, and no builder is configured.',
    todo: 'Use an image, or have a registry and a builder configured (settings.builds); the deployment goes on by itself.',
  },
  BuildQueued: {
    meaning: 'The build of the latest revision waits for its turn.',
    todo: 'Wait; what served goes on serving.',
  },
  Building: {
    meaning: 'The latest revision is being built.',
    todo: 'Wait; kubectl davit logs --build shows how far it is.',
  },
  BuildFailed: {
    meaning: 'The latest revision could not be built. What served goes on serving.',
    todo: 'Do what the message says; the reason stands in status.build of the revision ("Builds" below).',
  },
  BuildInterrupted: {
    meaning: 'Somebody has interrupted the build of the latest revision. What served goes on serving.',
    todo: 'Ask for a new revision to build again.',
  },
  ListenerSilent: {
    meaning: "A listener's cluster looks after this record and has not reported.",
    todo: 'Check the listener.',
  },
  Answering: { meaning: 'It answered.', todo: 'Nothing.' },
  NotObserved: { meaning: 'Nothing has been observed yet.', todo: 'Wait a moment.' },
  NotNeeded: { meaning: 'Not needed while nothing runs.', todo: 'Nothing.' },
  Starting: { meaning: 'It was started and has not answered yet.', todo: 'Wait; if it lasts, look at its pod.' },
  NotAnswering: {
    meaning: 'It answered before and does not now, or an external one does not answer.',
    todo: 'Look at its pod, or at the address and password you gave.',
  },
  ImagePullFailed: { meaning: 'An image cannot be pulled.', todo: 'Correct the image, or give a pull secret.' },
  ContainerCrashed: {
    meaning: 'A container ends instead of running.',
    todo: "Read the message and the pod's log; deploy a corrected revision.",
  },
  ContainerConfigInvalid: {
    meaning: 'A container cannot be created from its configuration.',
    todo: 'Correct what the message names.',
  },
  Unschedulable: { meaning: 'No node takes the pod.', todo: 'Lower the requests, or add capacity.' },
  VolumePending: { meaning: 'The volume is not bound.', todo: 'Check the storage class and its provisioner.' },
  VolumeNotMounted: {
    meaning: 'A volume of a pod cannot be mounted.',
    todo: "Read the kubelet's words in the message; make the ConfigMap, Secret or share that they name. The pod goes on by itself, the kubelet tries again within two minutes.",
  },
  ProgressDeadlineExceeded: {
    meaning: 'The rollout made no progress within its deadline.',
    todo: 'Read the message; deploy a corrected revision.',
  },
  RolloutPaused: {
    meaning: 'Somebody has paused the rollout of a Deployment (kubectl rollout pause): Davit leaves that as it is.',
    todo: 'kubectl rollout resume, as the message says.',
  },
  PodStuckTerminating: {
    meaning: 'A pod should have ended long ago and is still there: its node is gone, or a finalizer holds it.',
    todo: 'Do what the message says. Force nothing while the node may still run.',
  },
  PodsRefused: {
    meaning: 'The API server refuses to make the pods.',
    todo: 'Read its words: quota, policy or a missing service account.',
  },
  AllResolved: { meaning: 'Everything that is named is there.', todo: 'Nothing.' },
  SecretMissing: {
    meaning: 'A Secret that the record names is not there.',
    todo: 'Make it; the deployment goes on by itself.',
  },
  SecretKeyMissing: {
    meaning: 'A Secret lacks a key that the record names.',
    todo: 'Add the key; the deployment goes on by itself.',
  },
  SecretNotFixed: {
    meaning: "A Secret with the name of the record's values is not Opaque and immutable.",
    todo: 'Make it immutable if it is Opaque, as the message says; or name another Secret.',
  },
  Accepted: { meaning: 'The rules are kept.', todo: 'Nothing.' },
  SourceNotAllowed: { meaning: 'The hosting mode does not allow this source.', todo: 'Use a source that it allows.' },
  TemplateNotFound: {
    meaning: 'No template in the catalogue offers what an internal_template record asks for.',
    todo: 'Choose an image or repository of an AppTemplate, or have one added; the deployment goes on by itself.',
  },
  ListenerNotFound: {
    meaning: 'The listener that the record names is not one of its tenant, or does not list the namespace.',
    todo: 'Name a Listener of the same namespace by its uid, and a namespace that it lists.',
  },
  IntegrationNotFound: {
    meaning:
      'The code host integration that the record names is not there or does not list the namespace, or the repository is of another host.',
    todo: 'Name a CodeHostIntegration by its uid, have the namespace listed among its tenants, and take a repository of its host. What was already made of the repository stays.',
  },
  NotATenant: {
    meaning: 'The namespace is not a tenant.',
    todo: "Label the namespace davit.dev/tenant=true, or move the record to a tenant's namespace.",
  },
  OwnDatabaseForbidden: {
    meaning: 'The platform makes no databases of its own.',
    todo: 'Give POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM.',
  },
  LimitExceeded: {
    meaning: 'resource_spec asks for more than the platform allows.',
    todo: 'Lower what the message names.',
  },
  PodPolicyViolated: { meaning: 'A pod part breaks the pod policy.', todo: 'Remove what the message names.' },
  Routed: { meaning: 'The address leads to the main service.', todo: 'Nothing.' },
  AddressPending: {
    meaning: 'The address was made, and no ingress controller or Gateway has taken it up yet.',
    todo: 'If it lasts, check that the ingress class or Gateway of the settings is there. An ingress controller that reports no status never ends this; Ready does not wait for it.',
  },
  NoAddressConfigured: {
    meaning: 'The record asks for an address, and this platform makes none.',
    todo: 'Set settings.address.kind to ingress or gateway, or remove customUrl.',
  },
  HostNotAllowed: {
    meaning: 'The tenant may not claim this host.',
    todo: 'Choose a host that the message names, or have it added to the annotation davit.dev/hosts of the namespace.',
  },
  HostTaken: {
    meaning: 'Another deployment has this host.',
    todo: 'Choose another host. When it becomes free the deployment gets it by itself.',
  },
  GatewayRefused: {
    meaning: 'The Gateway does not take the route.',
    todo: "Read its words in the message: the listener's hostname, allowedRoutes or a missing Gateway.",
  },
  GatewayApiMissing: {
    meaning: 'The platform makes HTTPRoutes, and the cluster does not know that kind.',
    todo: 'Install the Gateway API; the addresses are then made by themselves.',
  },
  NameConflict: {
    meaning: "An object of a name that Davit needs is there and is not Davit's.",
    todo: 'Rename or remove that object, or rename the record.',
  },
  DatabaseKept: {
    meaning: 'The database of an earlier deployment of this name was kept and is in the way.',
    todo: 'Annotate the record as the message says to take it up, or delete it to begin anew.',
  },
  PasswordMissing: {
    meaning: 'The Secret with the password of the own PostgreSQL or Redis was deleted, or has lost its labels.',
    todo: 'Restore it from a backup, or label it as the message says; the deployment goes on by itself.',
  },
  ContractUnknown: {
    meaning: 'The latest revision was made by a newer Davit, which was rolled back since. What runs is left as it is.',
    todo: 'Upgrade the controller again; or raise spec.revisionSerial by one: the new revision restarts the pods.',
  },
  NoNodeFits: {
    meaning:
      'No node of the cluster could take the changed pod of the PostgreSQL or Redis that runs; it is kept as it is.',
    todo: 'Lower the request, or add a larger node; the deployment then resumes automatically.',
  },
  VolumeMissing: {
    meaning: 'A volume that a pod needs is not there: that of the own PostgreSQL, or one that resource_spec names.',
    todo: 'Restore it from a backup, or do as the message says to start with an empty database.',
  },
  VolumeTerminating: {
    meaning: 'The PostgreSQL volume is being deleted; it goes with its data when the pod stops.',
    todo: 'Back the data up before anything restarts the pod.',
  },
  VolumeLost: {
    meaning: 'The PostgreSQL volume has lost its PersistentVolume.',
    todo: 'Restore the PersistentVolume, or claim and volume from a backup.',
  },
  VolumeResizing: {
    meaning: 'The PostgreSQL volume is smaller than db_storage_gi and is being grown.',
    todo: 'Wait; if it lasts, see what kubectl describe pvc says.',
  },
  VolumeResizeFailed: {
    meaning: 'The PostgreSQL volume could not be grown to db_storage_gi.',
    todo: 'Set a size that the storage class can give, or mend what kubectl describe pvc says.',
  },
  ApplyRefused: { meaning: 'The API server refused a child.', todo: 'Correct what its words in the message name.' },
  RequestFailed: {
    meaning: 'A request to the API server failed: the server, or a webhook that it asks, does not answer or fails.',
    todo: 'Nothing if it passes: Davit tries again automatically. If it lasts, check what the message names.',
  },
  StorageCannotShrink: {
    meaning: 'db_storage_gi is smaller than the volume.',
    todo: "Set it to at least the volume's size.",
  },
} as const satisfies Record<string, ReasonMeaning>;
export type Reason = keyof typeof REASONS;
