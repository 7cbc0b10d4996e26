// Fills decide/observed.ts from the watch caches. The one live read is that of a named Secret, when the cache says that it
// has changed (secret-fingerprints.ts).

import type { AppDeployment } from '../../api/app-deployment.ts';
import { DEPLOYMENT_LABEL, HOSTS_ANNOTATION, TENANT_LABEL } from '../../api/meta.ts';
import { type ActionFailure, type Observed, refTo, type SecretsRead } from '../../decide/observed.ts';
import { runsHere } from '../../record/listener-assignment.ts';
import { holdsValuesOf } from '../../record/names.ts';
import { revisionsOf } from '../../record/revisions.ts';
import { readAtStart, referencesOf } from '../../record/secret-references.ts';
import type { SecretVersion } from '../../resources/secret-digest.ts';
import { type Caches, childrenNamed } from '../shared/caches.ts';
import { failureOf } from '../shared/failures.ts';
import type { SecretFingerprints, SeenSecret } from './secret-fingerprints.ts';

type NamedSecrets = Pick<Observed, 'secretKeys' | 'unfixedSecrets' | 'secretsRead' | 'unread'>;

/** Everything that a decision about this record may look at. A Secret that cannot be read is part of it. */
export async function observe(
  record: AppDeployment,
  caches: Caches,
  contents: SecretFingerprints,
  signal?: AbortSignal,
): Promise<Observed> {
  return { ...look(record, caches), ...(await namedSecrets(record, contents, signal)) };
}

/** What the caches show, which is all but the Secrets that the record names. */
export function look(record: AppDeployment, caches: Caches): Omit<Observed, keyof NamedSecrets> {
  const { namespace = '', name } = record.metadata;
  const tenant = caches.namespaces.get({ name: namespace });
  return {
    record,
    tenantId: tenant?.metadata.labels?.[TENANT_LABEL] === 'true' ? tenant.metadata.uid : undefined,
    tenantHosts: tenant?.metadata.annotations?.[HOSTS_ANNOTATION],
    addressKindMissing: caches.addresses?.isInstalled() === false,
    namespaceTerminating: tenant?.metadata.deletionTimestamp !== undefined,
    revisions: revisionsOf(record, caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name)),
    children: childrenNamed(caches, namespace, name),
    pods: caches.pods.byLabel(namespace, DEPLOYMENT_LABEL, name),
    tracingProject: caches.tracingProjects.get({ namespace, name }),
    listeners: runsHere(record) ? [] : caches.listeners.list(namespace),
    integrations: record.spec.source === 'codehost' ? caches.integrations.list() : [],
    templates: record.spec.source === 'internal_template' ? caches.templates.list() : [],
  };
}

async function namedSecrets(
  record: AppDeployment,
  contents: SecretFingerprints,
  signal: AbortSignal | undefined,
): Promise<NamedSecrets> {
  const unread: ActionFailure[] = [];
  const secrets = await readSecrets(record, contents, unread, signal);
  const read = await secretsRead(record, secrets, contents, unread);
  return {
    secretKeys: Object.fromEntries(
      referencesOf(record.spec).map(({ secretName }) => {
        const seen = secrets.get(secretName);
        return [secretName, seen ? [...seen.values.keys()] : null];
      }),
    ),
    unfixedSecrets: [...secrets].flatMap(([secretName, seen]) =>
      seen && !seen.isFixed && holdsValuesOf(record.metadata.name, secretName) ? [secretName] : [],
    ),
    secretsRead: read,
    ...(unread.length > 0 && { unread }),
  };
}

type SeenSecrets = ReadonlyMap<string, SeenSecret | undefined>;

/** Every Secret whose values stand in the environment of the record's pods, by name. */
async function readSecrets(
  { metadata, spec }: AppDeployment,
  contents: SecretFingerprints,
  unread: ActionFailure[],
  signal: AbortSignal | undefined,
): Promise<SeenSecrets> {
  const named = new Set(readAtStart(spec, spec.sourceConfig.resourceSpec).map(({ secretName }) => secretName));
  const { namespace = '' } = metadata;
  return new Map(
    await Promise.all(
      [...named].map(async (name) => {
        try {
          return [name, await contents.read(namespace, name, signal)] as const;
        } catch (error) {
          unread.push(failureOf(error, { kind: 'Secret', name }, 'read'));
          return [name, undefined] as const;
        }
      }),
    ),
  );
}

async function secretsRead(
  record: AppDeployment,
  secrets: SeenSecrets,
  contents: SecretFingerprints,
  unread: ActionFailure[],
): Promise<SecretsRead> {
  const { spec } = record;
  const reads = readAtStart(spec, spec.sourceConfig.resourceSpec);
  if (reads.length === 0) return { is: 'nothing' };
  // Of values that are not known nothing can be told, and nothing is rolled by them.
  if (unread.length > 0) return { is: 'incomplete' };
  const versions: SecretVersion[] = [];
  let changedAt: number | undefined;
  for (const { secretName, secretKey, optional } of reads) {
    const seen: SeenSecret['values'] = secrets.get(secretName)?.values ?? new Map();
    const keys = secretKey === undefined ? [...seen.keys()] : [secretKey];
    if (!optional && (!secrets.get(secretName) || keys.some((key) => !seen.has(key)))) return { is: 'incomplete' };
    // A whole Secret may be empty, and that is something else than none.
    if (secretKey === undefined)
      versions.push({ secretName, secretKey: '', fingerprint: String(secrets.get(secretName) !== undefined) });
    for (const key of keys) {
      const value = seen.get(key);
      versions.push({ secretName, secretKey: key, fingerprint: value?.fingerprint });
      if (value?.changedAt !== undefined) changedAt = Math.max(changedAt ?? 0, value.changedAt);
    }
  }
  const quietForMs = changedAt === undefined ? undefined : contents.elapsed() - changedAt;
  try {
    const digest = await contents.digestOf(versions);
    return { is: 'complete', digest, ...(quietForMs !== undefined && { quietForMs }) };
  } catch (error) {
    unread.push(failureOf(error, refTo(record), 'read', "the key of Secrets' digests"));
    return { is: 'incomplete' };
  }
}
