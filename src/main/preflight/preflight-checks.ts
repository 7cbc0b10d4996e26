// Checks of the cluster's prerequisites. Each resolves to undefined if they are met, otherwise to a message that says what to
// do. Each may throw the errors of a request.

import { TENANT_LABEL } from '../../kinds/meta.ts';
import { NotFound } from '../../runtime/errors.ts';
import { present } from '../../runtime/json-value.ts';
import {
  NAMESPACES,
  SELF_SUBJECT_ACCESS_REVIEWS,
  VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../runtime/kube/api-resources.ts';
import type { KubeClient, Resource } from '../../runtime/kube/client.ts';
import { servedResources } from '../../runtime/kube/discovery.ts';

/** ValidatingAdmissionPolicy v1 and selectableFields; the chart's kubeVersion says the same. */
export const OLDEST_KUBERNETES = { major: 1, minor: 34 } as const;

export async function kubernetesIsNewEnough(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const { gitVersion } = JSON.parse(await client.text('/version', { signal })) as { gitVersion: string };
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const { major: oldestMajor, minor: oldestMinor } = OLDEST_KUBERNETES;
  if (Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor)) return undefined;
  return (
    `Kubernetes ${gitVersion} is too old: Davit needs ${oldestMajor}.${oldestMinor} or newer, because it uses ` +
    'ValidatingAdmissionPolicies and selectable fields. Davit does nothing until the API server is upgraded.'
  );
}

/** All kinds are of one group and version. */
export async function kindsAreServed(
  client: KubeClient,
  wanted: readonly Pick<Resource, 'group' | 'version' | 'plural'>[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const [first] = wanted;
  if (!first) return undefined;
  const served = await servedResources(client, first, { signal });
  const missing = wanted.filter(({ plural }) => !served.has(plural)).map(({ plural, group }) => `${plural}.${group}`);
  if (missing.length === 0) return undefined;
  return (
    `not installed: ${missing.join(', ')}. Apply their CustomResourceDefinitions: ` +
    'upgrade the chart with crds.install=true, or kubectl apply --server-side -f crds/ of the same release.'
  );
}

/** A policy without its binding has no effect. */
export async function policiesAreThere(
  client: KubeClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await Promise.all(
    names.map(async (name) => {
      const both = await Promise.all([
        exists(client, VALIDATING_ADMISSION_POLICIES, name, signal),
        exists(client, VALIDATING_ADMISSION_POLICY_BINDINGS, name, signal),
      ]);
      return both.every(Boolean);
    }),
  );
  const missing = names.filter((_, i) => !found[i]);
  if (missing.length === 0) return undefined;
  return (
    `not enforced: ${missing.join(', ')}. Without them, records may refer to objects that their authors may not read. ` +
    'Upgrade the chart.'
  );
}

async function exists(client: KubeClient, resource: Resource, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(resource, { name }, { metadataOnly: true, signal });
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    throw error;
  }
}

/** Source: Kubernetes, "Pod Security Admission". */
const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce';
const MOST_NAMED = 10;

/** Whether Pod Security checks the pods of every tenant too. `tenants`: names of namespaces; all of the cluster if empty. */
export async function tenantsHavePodSecurity(
  client: KubeClient,
  tenants: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const labelSelector = `${TENANT_LABEL}=true,!${POD_SECURITY_LABEL}`;
  const { items } = await client.listAll(NAMESPACES, { labelSelector, metadataOnly: true, signal });
  const names = items.map(({ metadata: { name } }) => name);
  const without = tenants.length === 0 ? names : names.filter((name) => tenants.includes(name));
  const [first] = without;
  if (first === undefined) return undefined;
  const more = without.length > MOST_NAMED ? ` and ${without.length - MOST_NAMED} more` : '';
  return (
    `Tenants without a Pod Security level: ${without.slice(0, MOST_NAMED).join(', ')}${more}. Only Davit's own rules restrict their pods. ` +
    `To add a second check: kubectl label namespace ${first} ${POD_SECURITY_LABEL}=restricted`
  );
}

/** Rules as in RBAC, and the namespace to which they apply; without one, the whole cluster. */
export interface GrantedRules {
  readonly namespace?: string;
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

interface Right {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly verb: string;
}

/** Without lists and watches: a cache without these rights reports it with the API server's message. */
export async function rightsAreGranted(
  client: KubeClient,
  granted: readonly GrantedRules[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const missing: string[] = [];
  for (const right of granted.flatMap(rightsIn)) {
    if (!(await mayDo(client, right, signal))) missing.push(described(right));
  }
  if (missing.length === 0) return undefined;
  return (
    `not granted: ${missing.join(', ')}. Upgrade the chart, which grants them to this service account, ` +
    'restore the deleted role or binding, or take a namespace that was deleted out of settings.namespaces.'
  );
}

function rightsIn({ namespace, rules }: GrantedRules): Right[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames = [undefined], verbs }) =>
    verbs
      .filter((verb) => verb !== 'list' && verb !== 'watch')
      .flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((path) =>
            resourceNames.map((name) => {
              const [resource = '', subresource] = path.split('/');
              return {
                verb,
                group,
                resource,
                ...present({ namespace, subresource, name }),
              };
            }),
          ),
        ),
      ),
  );
}

async function mayDo(client: KubeClient, right: Right, signal: AbortSignal): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: { name: '' },
    spec: { resourceAttributes: right },
  };
  const answer: typeof review & { readonly status?: { readonly allowed?: boolean } } = await client.create(
    SELF_SUBJECT_ACCESS_REVIEWS,
    review,
    { signal },
  );
  return answer.status?.allowed === true;
}

function described({ verb, group, resource, subresource, name, namespace }: Right): string {
  const kind = [[resource, group].filter((part) => part !== '').join('.'), subresource].filter(Boolean).join('/');
  return [verb, kind, name, namespace === undefined ? undefined : `in ${namespace}`].filter(Boolean).join(' ');
}
