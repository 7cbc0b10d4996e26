// A kubectl for tests of `database`, and a Davit that does what the record asks for.

import { Failure } from '../../src/cli/kubectl.ts';
import { RECORDS } from '../../src/cli/records.ts';
import type { AppDeployment } from '../../src/schema/app-deployment.ts';
import { aRecord, type CliRan, runCli, uid } from './cli-world.ts';

export const BACKUP = '20260201T020000Z-0000000a';
export const MOVE = 'davit.dev/move-database';
export const MOVING = 'davit.dev/moving-database';

export interface Cluster {
  record: AppDeployment;
  revisions: {
    metadata: object;
    spec: { id: string; deploymentGeneration: number; resolved: Record<string, unknown> };
  }[];
  held: string[];
  /** Scales and drivers that were in force, one after the other. */
  readonly story: string[];
  /** Reasons with which Davit refuses what is asked for. */
  refuses?: string;
  restores?: 'fails';
  backup?: 'fails' | 'mute';
  backups: number;
  /** The API server does not say who the caller is. */
  nobody?: boolean;
  /** Called before each command. */
  before?: (words: string) => void;
  pods: number;
}

export const condition = (type: string, status: string, reason: string, message = `${reason}.`): object => ({
  type,
  status,
  reason,
  message,
});

export function revision(
  id: string,
  resolved: object,
  deploymentGeneration = 1,
  { sourceConfig, secrets, secretReferences }: AppDeployment['spec'] = aRecord().spec,
): Cluster['revisions'][number] {
  const { runtime } = sourceConfig;
  const requested = { secrets, ...(secretReferences && { secretReferences }), ...(runtime && { runtime }) };
  return {
    metadata: { name: `shop--${id}` },
    spec: { id, deploymentUid: uid, deploymentGeneration, requested, resolved } as never,
  };
}

export function aCluster(spec: object = {}, status: object = {}): Cluster {
  const record = aRecord(
    { sourceConfig: { database: { backup: {} }, resourceSpec: { maxScale: 3 } }, ...spec },
    {
      observedGeneration: 1,
      activeRevisionId: 'first',
      databaseVolumeUid: 'volume',
      databaseBackup: { name: 'b', lastSuccessAt: '2026-02-01T00:00:00Z', sizeBytes: 600 * 2 ** 20 },
      conditions: [condition('Ready', 'True', 'Serving'), condition('BackupReady', 'True', 'BackedUp')],
      ...status,
    },
    { generation: 1 },
  );
  return {
    record,
    revisions: [revision('first', { server: { maxScale: 3 }, postgres: { image: 'postgres:17' } }, 1, record.spec)],
    held: ['persistentvolumeclaim/shop--postgres', 'secret/shop--postgres', 'secret/shop--redis'],
    story: [],
    pods: 2,
    backups: 0,
  };
}

/** The command ends where it asks kubectl for the `at`th time. */
export function interruptBefore(cluster: Cluster, at: number): void {
  let count = 0;
  cluster.before = () => {
    count += 1;
    if (count === at) throw new Failure('interrupted');
  };
}

type Json = Record<string, unknown>;

function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const after: Json = { ...(before as Json | undefined) };
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete after[key];
    else after[key] = merged(after[key], value);
  return after;
}

/** What Davit does with the record as it is. */
function reconcile(cluster: Cluster): void {
  const { metadata, spec } = cluster.record;
  const { driver } = spec.sourceConfig.database ?? {};
  const [, to = '', number = '', backup] =
    /^\S+ to (\S+)\/(\d+)(?: with (\S+))?$/.exec(metadata.annotations?.[MOVE] ?? '') ?? [];
  const scale = spec.sourceConfig.resourceSpec?.maxScale ?? 1;
  if (scale === 0) cluster.pods = Math.max(0, cluster.pods - 1);
  const generation = metadata.generation ?? 0;
  const [newest] = cluster.revisions;
  // What was asked for holds until somebody changes the record.
  const isClaimed = metadata.annotations?.[`${MOVE}-by`]?.startsWith(`${metadata.uid} ${generation} `) === true;
  const isNew =
    to !== '' &&
    isClaimed &&
    driver === to &&
    newest?.spec.id !== `${to}${number}` &&
    // Two revisions of one generation have no order.
    generation > (newest?.spec.deploymentGeneration ?? 0);
  const common = { ...cluster.record.status, observedGeneration: metadata.generation };
  const say = (reason: string, isStalled = false, rest: object = {}): void => {
    const ready = condition('Ready', isStalled ? 'False' : 'True', reason);
    const stalled = condition('Stalled', isStalled ? 'True' : 'False', reason);
    const conditions = [ready, stalled, condition('BackupReady', 'True', 'BackedUp')];
    cluster.record = { ...cluster.record, status: { ...common, ...rest, conditions } as never };
  };
  if (isNew && cluster.refuses !== undefined) return say(cluster.refuses, true);
  if (isNew) {
    if (cluster.pods > 0 || scale !== 0) return say('DatabaseMoveWaits', true);
    const image = number === '0' ? 'postgres:17' : 'postgres:18.1';
    const own = to === 'pod' ? { image } : { image, driver: to };
    const resolved = { server: { maxScale: 0 }, postgres: own, movedDatabase: { number: Number(number) } };
    cluster.revisions.unshift(revision(`${to}${number}`, resolved, generation, spec));
    cluster.story.push(`${to}/${number}${backup === undefined ? '' : ` with ${backup}`}`);
  }
  const now = Number((cluster.revisions[0]?.spec.resolved['movedDatabase'] as Json | undefined)?.['number'] ?? 0);
  const known = { ...(now > 0 && { databaseNumber: now }), activeRevisionId: cluster.revisions[0]?.spec.id };
  if (now === 0) delete (common as Json)['databaseNumber'];
  if (now > 0 && cluster.restores === 'fails') return say('RestoreFailed', true, known);
  if (scale > 0) cluster.pods = scale;
  return say(scale === 0 ? 'ScaledToZero' : 'Serving', false, {
    ...known,
    databaseRestore: now > 0 ? { name: BACKUP, restoredAt: '2026-02-01T03:00:00Z' } : undefined,
  });
}

