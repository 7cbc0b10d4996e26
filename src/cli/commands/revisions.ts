// Lists the revisions of a deployment, and what differs between two of them.

import type { Revision, RevisionDiff, RevisionList } from '../../deploy/http/revisions/payloads.ts';
import { changeLine, summaryOf } from '../../deploy/record/revision-diff.ts';
import { shortened } from '../../kinds/text.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, print, printList } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { ageOf, tableOf } from '../text/table.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { matching, needDeployment, PAGE } from './build-log.ts';

export const revisionsCommand: Command = {
  name: 'revisions',
  purpose: 'list its revisions, newest first, with the changes from the previous one',
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `CHANGED lists the changes from the previous revision. If revisions in between may no longer be kept, it names the one that it compares with.
BY is the person who requested the revision over the HTTP API or with this plugin. THE COMMIT SAYS has the author and the first line of the message of a commit, if the code host shows them. The committer
can write anything there; neither is verified.`,
  async run(context) {
    const [name = ''] = context.words;
    const api = await context.api();
    const { id, active_revision_id: active } = await needDeployment(api, name);
    const revisions = await readCreated(api, id);
    const hint = `${name} has no revision yet. See: ${PROGRAM} status ${name}`;
    printList(context, listed(revisions, active), () => revisionLines(revisions, active), hint);
    return 0;
  },
};

export const diffCommand: Command = {
  name: 'diff',
  purpose: 'show which fields differ between two revisions; secrets by name only',
  words: [
    DEPLOYMENT,
    { word: 'FROM', names: 'revision', need: 'optional' },
    { word: 'TO', names: 'revision', need: 'optional' },
  ],
  flags: [OUTPUT, ...API_FLAGS],
  about: `Name a revision by its name or the beginning of its id. TO is the newest one by default, and FROM the one before it.
The scale is not part of a revision. Values of variables of init containers and sidecars are not shown.`,
  async run(context) {
    const [name = '', from, to] = context.words;
    const api = await context.api();
    const { id } = await needDeployment(api, name);
    const [older, newer] = pairOf(name, await readCreated(api, id), from, to);
    const path = `/v2/deployments/${id}/revisions/${newer.id}/diff?from=${older.id}`;
    const { changes } = await api.call<RevisionDiff>('GET', path);
    print(context, { from: older.name, to: newer.name, changes }, () => [
      `${older.name} -> ${newer.name}`,
      ...(changes.length === 0 ? ['Nothing differs.'] : tableOf(changes.map((one) => changeCells(one, newer)))),
    ]);
    return 0;
  },
};

/** The revisions that the controller has created, newest first, with the changes of each. */
export async function readCreated(api: HttpApi, deploymentId: string): Promise<Revision[]> {
  const all: Revision[] = [];
  for (;;) {
    const path = `/v2/deployments/${deploymentId}/revisions?changes=true&limit=${PAGE}&offset=${all.length}`;
    const { resources } = await api.call<RevisionList>('GET', path);
    all.push(...resources);
    if (resources.length < PAGE) return all.filter(({ changes }) => changes !== null);
  }
}

/** Where the value that a field has now comes from the file of the commit, its path. */
function changeCells(change: RevisionDiff['changes'][number], { from_file: file }: Revision): string[] {
  const isGiven = change.kind !== 'removed' && file?.fields.some(({ field }) => field === change.field);
  // A value of several lines would look like further fields.
  return [change.field, changeLine(change).replaceAll('\n', '\\n'), ...(isGiven ? [`from ${file?.path}`] : [])];
}

/** Throws Failure. `revisions` newest first. */
function pairOf(
  name: string,
  revisions: readonly Revision[],
  from: string | undefined,
  to: string | undefined,
): readonly [Revision, Revision] {
  const newer = to === undefined ? revisions[0] : matching(revisions, to);
  if (newer === undefined) throw new Failure(`${name} has no revision yet.`);
  const older = from === undefined ? revisions[1] : matching(revisions, from);
  if (older === undefined) throw new Failure(`${name} has only one revision, ${newer.name}.`);
  return [older, newer];
}

/** For programs. `active`: id of the active one. */
function listed(revisions: readonly Revision[], active: string | null): object[] {
  return revisions.map((one) => ({
    name: one.name,
    id: one.id,
    status: one.status,
    message: one.status_message,
    active: one.id === active,
    createdAt: one.created_at,
    requestedBy: one.requested_by,
    image: one.image,
    commit: one.source_revision_config.repo_commit_sha,
    commitAuthor: one.commit_author,
    commitMessage: one.commit_message,
    file: one.from_file && {
      path: one.from_file.path,
      fields: one.from_file.fields,
      notTaken: one.from_file.not_taken,
    },
    rollbackTo: one.rollback_to,
    changes: one.changes && one.changes.since !== null ? one.changes.fields : null,
    /** Name of the next older revision that is kept; null for the oldest one. */
    changesSince: sinceOf(one, revisions),
    mayLackEarlier: one.changes?.may_lack_earlier === true,
  }));
}

function sinceOf({ changes }: Revision, revisions: readonly Revision[]): string | null {
  return revisions.find(({ id }) => id === changes?.since)?.name ?? null;
}

function revisionLines(revisions: readonly Revision[], active: string | null): string[] {
  const now = Date.now();
  const saysMore = revisions.some((one) => (one.commit_author ?? one.commit_message) !== null);
  return tableOf([
    ['', 'REVISION', 'STATUS', 'AGE', 'BY', 'IMAGE OR COMMIT', 'CHANGED', ...(saysMore ? ['THE COMMIT SAYS'] : [])],
    ...revisions.map((one) => [
      one.id === active ? '*' : '',
      one.name,
      one.status,
      ageOf(one.created_at, now),
      shortUser(one.requested_by),
      one.source_revision_config.repo_commit_sha?.slice(0, 12) ?? one.image?.replace(DIGEST, '@$1') ?? '-',
      changedIn(one, sinceOf(one, revisions)),
      ...(saysMore ? [wordsOf(one)] : []),
    ]),
  ]);
}

/** Characters of a username in the table. */
const LONGEST_USER = 30;

/** A service account by its namespace and name. */
function shortUser(username: string | null): string {
  return username === null ? '-' : shortened(username.replace(/^system:serviceaccount:/, ''), LONGEST_USER);
}

/** The table has as much of a digest as tells one image from another. */
const DIGEST = /@sha256:([0-9a-f]{12})[0-9a-f]+$/;

/** Characters of a commit's message in the table. */
const LONGEST_MESSAGE = 50;

function wordsOf({ commit_author: author, commit_message: message }: Revision): string {
  const parts = [author, message === null ? null : shortened(message, LONGEST_MESSAGE)];
  return parts.filter((part) => part !== null).join(': ') || '-';
}

function changedIn({ changes, rollback_to: rollbackTo }: Revision, since: string | null): string {
  if (rollbackTo !== null) return `back to ${rollbackTo.slice(0, 8)}`;
  const { since: sinceId = null, fields = [], may_lack_earlier: mayLack = false } = changes ?? {};
  if (sinceId === null) return mayLack ? 'not known: the previous one is no longer kept' : 'the first';
  return mayLack ? `since ${since}: ${summaryOf(fields)}` : summaryOf(fields);
}
