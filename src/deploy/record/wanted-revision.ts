// Which revision a record wants: the newest existing one, or a new snapshot. Only the controller creates AppRevisions; the
// facade only computes the id of the next one.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec, Requested } from '../../kinds/app-revision.ts';
import type { Settings } from '../../kinds/settings.ts';
import { present } from '../../runtime/json-value.ts';
import { type Commit, commitOf } from './build-source.ts';
import { type CodeFile, type FileNeed, fileBreaches, fileIn, revisionFileOf } from './code-file.ts';
import type { MoveRequest } from './database-move.ts';
import { ownRequested, withFile } from './file-values.ts';
import { branchCommitOf, type KeptBuild, keptBuild } from './kept-build.ts';
import { idOf, originGenerationOf, uidOf } from './metadata.ts';
import { awaitsSource, requestedOf, sameRevision } from './requested.ts';
import { revisionRequesterOf } from './requester.ts';
import { POD_CONTRACT } from './resolve.ts';
import { type DataThere, resolvedFor } from './resolved-values.ts';
import {
  copyRevisionId,
  generationRevisionId,
  operationRevisionId,
  pushRevisionId,
  serialRevisionId,
} from './revision-id.ts';
import { asksToRebuild } from './revision-request.ts';
import { revisionsOf } from './revisions.ts';
import { NO_ROLLBACK, rollbackOf } from './rollback.ts';

export type WantedRevision =
  /** `ignoredRollback`: why a requested rollback is not possible, and what happens instead. */
  | { readonly create: AppRevisionSpec; readonly ignoredRollback?: string }
  | { readonly current: AppRevision }
  | { readonly none: 'WaitingForImage' }
  /** A revision that needs a file of the repository. */
  | { readonly needs: FileNeed };

/** What a revision depends on besides the record. */
export interface FoundElsewhere {
  /** The request of the running operation. */
  readonly move?: MoveRequest | undefined;
  /** The commit that the record's branch has now, if the record asks for pushes. */
  readonly pushed?: Commit | undefined;
  /** The file that an earlier answer needed. */
  readonly file?: CodeFile | undefined;
}

/**
 * Id of the revision that the record wants, and whether it is already `made`. Undefined if no image or source has been pushed
 * and there is no revision. `revisions` may be in any order. A record that lost its image keeps its revision.
 */
export function wantedRevisionId(
  record: AppDeployment,
  revisions: readonly AppRevision[],
): { readonly id: string; readonly made: boolean } | undefined {
  const own = revisionsOf(record, revisions);
  const newest = own[0];
  const { revisionSerial: serial } = record.spec;
  if (awaitsSource(record.spec)) return newest && { id: newest.spec.id, made: true };
  if (serial !== undefined && !own.some((revision) => revision.spec.revisionSerial === serial)) {
    return { id: serialRevisionId(idOf(record), serial), made: false };
  }
  if (newest !== undefined && sameRevision(requestedOf(record.spec), ownRequested(newest.spec))) {
    return { id: newest.spec.id, made: true };
  }
  const id = generationRevisionId(idOf(record), originGenerationOf(record));
  const { generation = 0 } = record.metadata;
  // A restored hub counts its generations again. The cluster's own generation of the copy only grows.
  const isTaken = generation > (newest?.spec.deploymentGeneration ?? 0) && own.some(({ spec }) => spec.id === id);
  return { id: isTaken ? copyRevisionId(idOf(record), originGenerationOf(record), generation) : id, made: false };
}

/**
 * The revision that the record wants: the newest one, or the spec of one to create, or none before an image or source has been
 * pushed. `revisions` may be in any order and contain those of other records. Throws if the record has no uid (it was not
 * read from an API server). `data`: known facts about the PostgreSQL volume that the record has or may adopt. `contract`: the
 * pod contract version of a new revision.
 */
