// Clones a deployment into another namespace, perhaps of another cluster. No credential crosses: the backup is fetched in a pod of the
// one namespace, goes through this program, and is loaded in a pod of the other, all with the caller's rights.

import { randomBytes } from 'node:crypto';
import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { tooOldFor } from '../deployments/archive/postgres-major.ts';
import type { Pod } from '../deployments/assess/observed.ts';
import { type CloneElsewhere, type CopiedValues, cloneElsewhere } from '../deployments/record/clone.ts';
import type { NamedObject } from '../deployments/record/named-objects.ts';
import { names } from '../deployments/record/names.ts';
import { claimOfChange, claimOfCreation, requesterOf } from '../deployments/record/requester.ts';
import { type Cloning, cloningOf } from '../deployments/record/unfinished-clone.ts';
import { valuesSecret } from '../deployments/record/values-secret.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { conditionOf } from '../schema/conditions.ts';
import type { DatabaseRestore } from '../schema/database.ts';
import { CLONING_ANNOTATION, RESTORE_CONTAINER } from '../schema/meta.ts';
import { type Context, type Elsewhere, tell } from './command.ts';
import { createJob, untilJob } from './jobs.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { namespaceState, noTenantSentence } from './namespaces.ts';
import { PROGRAM } from './program.ts';
import { afterConflicts, FIELD_MANAGER, RECORDS, readRecord, readRevisions } from './records.ts';
import { LacksRight, withRights } from './rights.ts';
import { limitedKubectl, type TimeLimit, timeLimit } from './time-limit.ts';
import { makeJudge } from './wait.ts';
import { usernameOf } from './who.ts';

const EVERY_MS = 1000;

export interface Place extends Elsewhere {
  readonly namespace: string;
}

interface Wanted extends Omit<DatabaseRestore, 'from'> {
  /** The clone's. */
  readonly name: string;
}

/** Resolves to the exit code. Run again after an interruption, or after its time, it goes on. Throws Failure and TimedOut. */
export async function cloneInto(
  unlimited: Context,
  elsewhere: Place,
  origin: AppDeployment,
  wanted: Wanted,
): Promise<number> {
  const limit = limitOf(unlimited, elsewhere, wanted.name);
  const within = <T extends Pick<Place, 'kubectl'>>(one: T): T => ({
    ...one,
    kubectl: limitedKubectl(one.kubectl, unlimited.clock, limit),
  });
  const [context, limited] = [within(unlimited), within(elsewhere)];
  const there = { ...limited, kubectl: withRights(limited.kubectl, 'the clone') };
  const { kubectl, warn } = context;
  const { name } = origin.metadata;
  const username = await usernameOf(there.kubectl);
  const begun = await begunClone(there, { origin, to: wanted.name, username });
  const suffix = (): string => randomBytes(4).toString('hex');
  const clone = cloneElsewhere(origin, await readRevisions(kubectl, origin), { ...wanted, ...there, suffix });
  if ('refused' in clone) throw new Failure(clone.refused);
  if (begun)
    warn(
      `An earlier run has left the clone ${wanted.name} in namespace ${there.namespace} unfinished. This run goes on with it.`,
    );
  const how = (scale: 'zero' | 'own'): Creating => ({ origin, scale, username });
  if (!begun) {
    await needPlace(there, recordFor(clone, how('own')));
    await needAll(there, clone.needs);
  }
  let isThere = begun !== undefined;
  unlimited.onInterrupt(() =>
    isThere
      ? `${wanted.name} in namespace ${there.namespace} is not finished. To go on, run the command again.`
      : undefined,
  );
  const onWrite = (): void => {
    isThere = true;
  };
  const create = async (scale: 'zero' | 'own'): Promise<void> => {
    if (begun) return;
    // Its copied values are the first that is written.
    await createClone(context, there, clone, { ...how(scale), onWrite });
  };
  const loaded =
    clone.restore &&
    (await withData(context, there, { origin, restore: clone.restore, create, to: wanted.name, username, limit }));
  if (!clone.restore) await create('own');
  for (const note of clone.notes) warn(note);
  tell(context, {
    says: `${wanted.name} is created in namespace ${there.namespace} as ${name} is now.${loaded ? ` Its data is that of backup ${loaded.name}, of ${loaded.takenAt}.` : ''} To follow it: ${PROGRAM} wait ${wanted.name}${there.suggested}`,
    result: {
      name: wanted.name,
      namespace: there.namespace,
      from: name,
      backup: loaded?.name ?? null,
      notes: clone.notes,
    },
  });
  return 0;
}

