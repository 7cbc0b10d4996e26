// Fills decide/observed.ts from the watch caches. The one live read is that of a named Secret's keys, when the
// cache says that the Secret has changed; values are dropped at once.

import type { AppDeployment } from '../api/app-deployment.ts';
import { DEPLOYMENT_LABEL, TENANT_LABEL } from '../api/meta.ts';
import type { Observed } from '../decide/observed.ts';
import { NotFound } from '../errors.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { SECRETS } from '../kube/resources.ts';
import { referencesOf } from '../record/references.ts';
import { revisionsOf } from '../record/wanted-revision.ts';
import type { Caches } from './caches.ts';

/** Remembers the keys of Secrets, by uid and resourceVersion. */
export interface SecretKeys {
  /** Keys of a Secret, or null where there is none. Reads it live only when its cached version is new. */
  keysOf(namespace: string, name: string): Promise<readonly string[] | null>;
}

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export function makeSecretKeys(client: KubeClient, caches: Caches): SecretKeys {
  const known = new Map<string, { version: string; keys: readonly string[] }>();
  async function keysOf(namespace: string, name: string): Promise<readonly string[] | null> {
    const cached = caches.secrets.get({ namespace, name });
    const key = `${namespace}/${name}`;
    if (!cached) {
      known.delete(key);
      return null;
    }
    const version = `${cached.metadata.uid}/${cached.metadata.resourceVersion}`;
    const before = known.get(key);
    if (before?.version === version) return before.keys;
    try {
      const secret = await client.get<SecretObject>(SECRETS, { namespace, name });
      const keys = Object.keys(secret.data ?? {});
      known.set(key, { version: `${secret.metadata.uid}/${secret.metadata.resourceVersion}`, keys });
      return keys;
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  }
  return { keysOf };
}

/** Everything that a decision about this record may look at. */
export async function observe(record: AppDeployment, caches: Caches, secretKeys: SecretKeys): Promise<Observed> {
  const { namespace = '', name } = record.metadata;
  const tenant = caches.namespaces.get({ name: namespace });
  const children = [...caches.children.values()].flatMap((cache) => cache.byLabel(namespace, DEPLOYMENT_LABEL, name));
  return {
    record,
    tenantId: tenant?.metadata.labels?.[TENANT_LABEL] === 'true' ? tenant.metadata.uid : undefined,
    namespaceTerminating: tenant?.metadata.deletionTimestamp !== undefined,
    revisions: revisionsOf(record, caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name)),
    children,
    pods: caches.pods.byLabel(namespace, DEPLOYMENT_LABEL, name),
    tracingProject: caches.tracingProjects.get({ namespace, name }),
    secretKeys: await namedSecretKeys(record, namespace, secretKeys),
  };
}

async function namedSecretKeys(
  record: AppDeployment,
  namespace: string,
  secretKeys: SecretKeys,
): Promise<Observed['secretKeys']> {
  const named = new Set(referencesOf(record.spec).map((reference) => reference.secretName));
  const entries = await Promise.all(
    [...named].map(async (name) => [name, await secretKeys.keysOf(namespace, name)] as const),
  );
  return Object.fromEntries(entries);
}
