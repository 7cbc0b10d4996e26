// The resources of Kubernetes that Davit reads or writes. Davit's kinds are in src/schema and are passed in.

import { Terminal } from '../errors.ts';
import type { Resource } from './client.ts';

function namespaced(group: string, version: string, kind: string, plural: string): Resource {
  return { group, version, kind, plural, namespaced: true };
}

function clusterWide(group: string, version: string, kind: string, plural: string): Resource {
  return { group, version, kind, plural, namespaced: false };
}

export const NAMESPACES = clusterWide('', 'v1', 'Namespace', 'namespaces');
export const NODES = clusterWide('', 'v1', 'Node', 'nodes');
export const PODS = namespaced('', 'v1', 'Pod', 'pods');
export const POD_METRICS = namespaced('metrics.k8s.io', 'v1', 'PodMetrics', 'pods');
/** What metrics servers for Kubernetes before 1.37 serve. */
export const POD_METRICS_V1BETA1 = namespaced('metrics.k8s.io', 'v1beta1', 'PodMetrics', 'pods');
export const SECRETS = namespaced('', 'v1', 'Secret', 'secrets');
export const RESOURCE_QUOTAS = namespaced('', 'v1', 'ResourceQuota', 'resourcequotas');
export const CONFIG_MAPS = namespaced('', 'v1', 'ConfigMap', 'configmaps');
export const SERVICES = namespaced('', 'v1', 'Service', 'services');
export const SERVICE_ACCOUNTS = namespaced('', 'v1', 'ServiceAccount', 'serviceaccounts');
export const PERSISTENT_VOLUME_CLAIMS = namespaced('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims');
export const EVENTS = namespaced('events.k8s.io', 'v1', 'Event', 'events');
export const DEPLOYMENTS = namespaced('apps', 'v1', 'Deployment', 'deployments');
export const STATEFUL_SETS = namespaced('apps', 'v1', 'StatefulSet', 'statefulsets');
export const REPLICA_SETS = namespaced('apps', 'v1', 'ReplicaSet', 'replicasets');
export const JOBS = namespaced('batch', 'v1', 'Job', 'jobs');
export const CRON_JOBS = namespaced('batch', 'v1', 'CronJob', 'cronjobs');
export const HORIZONTAL_POD_AUTOSCALERS = namespaced(
  'autoscaling',
  'v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
);
export const POD_DISRUPTION_BUDGETS = namespaced('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets');
export const NETWORK_POLICIES = namespaced('networking.k8s.io', 'v1', 'NetworkPolicy', 'networkpolicies');
export const INGRESSES = namespaced('networking.k8s.io', 'v1', 'Ingress', 'ingresses');
export const HTTP_ROUTES = namespaced('gateway.networking.k8s.io', 'v1', 'HTTPRoute', 'httproutes');
export const SCALED_OBJECTS = namespaced('keda.sh', 'v1alpha1', 'ScaledObject', 'scaledobjects');
export const TRIGGER_AUTHENTICATIONS = namespaced(
  'keda.sh',
  'v1alpha1',
  'TriggerAuthentication',
  'triggerauthentications',
);
/** CloudNativePG's. */
export const POSTGRES_CLUSTERS = namespaced('postgresql.cnpg.io', 'v1', 'Cluster', 'clusters');
export const SCHEDULED_BACKUPS = namespaced('postgresql.cnpg.io', 'v1', 'ScheduledBackup', 'scheduledbackups');
export const BASE_BACKUPS = namespaced('postgresql.cnpg.io', 'v1', 'Backup', 'backups');
/** Of CloudNativePG's Barman Cloud plugin. */
export const OBJECT_STORES = namespaced('barmancloud.cnpg.io', 'v1', 'ObjectStore', 'objectstores');
export const GATEWAYS = namespaced('gateway.networking.k8s.io', 'v1', 'Gateway', 'gateways');
export const LEASES = namespaced('coordination.k8s.io', 'v1', 'Lease', 'leases');
export const STORAGE_CLASSES = clusterWide('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses');
export const ROLES = namespaced('rbac.authorization.k8s.io', 'v1', 'Role', 'roles');
export const ROLE_BINDINGS = namespaced('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings');
export const CLUSTER_ROLES = clusterWide('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles');
export const CLUSTER_ROLE_BINDINGS = clusterWide(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
);
export const CUSTOM_RESOURCE_DEFINITIONS = clusterWide(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
);
export const VALIDATING_ADMISSION_POLICIES = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
);
export const VALIDATING_ADMISSION_POLICY_BINDINGS = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
);
export const SELF_SUBJECT_ACCESS_REVIEWS = clusterWide(
  'authorization.k8s.io',
  'v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
);
export const SUBJECT_ACCESS_REVIEWS = clusterWide(
  'authorization.k8s.io',
  'v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
);
export const SELF_SUBJECT_REVIEWS = clusterWide(
  'authentication.k8s.io',
  'v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
);
export const TOKEN_REVIEWS = clusterWide('authentication.k8s.io', 'v1', 'TokenReview', 'tokenreviews');

export const BUILT_IN_RESOURCES: readonly Resource[] = [
  NAMESPACES,
  NODES,
  PODS,
  SECRETS,
  RESOURCE_QUOTAS,
  CONFIG_MAPS,
  SERVICES,
  SERVICE_ACCOUNTS,
  PERSISTENT_VOLUME_CLAIMS,
  EVENTS,
  DEPLOYMENTS,
  STATEFUL_SETS,
  REPLICA_SETS,
  JOBS,
  CRON_JOBS,
  HORIZONTAL_POD_AUTOSCALERS,
  POD_DISRUPTION_BUDGETS,
  NETWORK_POLICIES,
  INGRESSES,
  HTTP_ROUTES,
  GATEWAYS,
  SCALED_OBJECTS,
  TRIGGER_AUTHENTICATIONS,
  POSTGRES_CLUSTERS,
  SCHEDULED_BACKUPS,
  BASE_BACKUPS,
  OBJECT_STORES,
  LEASES,
  STORAGE_CLASSES,
  ROLES,
  ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  CUSTOM_RESOURCE_DEFINITIONS,
  SELF_SUBJECT_ACCESS_REVIEWS,
  SUBJECT_ACCESS_REVIEWS,
  SELF_SUBJECT_REVIEWS,
  TOKEN_REVIEWS,
];

/** `apiVersion` of a resource's objects. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Finds the resource of an object by its apiVersion and kind. */
export interface ResourceRegistry {
  readonly resources: readonly Resource[];
  /** Throws Terminal for a kind that is not registered, because the URL does not follow from the kind. */
  resourceOf(object: { readonly apiVersion: string; readonly kind: string }): Resource;
}

/** A registry of these resources, usually BUILT_IN_RESOURCES and Davit's kinds. A later entry takes precedence. */
export function makeResourceRegistry(resources: readonly Resource[]): ResourceRegistry {
  const byType = new Map(resources.map((resource) => [`${apiVersionOf(resource)} ${resource.kind}`, resource]));
  return {
    resources,
    resourceOf({ apiVersion, kind }) {
      const resource = byType.get(`${apiVersion} ${kind}`);
      if (resource === undefined) throw new Terminal(`find the resource of ${apiVersion} ${kind}: not registered`);
      return resource;
    },
  };
}