function limitOf(context: Context, there: Place, to: string): TimeLimit | undefined {
  const { flags, suggested, words } = context;
  const toContext = flags.text('to-context');
  const again = [
    `${PROGRAM} clone ${words[0]} --to=${to} --to-namespace=${there.namespace}`,
    ...(toContext === undefined ? [] : [`--to-context=${toContext}`]),
  ].join(' ');
  const hint = `${again}${suggested}`;
  return timeLimit(context, {
    message: (seconds) =>
      `${to} in namespace ${there.namespace} is not finished after ${seconds} s. It goes on when the command runs again: ${hint}`,
    hint,
  });
}

interface Begun {
  readonly origin: AppDeployment;
  readonly to: string;
  /** Who calls; undefined if it is not known. */
  readonly username: string | undefined;
}

/**
 * The clone that an earlier run has left unfinished. Throws Failure if another deployment has the name, or somebody else has written its
 * present values: the caller would load data into them, start them, and be named as their author.
 */
async function begunClone(there: Place, { origin, to, username }: Begun): Promise<AppDeployment | undefined> {
  const found = await there
    .kubectl(['get', RECORDS, to, '--ignore-not-found', '-o', 'json'])
    .catch((error: unknown) => {
      // The answer is the same of a namespace that is not there.
      throw error instanceof LacksRight
        ? new Failure(
            `Nothing was created: namespace ${there.namespace} is not there, is no tenant, or is none in which you may use deployments. Name another one with --to-namespace, or have an administrator give you the rights there (docs/tenants.md, "Rights").`,
          )
        : error;
    });
  if (found.trim() === '') return undefined;
  const record = JSON.parse(found) as AppDeployment;
  if (record.metadata.deletionTimestamp !== undefined)
    throw new Failure(
      `${to} is being deleted in namespace ${there.namespace}. Wait for its end, or choose another name with --to.`,
    );
  if (cloningOf(record)?.uid !== origin.metadata.uid)
    throw new Failure(
      `A deployment named ${to} already exists in namespace ${there.namespace}. Choose another name with --to.`,
    );
  needOwn(record, { username, to, there });
  return record;
}

interface Owned extends Pick<Begun, 'username' | 'to'> {
  readonly there: Place;
}

/** Throws Failure unless the caller has written the present values of the clone, which an admission policy lets nobody else claim. */
function needOwn(record: AppDeployment, { username, to, there }: Owned): void {
  if (username !== undefined && requesterOf(record) === username) return;
  throw new Failure(
    `The clone ${to} in namespace ${there.namespace} was begun or changed by somebody else, so it may not be what it was cloned from. Nothing is loaded into it, and it is not started. Look at it, delete it (${PROGRAM} delete ${to}${there.suggested}), and clone again.`,
  );
}

/** Throws Failure unless the namespace is there, is a tenant as far as one can see, and takes the record from this caller. Nothing is written. */
async function needPlace({ kubectl, namespace }: Place, record: AppDeployment): Promise<void> {
  const state = await namespaceState(kubectl, namespace);
  if (state === 'absent') throw noPlace(namespace);
  if (state === 'no tenant') throw new Failure(`Nothing was created: ${noTenantSentence(namespace)}`);
  try {
    await kubectl(['create', '--dry-run=server', FIELD_MANAGER, '-o', 'name', '-f', '-'], JSON.stringify(record));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.message.includes(`namespaces "${namespace}" not found`)) throw noPlace(namespace);
    throw new Failure(`Nothing was created: namespace ${namespace} does not take the clone. ${error.message}`);
  }
}

