// Fills deploy/assess/observed.ts from the watch caches. The only live read is that of a referenced Secret that has changed
// (secret-fingerprints.ts).

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { DEPLOYMENT_LABEL, HOSTS_ANNOTATION, TENANT_LABEL } from '../kinds/meta.ts';
import { isBegun, isEnded } from '../kinds/operation-phases.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Preconditions } from './assess/assessment.ts';
import {
  type ActionFailure,
  namesNow,
  type Observed,
  type ObservedSecrets,
  refTo,
  type SecretsRead,
} from './assess/observed.ts';
import { patienceOf } from './assess/patience.ts';
import { withMarks } from './assess/pod-marks.ts';
import type { SecretVersion } from './children/secret-digest.ts';
import { archivesIn, backupSourceIn, backupStoreIn, baseBackupsIn } from './cluster/archives.ts';
import { type Caches, childrenNamed, DEPLOYMENT_NAMED, ownRevisions } from './cluster/caches.ts';
import { failureOf } from './cluster/failures.ts';
import { atScaleInForce, revisionInForce } from './in-force.ts';
import type { ReconcilerOptions } from './pass.ts';
import type { PodEvents } from './pod-events.ts';
import { backupDefault } from './record/backup-default.ts';
import { canBuild } from './record/build-source.ts';
import { deletionDefault } from './record/database-deletion.ts';
import { restoreOf } from './record/database-move.ts';
import { runsHere } from './record/listener-assignment.ts';
import { isOwnedBy } from './record/metadata.ts';
import { holdsValuesOf } from './record/names.ts';
import { readAtStart } from './record/secret-references.ts';
import type { SecretFingerprints, SeenSecret } from './secret-fingerprints.ts';
import type { ServerVersions } from './server-versions.ts';

type ObservedFrom = Pick<ReconcilerOptions, 'home' | 'settings'>;

/** All inputs of decisions about this record, including Secrets that cannot be read. */
export async function observeWithSecrets(
  record: AppDeployment,
  clusters: ObservedFrom,
  contents: SecretFingerprints,
  signal?: AbortSignal,
): Promise<Observed> {
  return {
    ...observeCaches(record, clusters),
    canBuild: canBuild(clusters.settings),
    ...(await observeSecrets(record, contents, signal)),
  };
}

/** The state in the caches, which is everything except the values of referenced Secrets. `followed`: with the operation of this one. */
export function observeCaches(
  record: AppDeployment,
  { home, settings }: ObservedFrom,
  followed?: Pick<Observed, 'operation'>,
): Omit<Observed, keyof ObservedSecrets | 'canBuild'> {
  const { caches } = home;
  const { namespace = '', name } = record.metadata;
  const tenant = caches.namespaces.get({ name: namespace });
  const revisions = ownRevisions(record, caches);
  const children = childrenNamed(home.caches, namespace, name);
  const { operation } = followed ?? { operation: operationOn(record, caches) };
  return {
    record,
    operation,
    deletionDefault: deletionDefault(record, settings.database.deletionPolicy),
    names: namesNow(record, revisions, children),
    tenantId: tenant?.metadata.labels?.[TENANT_LABEL] === 'true' ? tenant.metadata.uid : undefined,
    clusterId: caches.namespaces.get({ name: 'kube-system' })?.metadata.uid,
    backupSource: backupSourceIn(record, restoreOf(record, revisions), home),
    tenantHosts: tenant?.metadata.annotations?.[HOSTS_ANNOTATION],
    backupDefault: backupDefault(settings),
    backupStore: backupStoreIn(namespace, home, settings),
    addressKindMissing: home.caches.addresses?.isInstalled() === false,
    keda: home.caches.keda.length > 0 && home.caches.keda.every((cache) => cache.isInstalled()),
    cloudNativePg: home.caches.postgresClusters?.isInstalled() === true,
    archives: archivesIn(record, home, settings),
    baseBackups: baseBackupsIn({ record, children }, home),
    cloudNativePgOff: home.caches.postgresClusters === undefined,
    namespaceTerminating: tenant?.metadata.deletionTimestamp !== undefined,
    revisions: revisions.map((revision) => revisionInForce({ record, operation }, revision, revisions, settings)),
    children,
    pods: home.caches.pods.byLabel(namespace, DEPLOYMENT_LABEL, name),
    tracingProject: caches.tracingProjects.get({ namespace, name }),
    listeners: runsHere(record) ? [] : caches.listeners.list(namespace),
    integrations: caches.integrations.list(),
    templates: caches.templates.list(),
  };
}

export interface ReportInputs {
  /** The record and its children as the pass found them. */
  readonly before: Observed;
  readonly preconditions: Preconditions;
  readonly podEvents: PodEvents;
  readonly versions: ServerVersions;
  readonly log: Logger;
}

/**
 * The record and its children after a pass. What the record names, and the operation, are as the pass found them: a change wakes the record
 * again. In a phase that has begun meanwhile, pods that the pass has stopped would count as those of a scale of zero.
 * Events are listed live, and only for the report on pods, and so are the versions of datastores; no decision depends on them.
 */
