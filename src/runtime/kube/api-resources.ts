// The resources of Kubernetes that Davit reads or writes. Davit's kinds are in src/kinds and are passed in.

import { Terminal } from '../errors.ts';
import type { Resource } from './client.ts';

/** All resources below. */
const builtIn: Resource[] = [];

function clusterWide(group: string, version: string, kind: string, plural = pluralOf(kind)): Resource {
  return registered({ group, version, kind, plural, namespaced: false });
}

function namespaced(group: string, version: string, kind: string, plural = pluralOf(kind)): Resource {
  return registered({ group, version, kind, plural, namespaced: true });
}

function registered(resource: Resource): Resource {
  builtIn.push(resource);
  return resource;
}

/** As Kubernetes guesses it from a kind: `policies`, `classes`, `pods`. */
function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (word.endsWith('s')) return `${word}es`;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

export const NAMESPACES = clusterWide('', 'v1', 'Namespace');
export const NODES = clusterWide('', 'v1', 'Node');
export const PODS = namespaced('', 'v1', 'Pod');
export const POD_METRICS = namespaced('metrics.k8s.io', 'v1', 'PodMetrics', 'pods');
/** What metrics servers for Kubernetes before 1.37 serve. */
export const POD_METRICS_V1BETA1 = namespaced('metrics.k8s.io', 'v1beta1', 'PodMetrics', 'pods');
export const SECRETS = namespaced('', 'v1', 'Secret');
// Applied by its kind alone, for the namespace of builds.
namespaced('', 'v1', 'ResourceQuota');
export const CONFIG_MAPS = namespaced('', 'v1', 'ConfigMap');
export const SERVICES = namespaced('', 'v1', 'Service');
export const SERVICE_ACCOUNTS = namespaced('', 'v1', 'ServiceAccount');
export const PERSISTENT_VOLUME_CLAIMS = namespaced('', 'v1', 'PersistentVolumeClaim');
export const EVENTS = namespaced('events.k8s.io', 'v1', 'Event');
export const DEPLOYMENTS = namespaced('apps', 'v1', 'Deployment');
export const STATEFUL_SETS = namespaced('apps', 'v1', 'StatefulSet');
export const REPLICA_SETS = namespaced('apps', 'v1', 'ReplicaSet');
export const JOBS = namespaced('batch', 'v1', 'Job');
export const CRON_JOBS = namespaced('batch', 'v1', 'CronJob');
export const HORIZONTAL_POD_AUTOSCALERS = namespaced('autoscaling', 'v2', 'HorizontalPodAutoscaler');
export const POD_DISRUPTION_BUDGETS = namespaced('policy', 'v1', 'PodDisruptionBudget');
export const NETWORK_POLICIES = namespaced('networking.k8s.io', 'v1', 'NetworkPolicy');
export const INGRESSES = namespaced('networking.k8s.io', 'v1', 'Ingress');
export const HTTP_ROUTES = namespaced('gateway.networking.k8s.io', 'v1', 'HTTPRoute');
export const SCALED_OBJECTS = namespaced('keda.sh', 'v1alpha1', 'ScaledObject');
export const TRIGGER_AUTHENTICATIONS = namespaced('keda.sh', 'v1alpha1', 'TriggerAuthentication');
/** CloudNativePG's. */
export const POSTGRES_CLUSTERS = namespaced('postgresql.cnpg.io', 'v1', 'Cluster');
export const SCHEDULED_BACKUPS = namespaced('postgresql.cnpg.io', 'v1', 'ScheduledBackup');
export const BASE_BACKUPS = namespaced('postgresql.cnpg.io', 'v1', 'Backup');
/** Of CloudNativePG's Barman Cloud plugin. */
export const OBJECT_STORES = namespaced('barmancloud.cnpg.io', 'v1', 'ObjectStore');
export const LEASES = namespaced('coordination.k8s.io', 'v1', 'Lease');
export const ROLE_BINDINGS = namespaced('rbac.authorization.k8s.io', 'v1', 'RoleBinding');
export const CUSTOM_RESOURCE_DEFINITIONS = clusterWide('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
export const VALIDATING_ADMISSION_POLICIES = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicy',
);
export const VALIDATING_ADMISSION_POLICY_BINDINGS = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicyBinding',
);
export const SELF_SUBJECT_ACCESS_REVIEWS = clusterWide('authorization.k8s.io', 'v1', 'SelfSubjectAccessReview');
export const SUBJECT_ACCESS_REVIEWS = clusterWide('authorization.k8s.io', 'v1', 'SubjectAccessReview');
export const SELF_SUBJECT_REVIEWS = clusterWide('authentication.k8s.io', 'v1', 'SelfSubjectReview');
export const TOKEN_REVIEWS = clusterWide('authentication.k8s.io', 'v1', 'TokenReview');

export const BUILT_IN_RESOURCES: readonly Resource[] = builtIn;

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