function noPlace(namespace: string): Failure {
  return new Failure(
    `Nothing was created: there is no namespace ${namespace}. Create it first, or name another one with --to-namespace.`,
  );
}

/** Throws Failure that names all objects which are missing. */
async function needAll({ kubectl, namespace }: Place, needs: readonly NamedObject[]): Promise<void> {
  const found = await Promise.all(
    needs.map(async ({ kind, name }) => {
      const text = await kubectl(['get', kind.toLowerCase(), name, '--ignore-not-found', '-o', 'name']);
      return text.trim() === '' ? [`${kind} ${name}`] : [];
    }),
  );
  const missing = found.flat();
  if (missing.length > 0)
    throw new Failure(
      `Nothing was created: the pods need objects that namespace ${namespace} does not have. Create them there first: ${missing.join(', ')}.`,
    );
}

interface Creating {
  readonly origin: AppDeployment;
  /** At zero its stores start, and no pod that would use them. */
  readonly scale: 'zero' | 'own';
  readonly username: string | undefined;
  /** Called before the first object is written. */
  readonly onWrite?: () => void;
}

async function createClone(
  { kubectl }: Context,
  there: Place,
  { record, values }: CloneElsewhere,
  creating: Creating,
): Promise<void> {
  // All are read before the first is written.
  const secrets = await Promise.all(values.map((one) => copyOf(kubectl, one, record)));
  creating.onWrite?.();
  // oxlint-disable-next-line no-await-in-loop -- a few, and the first failure ends it
  for (const secret of secrets) await there.kubectl(['create', FIELD_MANAGER, '-f', '-'], JSON.stringify(secret));
  await there.kubectl(['create', FIELD_MANAGER, '-f', '-'], JSON.stringify(recordFor({ record }, creating)));
}

/** The record to create, which says who creates it, and at zero that it is not finished. */
function recordFor({ record }: Pick<CloneElsewhere, 'record'>, { origin, scale, username }: Creating): AppDeployment {
  const { sourceConfig } = record.spec;
  const { minScale, maxScale } = sourceConfig.resourceSpec ?? {};
  const { uid = '', namespace = '', name } = origin.metadata;
  const cloning: Cloning = {
    uid,
    from: { namespace, name },
    ...(minScale !== undefined && { minScale }),
    ...(maxScale !== undefined && { maxScale }),
  };
  const annotations = {
    ...(username !== undefined && claimOfCreation(username)),
    ...(scale === 'zero' && { [CLONING_ANNOTATION]: JSON.stringify(cloning) }),
  };
  const resourceSpec = { ...sourceConfig.resourceSpec, ...(scale === 'zero' && { minScale: 0, maxScale: 0 }) };
  const spec = { ...record.spec, sourceConfig: { ...sourceConfig, resourceSpec } };
  return { ...record, metadata: { ...record.metadata, annotations }, spec };
}

/** Throws Failure if the Secret or a key is missing. */
async function copyOf(kubectl: Kubectl, { from, to, keys }: CopiedValues, record: AppDeployment): Promise<object> {
  const { data = {} } = JSON.parse(await kubectl(['get', 'secret', from, '-o', 'json'])) as {
    readonly data?: Readonly<Record<string, string>>;
  };
  const missing = keys.filter((key) => data[key] === undefined);
  if (missing.length > 0) throw new Failure(`Nothing was created: Secret ${from} has no key ${missing.join(', ')}.`);
  const { name, namespace } = record.metadata;
  const copied = Object.fromEntries(keys.map((key) => [key, data[key] ?? '']));
  return valuesSecret({ ...(namespace !== undefined && { namespace }), name: to }, name, copied);
}

/** A part of an ArchiveManifest. */
interface Backup {
  readonly name: string;
  readonly takenAt: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly serverVersion: number;
}

