// Lists the revisions of a deployment, and what differs between two of them.

import { commitOf, commitWordsOf } from '../deployments/record/build-source.ts';
import { isFromFile } from '../deployments/record/file-values.ts';
import {
  changeLine,
  changesOf,
  differences,
  type FieldChange,
  fieldsFromFile,
  summaryOf,
} from '../deployments/record/revision-diff.ts';
import { imageOf } from '../deployments/record/revision-image.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { FEWEST_REVISIONS } from '../schema/revision-states.ts';
import { shortened } from '../schema/text.ts';
import { type Command, DEPLOYMENT, OUTPUT, print, printList } from './command.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { readRecord, readRevisions } from './records.ts';
import { matching } from './rollback.ts';
import { ageOf, tableOf } from './table.ts';

export const revisionsCommand: Command = {
  name: 'revisions',
  purpose: 'list its revisions, newest first, with what differs from the one before',
  words: [DEPLOYMENT],
  flags: [OUTPUT],
  about: `CHANGED is what differs from the revision before. Where others between the two may no longer be kept, it says since which one.
BY is who asked for the revision over the HTTP API or with this plugin. THE COMMIT SAYS has the author and the first line of the message of a commit, where the code host shows them. Whoever makes a commit
writes both, and nobody verifies them.`,
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
    } = context;
    const record = await readRecord(kubectl, name);
    const revisions = listedRevisions(record, await readRevisions(kubectl, record));
    const hint = `${name} has no revision yet. See: ${PROGRAM} status ${name}`;
    printList(context, revisions, (all) => revisionLines(all, Date.now()), hint);
    return 0;
  },
};

export const diffCommand: Command = {
  name: 'diff',
  purpose: 'show which fields differ between two revisions; secrets by name alone',
  words: [
    DEPLOYMENT,
    { word: 'FROM', names: 'revision', need: 'optional' },
    { word: 'TO', names: 'revision', need: 'optional' },
  ],
  flags: [OUTPUT],
  about: `A revision is named by its name or by the beginning of its id. TO is the newest one by default, and FROM the one before it.
The scale is no part of a revision. Values of variables of init containers and sidecars are not shown.`,
  async run(context) {
    const {
      kubectl,
      words: [name = '', from, to],
    } = context;
    const record = await readRecord(kubectl, name);
    const [older, newer] = pairOf(name, await readRevisions(kubectl, record), from, to);
    const changes = differences(older, newer);
    const names = { from: older.metadata.name, to: newer.metadata.name };
    print(context, { ...names, changes }, () => [
      `${names.from} -> ${names.to}`,
      ...(changes.length === 0 ? ['Nothing differs.'] : tableOf(changes.map((one) => changeCells(one, newer)))),
    ]);
    return 0;
  },
};

/** Where the value that a field has now comes from the file of the commit, its path. */
function changeCells(change: FieldChange, { spec }: AppRevision): string[] {
  const isGiven = change.kind !== 'removed' && isFromFile(spec, change.field);
  // A value of several lines would look like further fields.
  return [change.field, changeLine(change).replaceAll('\n', '\\n'), ...(isGiven ? [`from ${spec.file?.path}`] : [])];
}

/** Throws Failure. `revisions` newest first. */
export function pairOf(
  name: string,
  revisions: readonly AppRevision[],
  from: string | undefined,
  to: string | undefined,
): readonly [AppRevision, AppRevision] {
  const newer = to === undefined ? revisions[0] : matching(revisions, to);
  if (newer === undefined) throw new Failure(`${name} has no revision yet.`);
  const older = from === undefined ? revisions[1] : matching(revisions, from);
  if (older === undefined) throw new Failure(`${name} has only one revision, ${newer.metadata.name}.`);
  return [older, newer];
}