/** How the containers of the Job of a backup have ended. */
function endOf({ backup, backups }: Cluster): { readonly code: number; readonly message: string } {
  const name = `${BACKUP.slice(0, -1)}${(9 + backups).toString(16)}`;
  return {
    code: backup === 'fails' ? 1 : 0,
    message:
      backup === 'mute' ? '' : JSON.stringify({ name, takenAt: '2026-02-01T02:00:00Z', sizeBytes: 600 * 2 ** 20 }),
  };
}

function answer(cluster: Cluster, words: readonly string[], caller: string): string {
  const [verb, kind = ''] = words;
  cluster.before?.(words.join(' '));
  if (verb === 'auth' && words[1] === 'whoami' && cluster.nobody === true) throw new Failure('error: unknown command');
  if (verb === 'auth')
    return words[1] === 'can-i' ? 'yes' : JSON.stringify({ status: { userInfo: { username: caller } } });
  if (verb === 'patch') {
    const patch = JSON.parse(words.at(-1) ?? '') as { metadata: Json; spec: Json };
    const before = cluster.record;
    const { resourceVersion, uid: _uid, ...metadata } = patch.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new Failure('Error from server (Conflict): changed');
    const spec = (patch.spec ? merged(before.spec, patch.spec) : before.spec) as AppDeployment['spec'];
    const isChanged = JSON.stringify(spec) !== JSON.stringify(before.spec);
    const generation = (before.metadata.generation ?? 0) + (isChanged ? 1 : 0);
    const resourceNow = String(Number(before.metadata.resourceVersion) + 1);
    const all = { ...(merged(before.metadata, metadata) as object), generation, resourceVersion: resourceNow };
    cluster.record = { ...before, metadata: all as never, spec };
    const { resourceSpec, database } = spec.sourceConfig;
    if (isChanged) cluster.story.push(`scale ${resourceSpec?.maxScale}, driver ${database?.driver}`);
    return JSON.stringify(cluster.record);
  }
  if (verb === 'create') {
    cluster.backups += 1;
    return `job.batch/${words[2]}`;
  }
  if (verb === 'delete') {
    cluster.held = cluster.held.filter((one) => !words.includes(one));
    return '';
  }
  if (kind === RECORDS) {
    const read = JSON.stringify(cluster.record);
    reconcile(cluster);
    return read;
  }
  if (kind.startsWith('apprevisions')) return JSON.stringify({ items: cluster.revisions });
  if (kind === 'cronjobs.batch') return 'cronjob.batch/shop---backup';
  if (kind === 'jobs.batch') {
    const { code } = endOf(cluster);
    const type = code === 0 ? 'Complete' : 'Failed';
    return JSON.stringify({
      metadata: { name: words[2] },
      status: { conditions: [{ ...condition(type, 'True', 'x'), lastTransitionTime: '2026-02-01T00:00:00Z' }] },
    });
  }
  if (kind === 'pods' && words.join(' ').includes('job-name')) {
    const { code, message } = endOf(cluster);
    const state = { terminated: { exitCode: code, message } };
    return JSON.stringify({
      items: [{ metadata: { name: 'p' }, status: { containerStatuses: [{ name: 'davit-upload', state }] } }],
    });
  }
  if (kind === 'pods') {
    const items = Array.from({ length: cluster.pods }, (_one, at) => ({
      metadata: { name: `shop-${at}`, labels: { 'davit.dev/component': 'server' } },
      status: { phase: 'Running' },
    }));
    return JSON.stringify({ items });
  }
  if (kind.startsWith('clusters')) throw new Failure("error: the server doesn't have a resource type");
  return cluster.held.filter((one) => kind.startsWith(one.split('/')[0] ?? '')).join('\n');
}

/** `meanwhile` is awaited before each command of kubectl. */
export function database(
  args: readonly string[],
  cluster: Cluster,
  answers?: readonly string[],
  meanwhile?: (words: string) => Promise<void>,
  caller = 'anna',
): Promise<CliRan> {
  return runCli(['database', ...args], {
    kubectl: async (words) => {
      await meanwhile?.(words.join(' '));
      return answer(cluster, words, caller);
    },
    ...(answers && { answers }),
  });
}