interface Data {
  readonly origin: AppDeployment;
  readonly restore: DatabaseRestore;
  readonly create: (scale: 'zero') => Promise<void>;
  readonly to: string;
  readonly username: string | undefined;
  readonly limit: TimeLimit | undefined;
}

/** Brings the data of a backup, and then lets the clone start. */
async function withData(context: Context, there: Place, data: Data): Promise<Backup> {
  const { kubectl, cluster, clock, onInterrupt, warn } = context;
  const { keepingJob, KEPT } = await import('./restore-job.ts');
  const { name } = data.origin.metadata;
  const cronJob = names(name).backup;
  const found = JSON.parse(await kubectl(['get', 'cronjobs.batch', cronJob, '-o', 'json'])) as ICronJob;
  const job = await createJob(kubectl, keepingJob({ record: data.origin, cronJob: found, which: data.restore }));
  warn(`Job ${job} fetches the backup.`);
  onInterrupt(() => {
    // kubectl outlives this program.
    removeJob(kubectl, job).catch(() => undefined);
    return undefined;
  });
  try {
    const { pod } = await runningPod(kubectl, job, {
      clock,
      warn,
      failed: (words) => `Nothing was created. ${words}`,
    });
    const from = ['exec', pod, `--container=${RESTORE_CONTAINER}`, '--', 'cat'];
    const backup = JSON.parse(await kubectl([...from, KEPT.manifest])) as Backup;
    const about = await kubectl([...from, KEPT.about]);
    await data.create('zero');
    await load(context, there, {
      to: data.to,
      backup,
      about,
      from: [...cluster, ...from, KEPT.dump],
      limit: data.limit,
    });
    await start(there, data);
    return backup;
  } finally {
    await removeJob(kubectl, job);
  }
}

async function removeJob(kubectl: Kubectl, job: string): Promise<void> {
  await kubectl(['delete', 'jobs.batch', job, '--wait=false', '--ignore-not-found']);
}

interface Starting extends Pick<Context, 'clock'> {
  readonly warn: (line: string) => void;
  readonly failed: (words: string) => string;
}

interface Started {
  readonly pod: string;
  readonly hasEnded: boolean;
}

/** The pod of the Job whose container runs, or has ended well. Throws Failure if the Job fails before. */
function runningPod(kubectl: Kubectl, job: string, starting: Starting): Promise<Started> {
  return untilJob(kubectl, job, { ...starting, until: ({ pods }) => pods.flatMap(startedIn)[0] });
}

function startedIn({ metadata, status }: Pod): Started[] {
  const { state } = status?.containerStatuses?.find(({ name }) => name === RESTORE_CONTAINER) ?? {};
  const hasEnded = state?.terminated?.exitCode === 0;
  const isThere = metadata.deletionTimestamp === undefined && (state?.running !== undefined || hasEnded);
  return isThere ? [{ pod: metadata.name, hasEnded }] : [];
}

interface Loading {
  readonly to: string;
  readonly backup: Backup;
  /** What the database will say that it began with. */
  readonly about: string;
  /** Arguments of the kubectl that prints the dump. */
  readonly from: readonly string[];
  readonly limit: TimeLimit | undefined;
}

