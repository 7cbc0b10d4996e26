// Presents a record's revisions as the API returns them, including those that the controller has not created. Pure.

import { type AppDeployment, SourceRevisionConfig } from '../../../kinds/app-deployment.ts';
import { type AppRevision, Requested } from '../../../kinds/app-revision.ts';
import { FEWEST_REVISIONS } from '../../../kinds/revision-states.ts';
import { sentText, toSnake } from '../../../runtime/http/casing.ts';
import { createdAt } from '../../../runtime/kube/write-times.ts';
import { stalledMessage, updatedAt } from '../../record/api-view.ts';
import { commitOf, commitWordsOf } from '../../record/build-source.ts';
import { revisionName } from '../../record/names.ts';
import { revisionRequesterOf } from '../../record/requester.ts';
import { changesOf, differences, type FieldChange, fieldsFromFile } from '../../record/revision-diff.ts';
import { serialRevisionId } from '../../record/revision-id.ts';
import { imageOf } from '../../record/revision-image.ts';
import { revisionsOf } from '../../record/revisions.ts';
import { wentBackTo } from '../../record/rollback-target.ts';
import { wantedRevisionId } from '../../record/wanted-revision.ts';
import type { Revision, RevisionDiff } from './payloads.ts';

/** kubectl users may skip serials. The API never returned revisions of skipped serials. */
const FURTHEST_BACK = 100;

/** The fields without a value while the controller has not created the revision. */
const NOTHING_MADE = {
  interrupted_by: null,
  commit_author: null,
  commit_message: null,
  image: null,
  rollback_to: null,
  changes: null,
  from_file: null,
} as const;

/** Newest first. `revisions` may have any order and contain those of other records. */
export function presentRevisions(record: AppDeployment, revisions: readonly AppRevision[]): Revision[] {
  const own = revisionsOf(record, revisions);
  const wanted = wantedRevisionId(record, revisions);
  const waiting = wanted !== undefined && !wanted.made ? [notYetMade(record, own, wanted.id)] : [];
  const made = own.map((revision, at) => ({
    serial: revision.spec.revisionSerial ?? 0,
    shown: presentRevision(record, revision, own[at + 1]),
  }));
  const skipped = serialsNeverMade(record, own).map((serial) => ({ serial, shown: neverMade(record, own, serial) }));
  // Revisions of one serial are in order, and the sort is stable.
  const older = [...made, ...skipped].toSorted((a, b) => b.serial - a.serial);
  return [...waiting, ...older.map(({ shown }) => shown)];
}

function presentRevision(record: AppDeployment, revision: AppRevision, before: AppRevision | undefined): Revision {
  const { spec, status } = revision;
  const { commitAuthor = null, commitMessage = null } = commitWordsOf(revision);
  const created = createdAt(revision);
  const changed = status?.stateChangedAt ?? created;
  // The caches may contain the record before its revision.
  const stalled = record.status?.latestRevisionId === spec.id ? stalledMessage(record) : undefined;
  return {
    id: spec.id,
    name: revision.metadata.name,
    created_at: created,
    updated_at: Date.parse(changed) > Date.parse(created) ? changed : created,
    status: status?.state ?? 'CREATING',
    status_message: stalled ?? status?.message ?? null,
    requested_by: spec.requestedBy ?? null,
    interrupted_by: status?.build?.interruptedBy ?? null,
    commit_author: commitAuthor,
    commit_message: commitMessage,
    source: spec.source,
    source_revision_config: {
      ...toSnake(SourceRevisionConfig, spec.requested.sourceRevisionConfig),
      repo_commit_sha: commitOf(revision) ?? null,
    },
    image: imageOf(revision) ?? null,
    rollback_to: wentBackTo(revision, before) ?? null,
    changes: null,
    from_file: presentFile(revision),
  };
}