export interface ListedRevision {
  readonly name: string;
  readonly id: string;
  readonly status: string;
  readonly message: string | null;
  readonly active: boolean;
  readonly createdAt: string | null;
  /** Username of who asked for it; null where that is not known. */
  readonly requestedBy: string | null;
  readonly image: string | null;
  readonly commit: string | null;
  /** As the commit has them: not verified. */
  readonly commitAuthor: string | null;
  readonly commitMessage: string | null;
  /** What the davit.yaml of its commit gave; null if none was read. */
  readonly file: FileOfRevision | null;
  /** Id of the revision whose values it took again. */
  readonly rollbackTo: string | null;
  /** What differs from the revision `changesSince`; null for the oldest one that is kept. */
  readonly changes: readonly FieldChange[] | null;
  /** Name of the next older revision that is kept; null for the oldest one. */
  readonly changesSince: string | null;
  /** Whether revisions between the two, or before the oldest one, may no longer be kept. */
  readonly mayLackEarlier: boolean;
}

export interface FileOfRevision {
  readonly path: string;
  readonly fields: readonly { readonly field: string; readonly value: string }[];
  /** Fields of the file that only the deployment decides. */
  readonly notTaken: readonly string[];
}

function fileOfRevision(revision: AppRevision): FileOfRevision | null {
  const { file } = revision.spec;
  return file ? { path: file.path, fields: fieldsFromFile(revision), notTaken: file.notTaken ?? [] } : null;
}

/** `revisions` newest first. */
export function listedRevisions({ status }: AppDeployment, revisions: readonly AppRevision[]): ListedRevision[] {
  const compared = changesOf(revisions, FEWEST_REVISIONS);
  return revisions.map((revision, at) => {
    const { metadata, spec, status: own } = revision;
    const { since, mayLack = false, changes = null } = compared[at] ?? {};
    const { commitAuthor = null, commitMessage = null } = commitWordsOf(revision);
    // A later change leaves the field of an earlier rollback in the record.
    const isRollback = spec.rollbackTo !== undefined && spec.rollbackTo !== since?.spec.rollbackTo;
    return {
      name: metadata.name,
      id: spec.id,
      status: own?.state ?? 'CREATING',
      message: own?.message ?? null,
      active: spec.id === status?.activeRevisionId,
      createdAt: metadata.creationTimestamp ?? null,
      requestedBy: spec.requestedBy ?? null,
      image: imageOf(revision) ?? null,
      commit: commitOf(revision) ?? null,
      commitAuthor,
      commitMessage,
      file: fileOfRevision(revision),
      rollbackTo: isRollback ? (spec.rollbackTo ?? null) : null,
      changes,
      changesSince: since?.metadata.name ?? null,
      mayLackEarlier: mayLack,
    };
  });
}

function revisionLines(revisions: readonly ListedRevision[], now: number): string[] {
  const saysMore = revisions.some(({ commitAuthor, commitMessage }) => (commitAuthor ?? commitMessage) !== null);
  return tableOf([
    ['', 'REVISION', 'STATUS', 'AGE', 'BY', 'IMAGE OR COMMIT', 'CHANGED', ...(saysMore ? ['THE COMMIT SAYS'] : [])],
    ...revisions.map((one) => [
      one.active ? '*' : '',
      one.name,
      one.status,
      ageOf(one.createdAt, now),
      shortUser(one.requestedBy),
      one.commit?.slice(0, 12) ?? one.image?.replace(DIGEST, '@$1') ?? '-',
      changedIn(one),
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

function wordsOf({ commitAuthor, commitMessage }: ListedRevision): string {
  const message = commitMessage === null ? undefined : shortened(commitMessage, LONGEST_MESSAGE);
  return [commitAuthor ?? undefined, message].filter((part) => part !== undefined).join(': ') || '-';
}

function changedIn({ changes, changesSince, mayLackEarlier, rollbackTo }: ListedRevision): string {
  if (rollbackTo !== null) return `back to ${rollbackTo.slice(0, 8)}`;
  if (changes === null) return mayLackEarlier ? 'not known: the one before is no longer kept' : 'the first';
  return mayLackEarlier ? `since ${changesSince}: ${summaryOf(changes)}` : summaryOf(changes);
}
