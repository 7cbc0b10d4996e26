// Deletes a deployment, after saying what happens to its data.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { databaseText } from '../../deploy/record/database-move.ts';
import {
  API_FLAGS,
  type Command,
  type Context,
  DEPLOYMENT,
  Misuse,
  OUTPUT,
  tell,
  timeoutFlag,
  withFlags,
} from '../line/command.ts';
import { confirm, YES } from '../line/confirm.ts';
import { PROGRAM } from '../line/program.ts';
import { beginningWith } from '../text/lost.ts';
import { type HttpApi, undefinedIf } from '../transport/http-api.ts';
import { Failure, TimedOut } from '../transport/kubectl.ts';
import { needDeployment } from './build-log.ts';

const TIMEOUT_SECONDS = 300;

export const deleteCommand: Command = {
  name: 'delete',
  purpose: 'delete it, after showing what happens to its data and asking',
  words: [DEPLOYMENT],
  flags: [YES, { name: 'wait', help: 'wait until it is gone' }, timeoutFlag(TIMEOUT_SECONDS), OUTPUT, ...API_FLAGS],
  about: `The fields databaseDeletionPolicy and tracingProjectDeletionPolicy of the record decide what is kept. To delete the database too:

  kubectl patch appd NAME --type=merge -p '{"spec":{"databaseDeletionPolicy":"Delete"}}'`,
  changes: { nothing: 'Nothing was deleted.', sent: ([name = '']) => continuing(name) },
  run: deleteDeployment,
};

function continuing(name: string): string {
  return `The deletion of ${name} continues. To wait until it is gone: ${PROGRAM} delete ${name} --wait`;
}

async function deleteDeployment(context: Context): Promise<number> {
  const {
    words: [name = ''],
    flags,
    warn,
    onInterrupt,
  } = context;
  if (flags.has('timeout') && !flags.has('wait')) throw new Misuse('--timeout is for --wait.');
  const api = await context.api();
  const deployment = await needDeployment<Deployment>(api, name);
  const { status } = deployment;
  const namespace = api.namespace ?? null;
  if (status !== 'AWAITING_DELETE') {
    for (const line of consequencesOf(deployment, !flags.has('yes'))) warn(withFlags(line, context.suggested));
    await confirm(context, {
      name,
      question: `Delete ${name}${namespace === null ? '' : ` in namespace ${namespace}`}?`,
      refusal: 'Nothing was deleted.',
    });
    await remove(api, deployment);
  }
  onInterrupt(() => continuing(name));
  const gone = flags.has('wait');
  if (gone) await untilGone(context, api, deployment);
  tell(context, {
    says: gone
      ? `${name} is gone.`
      : `${name} is being deleted. To wait until it is gone: ${PROGRAM} delete ${name} --wait`,
    result: { name, namespace, gone },
  });
  return 0;
}

const undefinedIfGone = undefinedIf(404);

/** By its id: another one may have taken its name since the question was asked. */
async function remove(api: HttpApi, { id, name }: Deployment): Promise<void> {
  try {
    await api.call('DELETE', `/v2/deployments/${id}`);
  } catch (error) {
    undefinedIfGone(error);
    throw new Failure(
      `Nothing was deleted: ${name} was deleted meanwhile. To see whether another deployment has its name: ${PROGRAM} status ${name}`,
    );
  }
}

/** What happens to the data when it is deleted, as sentences. `isAsked`: a person can still do something before it is. */
export function consequencesOf(deployment: Deployment, isAsked = true): string[] {
  const { name, database_claim: claim, database_deletion_policy: policy, source_config: config } = deployment;
  const isKept = policy === 'Retain';
  const database = isKept
    ? `Its PostgreSQL volume ${claim} and its password will stay (databaseDeletionPolicy: Retain). To delete them afterwards: ${PROGRAM} database discard ${name}`
    : `Its PostgreSQL volume ${claim} will be deleted with all data (databaseDeletionPolicy: Delete).`;
  const redis = config.runtime?.redis === 'none' ? '' : ', and the contents of its Redis';
  return [
    ...(claim === null ? [] : [database]),
    ...beforeIt(deployment, isKept),
    ...backupsLeft(deployment, isAsked),
    `Its pods, addresses, revisions and the values of its secrets will be deleted${redis}.`,
    ...(deployment.tracing_project_deletion_policy === 'Delete'
      ? ['Its tracing project will be deleted (tracingProjectDeletionPolicy: Delete).']
      : []),
  ];
}

/** The backups that are known to exist. */
function backupsLeft(
  {
    name,
    source,
    source_config: config,
    source_revision_config: { image_uri: image },
    database_backup: backup,
    database_archive: archive,
  }: Deployment,
  isAsked: boolean,
): string[] {
  const first = archive?.first_recoverable_at ?? undefined;
  const left = [
    ...(backup?.name
      ? [`Its backups will stay in their store; the newest is ${backup.name}, of ${backup.last_success_at}.`]
      : []),
    ...(first === undefined ? [] : [`Its archive will stay in its store, from ${first} on (restore.archive: true).`]),
  ];
  if (left.length === 0) return [];
  const was = {
    source,
    image: image ?? undefined,
    driver: config.database?.driver ?? undefined,
    hasArchive: first !== undefined,
  };
  const keep = `To give the new deployment the other settings of ${name}, save its file now, for --file: ${PROGRAM} export ${name} > ${name}.yaml`;
  return [
    `${left.join(' ')} To begin a new deployment with them when it is gone: ${beginningWith(name, was)}`,
    ...(isAsked ? [keep] : []),
  ];
}

/** What happens to the databases that it used before. */
function beforeIt({ name, databases_kept: kept }: Deployment, isKept: boolean): string[] {
  const [first] = kept;
  if (first === undefined) return [];
  const which = `The databases that ${name} used before (${kept.map(databaseText).join(', ')}) will`;
  return [
    isKept
      ? `${which} stay too. To delete one of them: ${PROGRAM} database delete-previous ${name} --number ${first.number}`
      : `${which} be deleted too, with all data.`,
  ];
}

const EVERY_MS = 1000;

/** Throws TimedOut. */
async function untilGone({ clock, flags }: Context, api: HttpApi, { id, name }: Deployment): Promise<void> {
  const seconds = flags.number('timeout') ?? TIMEOUT_SECONDS;
  const end = clock.now() + seconds * 1000;
  for (;;) {
    const left = await api.patiently<Deployment>('GET', `/v2/deployments/${id}?secrets=names`).catch(undefinedIfGone);
    if (left === undefined) return;
    if (clock.now() >= end) throw new TimedOut(`${name} is not gone after ${seconds} s: ${left.status_message}`);
    await clock.sleep(EVERY_MS);
  }
}
