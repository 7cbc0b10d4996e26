// Deletes a deployment, after saying what happens to its data.

import { setTimeout as sleep } from 'node:timers/promises';
import { names } from '../deployments/record/names.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { GROUP, VERSION } from '../schema/meta.ts';
import { type Command, type Context, DEPLOYMENT, Misuse, OUTPUT, tell, timeoutFlag, withFlags } from './command.ts';
import { confirm, YES } from './confirm.ts';
import { Failure, type Kubectl, TimedOut } from './kubectl.ts';
import { beginningWith } from './lost.ts';
import { PROGRAM } from './program.ts';
import { RECORDS, readRecord } from './records.ts';

export const deleteCommand: Command = {
  name: 'delete',
  purpose: 'delete it, after saying what happens to its data and asking',
  words: [DEPLOYMENT],
  flags: [YES, { name: 'wait', help: 'wait until it is gone' }, timeoutFlag(300), OUTPUT],
  about: `The fields databaseDeletionPolicy and tracingProjectDeletionPolicy of the record decide what stays. To keep the database:

  kubectl patch appd NAME --type=merge -p '{"spec":{"databaseDeletionPolicy":"Retain"}}'`,
  changes: { nothing: 'Nothing was deleted.', by: ['delete'], sent: ([name = '']) => goingOn(name) },
  run: deleteDeployment,
};

function goingOn(name: string): string {
  return `The deletion of ${name} goes on. To wait until it is gone: ${PROGRAM} delete ${name} --wait`;
}

async function deleteDeployment(context: Context): Promise<number> {
  const {
    kubectl,
    words: [name = ''],
    flags,
    warn,
    onInterrupt,
  } = context;
  if (flags.has('timeout') && !flags.has('wait')) throw new Misuse('--timeout is for --wait.');
  const record = await readRecord(kubectl, name);
  const { uid, namespace, deletionTimestamp } = record.metadata;
  if (!deletionTimestamp) {
    for (const line of consequencesOf(record, !flags.has('yes'))) warn(withFlags(line, context.suggested));
    await confirm(context, {
      question: `Delete ${name} in namespace ${namespace}?`,
      verb: 'delete',
      refusal: 'Nothing was deleted.',
      command: ['delete', name],
    });
    await deleteRecord(kubectl, record);
  }
  onInterrupt(() => goingOn(name));
  if (flags.has('wait'))
    await untilGone(kubectl, { name, uid }, { timeoutMs: (flags.number('timeout') ?? 300) * 1000 });
  const gone = flags.has('wait');
  tell(context, {
    says: gone
      ? `${name} is gone.`
      : `${name} is being deleted. To wait until it is gone: ${PROGRAM} delete ${name} --wait`,
    result: { name, namespace, gone },
  });
  return 0;
}

/** By its uid: another one may have taken its name since the question was asked, and `kubectl delete NAME` would delete that. */
async function deleteRecord(kubectl: Kubectl, { metadata: { name, namespace, uid } }: AppDeployment): Promise<void> {
  const path = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/appdeployments/${name}`;
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
  try {
    await kubectl(['delete', '--raw', path, '-f', '-'], JSON.stringify(options));
  } catch (error) {
    if (error instanceof Failure && /\bUID in (?:the )?precondition\b/.test(error.message))
      throw new Failure(
        `Nothing was deleted: another ${name} was created meanwhile. ${PROGRAM} status ${name} shows it.`,
      );
    throw error;
  }
}

/** What happens to the data of a record when it is deleted, as sentences. `isAsked`: a person can still do something before it is. */
export function consequencesOf({ metadata: { name }, spec, status }: AppDeployment, isAsked = true): string[] {
  const { databaseDeletionPolicy: ofDatabase, tracingProjectDeletionPolicy: ofTracing } = spec;
  const { postgresClaim } = names(name, status?.databaseNumber);
  const hasRedis = spec.sourceConfig.runtime?.redis !== 'none';
  const database =
    ofDatabase === 'Retain'
      ? `Its PostgreSQL volume ${postgresClaim} and its password will stay (databaseDeletionPolicy: Retain).`
      : `Its PostgreSQL volume ${postgresClaim} will be deleted with all data (databaseDeletionPolicy: Delete).`;
  return [
    ...(status?.databaseVolumeUid === undefined ? [] : [database]),
    ...(status?.databaseNumber === undefined ? [] : [movedFrom(name, ofDatabase === 'Retain')]),
    ...backupsLeft(name, spec, status, isAsked),
    `Its pods, addresses, revisions and the values of its secrets will be deleted${hasRedis ? ', and what its Redis holds' : ''}.`,
    ...(ofTracing === 'Delete' ? ['Its tracing project will be deleted (tracingProjectDeletionPolicy: Delete).'] : []),
  ];
}

/** Those that are known to be there. */
function backupsLeft(
  name: string,
  { source, sourceConfig, sourceRevisionConfig }: AppDeployment['spec'],
  status: AppDeployment['status'],
  isAsked: boolean,
): string[] {
  const { name: newest, lastSuccessAt } = status?.databaseBackup ?? {};
  const { firstRecoverableAt } = status?.databaseArchive ?? {};
  const backups =
    newest === undefined ? [] : [`Its backups will stay in their store; the newest is ${newest}, of ${lastSuccessAt}.`];
  const archive =
    firstRecoverableAt === undefined
      ? []
      : [`Its archive will stay in its store, from ${firstRecoverableAt} on (restore.archive: true).`];
  const left = [...backups, ...archive];
  if (left.length === 0) return [];
  const was = {
    source,
    image: sourceRevisionConfig.imageUri,
    driver: sourceConfig.database?.driver,
    hasArchive: archive.length > 0,
  };
  const keep = `Keep its file for that, which has the rest of it, to name it with --file: ${PROGRAM} export ${name} > ${name}.yaml`;
  return [
    `${left.join(' ')} To begin with them when it is gone: ${beginningWith(name, was)}`,
    ...(isAsked ? [keep] : []),
  ];
}

function movedFrom(name: string, isKept: boolean): string {
  return isKept
    ? `What is left of the databases that ${name} was moved from will stay too. To delete it: ${PROGRAM} database forget-old ${name}`
    : `What is left of the databases that ${name} was moved from will be deleted too, with all data.`;
}

export interface UntilGoneOptions {
  readonly timeoutMs: number;
  readonly everyMs?: number;
}

/** Resolves when the record is gone, also if another one of its name has taken its place. Throws TimedOut after `timeoutMs`. */
export async function untilGone(
  kubectl: Kubectl,
  { name, uid }: { readonly name: string; readonly uid: string | undefined },
  { timeoutMs, everyMs = 1000 }: UntilGoneOptions,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one check after the other
    const text = await kubectl(['get', RECORDS, name, '--ignore-not-found', '-o', 'json']);
    if (text.trim() === '') return;
    const { metadata, status } = JSON.parse(text) as AppDeployment;
    if (metadata.uid !== uid) return;
    if (Date.now() >= end) {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      throw new TimedOut(
        `${name} is not gone after ${timeoutMs / 1000} s: ${ready?.message || 'its teardown goes on.'}`,
      );
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(everyMs);
  }
}