async function load(context: Context, there: Place, { to, backup, about, from, limit }: Loading): Promise<void> {
  const { makeReceiver, RECEIVED, RECEIVING_VERSION } = await import('../deployments/children/database/receive.ts');
  const { warn, clock } = context;
  const record = await databaseOf(context, there, to);
  const [newest] = await readRevisions(there.kubectl, record);
  const manifest = newest && makeReceiver({ record, revision: newest });
  if (!manifest) throw new Failure(`${to} has no PostgreSQL of its own, so nothing can be loaded.`);
  const job = await createJob(there.kubectl, manifest);
  const failed = (words: string): string => `Nothing was loaded. ${words}\n${hintFor(to, there)}`;
  try {
    const { pod, hasEnded } = await runningPod(there.kubectl, job, { clock, warn, failed });
    const into = ['exec', '--stdin', pod, `--container=${RESTORE_CONTAINER}`, '--', 'sh', '-c'];
    // Where it has, a run before this one has loaded it.
    if (!hasEnded) {
      const version = Number(await there.kubectl([...into, `cat ${RECEIVING_VERSION}`]));
      const old = tooOldFor(version, backup.serverVersion);
      if (old)
        throw new Failure(
          `Nothing was loaded: backup ${backup.name} is of PostgreSQL ${old.needs}, and the database of ${to} has version ${old.has}, which is older. Delete ${to}, and let the platform there use PostgreSQL ${old.needs} or newer.`,
        );
      await there.kubectl([...into, `umask 077; cat > ${RECEIVED.about}`], about);
      await context.pipe({
        from,
        to: [...there.cluster, ...into, `umask 077; cat > ${RECEIVED.dump}`],
        onBytes: progress(backup.sizeBytes, warn),
        ...(limit && { limit: { ms: Math.max(0, limit.until - clock.now()), over: limit.over } }),
      });
      await there.kubectl(
        [...into, `umask 077; cat > ${RECEIVED.sum}.part && mv ${RECEIVED.sum}.part ${RECEIVED.sum}`],
        backup.sha256,
      );
    }
    await untilJob(there.kubectl, job, {
      clock,
      warn,
      failed,
      until: ({ is }) => (is === 'complete' ? true : undefined),
    });
  } catch (error) {
    await removeJob(there.kubectl, job);
    throw error;
  }
}

function hintFor(to: string, { suggested }: Place): string {
  return `${to} stays without pods until its data is there. To try again, run the command again; to give up: ${PROGRAM} delete ${to}${suggested}`;
}

const SAID_EVERY_MS = 10_000;
const MIB = 1024 * 1024;

function progress(of: number, warn: (line: string) => void): (bytes: number) => void {
  let saidAt = performance.now();
  return (bytes) => {
    if (performance.now() - saidAt < SAID_EVERY_MS) return;
    saidAt = performance.now();
    warn(`${Math.floor(bytes / MIB)} of ${Math.ceil(of / MIB)} MiB of the backup have passed.`);
  };
}

/** The clone, when its database answers. Throws Failure if that needs a person. */
async function databaseOf({ warn, clock }: Context, there: Place, to: string): Promise<AppDeployment> {
  const judge = makeJudge(clock);
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until it answers
    const record = await readRecord(there.kubectl, to);
    const conditions = record.status?.conditions;
    const ready = conditionOf(conditions, 'DatabaseReady');
    if (ready?.status === 'True') return record;
    // What a run before this one has left may have been corrected since.
    const { verdict, looksAgainForMs } = judge(record);
    if (verdict.is === 'stalled' && looksAgainForMs === 0)
      throw new Failure(`${verdict.message}\n${hintFor(to, there)}`);
    const words = ready?.message ?? '';
    if (words !== '' && words !== said) warn(words);
    said = words;
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** Gives the clone the scale of its origin. Throws Failure if somebody has changed it meanwhile. */
async function start(there: Place, { to, username }: Data): Promise<void> {
  await afterConflicts(async () => {
    const record = await readRecord(there.kubectl, to);
    // Whose username is not known has no claim to compare.
    if (username !== undefined) needOwn(record, { username, to, there });
    const { minScale = null, maxScale = null } = cloningOf(record) ?? {};
    const now = record.spec.sourceConfig.resourceSpec ?? {};
    // The clone of a stopped origin has its scale already: what changes no spec claims nothing.
    const isChange = (now.minScale ?? null) !== minScale || (now.maxScale ?? null) !== maxScale;
    const annotations = {
      ...(isChange && username !== undefined && claimOfChange(record, username)),
      [CLONING_ANNOTATION]: null,
    };
    const metadata = { resourceVersion: record.metadata.resourceVersion, annotations };
    const patch = { metadata, spec: { sourceConfig: { resourceSpec: { minScale, maxScale } } } };
    await there.kubectl(['patch', RECORDS, to, '--type=merge', FIELD_MANAGER, '-p', JSON.stringify(patch)]);
  });
}