export async function observeForReport(
  record: AppDeployment,
  { before, preconditions, podEvents, versions, log }: ReportInputs,
  options: Pick<ReconcilerOptions, 'home' | 'settings' | 'now'>,
): Promise<Observed> {
  const { home, settings, now } = options;
  const after = atScaleInForce({ ...before, ...observeCaches(record, options, before) }, preconditions);
  const [pods, said] = await Promise.all([
    podEvents.addTo(withMarks(after.pods, now()), home.client, log),
    versions.of(after, home.client, log),
  ]);
  return { ...after, pods, versions: said, patience: patienceOf(record, settings, now()) };
}

async function observeSecrets(
  record: AppDeployment,
  contents: SecretFingerprints,
  signal: AbortSignal | undefined,
): Promise<ObservedSecrets> {
  const { secrets, tooLarge, failures } = await readSecrets(record, contents, signal);
  // Values that are not known say nothing, and nothing is rolled by them.
  const digested = failures.length > 0 ? INCOMPLETE : await secretsRead(record, secrets, contents);
  const unread = [...failures, ...(digested.failure ? [digested.failure] : [])];
  return {
    secretKeys: Object.fromEntries([...secrets].map(([name, seen]) => [name, seen ? [...seen.values.keys()] : null])),
    unfixedSecrets: [...secrets].flatMap(([secretName, seen]) =>
      seen && !seen.isFixed && holdsValuesOf(record.metadata.name, secretName) ? [secretName] : [],
    ),
    ...(tooLarge.length > 0 && { tooLargeSecrets: tooLarge }),
    secretsRead: digested.read,
    ...(unread.length > 0 && { unread }),
  };
}

type SeenSecrets = ReadonlyMap<string, SeenSecret | undefined>;

interface Read {
  readonly name: string;
  readonly secret?: SeenSecret | undefined;
  readonly failure?: ActionFailure;
}

interface Reads {
  readonly secrets: SeenSecrets;
  /** Names of Secrets that a container gets as a whole although they have too many keys. */
  readonly tooLarge: readonly string[];
  readonly failures: readonly ActionFailure[];
}

/** Every Secret whose values stand in the environment of the record's pods, by name, and those that could not be read. */
async function readSecrets(
  { metadata, spec }: AppDeployment,
  contents: SecretFingerprints,
  signal: AbortSignal | undefined,
): Promise<Reads> {
  const { namespace = '' } = metadata;
  const wanted = Map.groupBy(readAtStart(spec, spec.sourceConfig.resourceSpec), ({ secretName }) => secretName);
  const reads: Read[] = [];
  const tooLarge: string[] = [];
  for (const [name, uses] of wanted) {
    const keys = new Set(uses.flatMap(({ secretKey }) => secretKey ?? []));
    const isWhole = uses.some(({ secretKey }) => secretKey === undefined);
    try {
      const secret = await contents.read(namespace, name, { keys, isWhole }, signal);
      reads.push({ name, secret });
      // Another record may have asked for all of it.
      if (isWhole && secret?.isTooLarge) tooLarge.push(name);
    } catch (error) {
      reads.push({ name, failure: failureOf(error, { kind: 'Secret', name }, 'read') });
    }
  }
  return {
    secrets: new Map(reads.map(({ name, secret }) => [name, secret])),
    tooLarge,
    failures: reads.flatMap(({ failure }) => failure ?? []),
  };
}

interface Digested {
  readonly read: SecretsRead;
  readonly failure?: ActionFailure;
}

const INCOMPLETE: Digested = { read: { is: 'incomplete' } };

async function secretsRead(
  record: AppDeployment,
  secrets: SeenSecrets,
  contents: SecretFingerprints,
): Promise<Digested> {
  const { spec } = record;
  const reads = readAtStart(spec, spec.sourceConfig.resourceSpec);
  if (reads.length === 0) return { read: { is: 'nothing' } };
  const versions: SecretVersion[] = [];
  let changedAt: number | undefined;
  for (const { secretName, secretKey, optional } of reads) {
    const seen: SeenSecret['values'] = secrets.get(secretName)?.values ?? new Map();
    const keys = secretKey === undefined ? [...seen.keys()] : [secretKey];
    if (secretKey === undefined && secrets.get(secretName)?.isTooLarge) return INCOMPLETE;
    if (!optional && (!secrets.get(secretName) || keys.some((key) => !seen.has(key)))) return INCOMPLETE;
    // An existing empty Secret differs from a missing one.
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
    return { read: { is: 'complete', digest, ...(quietForMs !== undefined && { quietForMs }) } };
  } catch (error) {
    return { ...INCOMPLETE, failure: failureOf(error, refTo(record), 'read', 'the digest key') };
  }
}

/** The operation that works on the database or Redis of a record now, and does more than a backup. */
function operationOn({ metadata }: AppDeployment, { operations }: Caches): DatastoreOperation | undefined {
  const all = operations.byIndex(metadata.namespace ?? '', DEPLOYMENT_NAMED, metadata.name);
  return all.find((one) => isBegun(one) && !isEnded(one) && isOwnedBy(one, metadata.uid));
}