export function wantedRevision(
  record: AppDeployment,
  revisions: readonly AppRevision[],
  settings: Settings,
  data: DataThere = {},
  contract = POD_CONTRACT,
  { pushed, file, move }: FoundElsewhere = {},
): WantedRevision {
  const wanted = wantedRevisionId(record, revisions);
  if (wanted === undefined) return { none: 'WaitingForImage' };
  const own = revisionsOf(record, revisions);
  const newest = own[0];
  // A push waits for the operation.
  const push = move ? undefined : pushAfter(record, own, pushed);
  if (wanted.made && newest !== undefined && push === undefined && move === undefined) return { current: newest };

  const requested = requestedOf(record.spec);
  const { revisionSerial, rollbackTo } = record.spec;
  const generation = record.metadata.generation ?? 0;
  const isPush = wanted.made && push !== undefined;
  const rollback = isPush ? NO_ROLLBACK : rollbackOf(record, own, contract);
  const deploys = isPush
    ? { commit: push }
    : keptBuild(requested, own, rollback, { rebuilds: asksToRebuild(record.spec, own), move });
  const old = rollback.is === 'taken' ? rollback.of : undefined;
  // A push or an operation requests it, not a change of the record.
  const serial = wanted.made ? nextSerial(own, generation) : undefined;
  const id = serial === undefined ? wanted.id : furtherId(record, serial, move);
  const used = old ? storedFile(old) : fileFor(record, own, { id, requested, deploys, file, settings });
  if (used !== undefined && 'needs' in used) return { needs: used.needs };
  const { requested: whole, fields } = withFile(requested, used?.values ?? {});
  const { image: named, ...values } = resolvedFor(record, own, { whole, old, settings, data, contract, move });
  const commit = deploys.commit ?? used?.commit;
  // A file that is not valid deploys nothing.
  const runs = used?.failure ? undefined : (named ?? deploys.image);
  const requestedBy = serial === undefined ? revisionRequesterOf(record, own) : move?.requestedBy;
  // Even before it is built: the branch may have a newer commit than the one that a rollback names.
  const isEarlier = !isPush && (runs !== undefined || deploys.commit !== undefined);
  const branchCommit = isEarlier && commit !== undefined ? branchCommitOf(own) : undefined;
  return {
    create: {
      id,
      deploymentName: record.metadata.name,
      deploymentUid: uidOf(record),
      deploymentGeneration: generation,
      ...present({ revisionSerial, rollbackTo, pushSerial: serial }),
      ...commit,
      ...present({ branchCommit, requestedBy }),
      source: record.spec.source,
      ...(used && { file: revisionFileOf(used, fields) }),
      requested: whole,
      resolved: {
        ...values,
        ...(runs !== undefined && { image: runs }),
        ...(deploys.migrated === true && { migrated: true }),
      },
    },
    ...(rollback.is === 'ignored' && { ignoredRollback: rollback.why }),
  };
}

interface FileWanted extends Pick<FoundElsewhere, 'file'> {
  readonly id: string;
  /** What the record requests. */
  readonly requested: Requested;
  readonly deploys: KeptBuild;
  readonly settings: Settings;
}

/** The file of a new revision, if the record names one: from an earlier revision of the same commit, or as it was read. */
function fileFor(
  { spec }: AppDeployment,
  own: readonly AppRevision[],
  { id, requested, deploys: { commit }, file, settings }: FileWanted,
): CodeFile | { readonly needs: FileNeed } | undefined {
  const path = spec.sourceRevisionConfig.davitFile;
  if (path === undefined) return undefined;
  const earlier = own.find((one) => commit && commitOf(one) === commit.commit && one.spec.file?.path === path);
  const known = fileIn(earlier?.spec.file);
  // If it no longer fits the record, it is read again: only its text shows in which line.
  if (known && fileBreaches(spec, requested, known, settings).length === 0) return known;
  const isOfCommit = commit === undefined || file?.commit === undefined || file.commit.commit === commit.commit;
  if (file?.path === path && isOfCommit) return file;
  return { needs: { id, path, ...(commit && { commit: commit.commit }) } };
}

/** The file with which a revision was created. */
function storedFile({ spec }: AppRevision): CodeFile | undefined {
  const { file } = spec;
  return fileIn(file) ?? (file?.failure && { path: file.path, failure: file.failure });
}

/**
 * `pushed`, if no revision has had this commit. After a rollback, or another revision that took over an image, the branch has a newer
 * commit than the pods, which is not a push.
 */
function pushAfter(record: AppDeployment, own: readonly AppRevision[], pushed: Commit | undefined): Commit | undefined {
  const newest = own[0];
  if (pushed === undefined || newest === undefined || record.spec.sourceConfig.buildOnPush !== true) return undefined;
  const commit = commitOf(newest);
  // Not known yet: a build reads it when it begins, and a failed build does not read it again.
  if (commit === undefined && newest.status?.build?.phase !== 'Failed') return undefined;
  if (commit === pushed.commit || branchCommitOf(own) === pushed.commit) return undefined;
  return pushed;
}

/** Id of a revision that a push or an operation requests. */
function furtherId(record: AppDeployment, serial: number, move: MoveRequest | undefined): string {
  const { generation = 0 } = record.metadata;
  return move
    ? operationRevisionId(idOf(record), move.operation, move.to.number)
    : pushRevisionId(idOf(record), generation, serial);
}

/** Number of a further revision of this generation. `own`: the record's revisions, at least one. */
function nextSerial(own: readonly AppRevision[], generation: number): number {
  const serials = own.map(({ spec }) => (spec.deploymentGeneration === generation ? (spec.pushSerial ?? 0) : 0));
  return Math.max(...serials) + 1;
}