function presentFile(revision: AppRevision): Revision['from_file'] {
  const { file } = revision.spec;
  if (file === undefined) return null;
  const fields = fieldsFromFile(revision).map(({ field, value }) => ({
    field: sentText(Requested, field),
    value,
  }));
  return { path: file.path, fields, not_taken: file.notTaken ?? [] };
}

/** Presents revisions with the changes that each made. `revisions`: newest first. */
export function withChanges(
  shown: readonly Revision[],
  record: AppDeployment,
  revisions: readonly AppRevision[],
): Revision[] {
  const own = revisionsOf(record, revisions);
  const compared = changesOf(own, FEWEST_REVISIONS);
  return shown.map((one) => {
    const change = compared[own.findIndex(({ spec }) => spec.id === one.id)];
    if (change === undefined) return one;
    const { since, mayLack, changes } = change;
    const fields = presentChanges(changes ?? []);
    return { ...one, changes: { since: since?.spec.id ?? null, may_lack_earlier: mayLack, fields } };
  });
}

/** What is different in `to`, under the API's names. Values of secrets are not read. */
export function presentDiff(from: AppRevision, to: AppRevision): RevisionDiff {
  return {
    from: from.spec.id,
    to: to.spec.id,
    changes: presentChanges(differences(from, to)),
  };
}

function presentChanges(changes: readonly FieldChange[]): RevisionDiff['changes'] {
  return changes.map(({ field, kind, from = null, to = null }) => ({
    field: sentText(Requested, field),
    kind,
    from,
    to,
  }));
}

/** The revision that the record requests, from the record's fields. */
function notYetMade(record: AppDeployment, own: readonly AppRevision[], id: string): Revision {
  return unmade(record, own, {
    id,
    time: updatedAt(record),
    status: 'CREATING',
    status_message: stalledMessage(record) ?? 'The controller has not created this revision yet.',
    requested_by: revisionRequesterOf(record, own) ?? null,
    config: record.spec.sourceRevisionConfig,
  });
}

/** A revision that a later write replaced before the controller created it. Its values are not stored. */
function neverMade(record: AppDeployment, own: readonly AppRevision[], serial: number): Revision {
  const newer = own.findLast((revision) => (revision.spec.revisionSerial ?? 0) > serial);
  const time = newer === undefined ? updatedAt(record) : createdAt(newer);
  return unmade(record, own, {
    id: serialRevisionId(record.metadata.uid ?? '', serial),
    time,
    status: 'SKIPPED',
    status_message: 'A newer revision replaced this one before the controller created it.',
    requested_by: null,
    config: {},
  });
}

interface Unmade extends Pick<Revision, 'id' | 'status' | 'status_message' | 'requested_by'> {
  readonly time: string;
  readonly config: SourceRevisionConfig;
}

function unmade(
  { metadata, spec: { source } }: AppDeployment,
  own: readonly AppRevision[],
  { time, config, ...rest }: Unmade,
): Revision {
  return {
    ...rest,
    // As the controller will name it.
    name: revisionName(metadata.name, rest.id, (name) => own.some((one) => one.metadata.name === name)),
    created_at: time,
    updated_at: time,
    source,
    source_revision_config: { ...toSnake(SourceRevisionConfig, config), repo_commit_sha: null },
    ...NOTHING_MADE,
  };
}

/** Earlier serials without a revision, down to the first whose revision may have been deleted. */
function serialsNeverMade({ spec }: AppDeployment, own: readonly AppRevision[]): number[] {
  const newest = spec.revisionSerial ?? 0;
  const oldestKept = own[FEWEST_REVISIONS - 1]?.spec.revisionSerial ?? 0;
  const first = Math.max(1, oldestKept + 1, newest - FURTHEST_BACK);
  const known = new Set(own.map((revision) => revision.spec.revisionSerial));
  const between = Array.from({ length: Math.max(0, newest - first) }, (_, n) => first + n);
  return between.filter((serial) => !known.has(serial));
}
