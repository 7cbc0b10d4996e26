// Rights that accounts of Davit used and were granted, by the audit log of an API server.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Cluster } from '../cluster/cluster.ts';

interface Entry {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** `get apps/deployments`, `patch davit.dev/appdeployments/status`. */
export type Right = string;

/** Its requests for resources. `account`: a ServiceAccount of davit-system, or `NAMESPACE:NAME`. */
async function* entriesOf({ auditLog = '' }: Cluster, account: string): AsyncGenerator<Entry> {
  const username = `system:serviceaccount:${account.includes(':') ? '' : 'davit-system:'}${account}`;
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    const entry = JSON.parse(line) as Entry;
    if (entry.user.username === username && entry.objectRef?.resource !== undefined) yield entry;
  }
}

export async function asked(cluster: Cluster, account: string): Promise<{ used: Set<Right>; refused: Set<Right> }> {
  const used = new Set<Right>();
  const refused = new Set<Right>();
  for await (const { verb, objectRef, responseStatus } of entriesOf(cluster, account)) {
    const { apiGroup = '', resource, subresource } = objectRef ?? {};
    const right = `${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    (responseStatus?.code === 403 ? refused : used).add(right);
    // An apply of what is not there yet is asked about twice: as a patch, and as a create.
    if (verb === 'patch' && responseStatus?.code === 201) used.add(`create ${apiGroup}/${resource}`);
  }
  return { used, refused };
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The writes of an account in their order, as rights. */
export async function writesOf(cluster: Cluster, account: string): Promise<Right[]> {
  const writes: Right[] = [];
  for await (const { verb, objectRef } of entriesOf(cluster, account))
    if (WRITES.has(verb)) writes.push(`${verb} ${objectRef?.apiGroup ?? ''}/${objectRef?.resource}`);
  return writes;
}

/** In which namespaces an account asked for a resource. */
export async function namespacesOf(cluster: Cluster, account: string, resource: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { objectRef } of entriesOf(cluster, account))
    if (objectRef?.resource === resource) found.add(objectRef.namespace ?? '');
  return found;
}

interface Role {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

/** What roles grant, each named by arguments of kubectl get. */
export async function granted(cluster: Cluster, ...roles: readonly (readonly string[])[]): Promise<Set<Right>> {
  const all = await Promise.all(
    roles.map(async (role) => JSON.parse(await cluster.kubectl(['get', ...role, '-o', 'json'])) as Role),
  );
  return new Set(
    all.flatMap(({ rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        verbs.flatMap((verb) =>
          apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}`)),
        ),
      ),
    ),
  );
}

/** Granted and never asked for. To get is no more than to list, and is wanted when a cache was too late. */
export function idle(rights: ReadonlySet<Right>, used: ReadonlySet<Right>): Right[] {
  return [...rights]
    .filter((right) => !used.has(right) && !(right.startsWith('get ') && rights.has(right.replace('get ', 'list '))))
    .toSorted();
}
