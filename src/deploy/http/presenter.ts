// Presents a record as the API returns it. Pure.

import {
  type AppDeployment,
  type AppDeploymentSpec,
  deploymentTypeMeant,
  type SourceRevisionConfig as RevisionConfig,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
} from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import {
  DatabaseArchiveStatus,
  DatabaseBackupStatus,
  DatabaseBackupsStatus,
  DatabaseRestoreStatus,
  DatabaseVerificationStatus,
  DatastoreStatus,
} from '../../kinds/database.ts';
import { ResourceSpec } from '../../kinds/resource-spec.ts';
import { REVISION_STATES } from '../../kinds/revision-states.ts';
import type { Settings } from '../../kinds/settings.ts';
import { toSnake } from '../../runtime/http/casing.ts';
import { createdAt } from '../../runtime/kube/write-times.ts';
import {
  apiStatus,
  imageVersion,
  internalUrl,
  isLookedAt,
  shownRevisionIds,
  statusMessage,
  updatedAt,
} from '../record/api-view.ts';
import { commitOf } from '../record/build-source.ts';
import { fileIn, specWith } from '../record/code-file.ts';
import { databaseDeletion } from '../record/database-deletion.ts';
import { ownRequested, withFile } from '../record/file-values.ts';
import { uidOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';
import { requestedOf, sameRevision } from '../record/requested.ts';
import { requesterOf } from '../record/requester.ts';
import { effectiveNumbers, resolve } from '../record/resolve.ts';
import { revisionsOf } from '../record/revisions.ts';
import { scaledBy } from '../record/scaled.ts';
import { nextAct } from './next-act.ts';
import type { Deployment } from './payloads.ts';
import { ASKS_NOTHING } from './same-request.ts';
import { displayNameOf, tagsOf } from './tags.ts';

/** The objects and values that a record is presented with. */
export interface Surroundings {
  readonly tenantId: string;
  readonly settings: Settings;
  /** The record's revisions in any order. */
  readonly revisions: readonly AppRevision[];
  /** Values of its `secrets` by name. Others are shown as "". */
  readonly values?: ReadonlyMap<string, string>;
}

export function presentDeployment(
  record: AppDeployment,
  { tenantId, settings, revisions, values }: Surroundings,
): Deployment {
  const { spec, status = {} } = record;
  const ids = shownRevisionIds(record, revisions);
  const latest = revisionOf(record, revisions, ids.latest);
  const revision = latest?.spec.requested.sourceRevisionConfig ?? spec.sourceRevisionConfig;
  const shown = {
    id: uidOf(record),
    tenant_id: tenantId,
    name: record.metadata.name,
    source: spec.source,
    source_config: {
      ...toSnake(SourceConfig, spec.sourceConfig),
      custom_url: urlOf(record),
      resource_spec: presentResourceSpec(record, revisions, settings),
      deployment_type: deploymentTypeMeant(spec.sourceConfig.deploymentType) ?? null,
    },
    source_revision_config: {
      ...toSnake(SourceRevisionConfig, revision),
      repo_commit_sha: (latest && commitOf(latest)) ?? null,
    },
    secrets: spec.secrets.map(({ name }) => ({ name, value: values?.get(name) ?? '' })),
    secret_references: spec.secretReferences?.map((one) => toSnake(SecretReference, one)) ?? null,
    database_deletion_policy: databaseDeletion(record, settings.database.deletionPolicy),
    tracing_project_deletion_policy: spec.tracingProjectDeletionPolicy ?? ASKS_NOTHING.tracingProjectDeletionPolicy,
    database_claim:
      status.databaseVolumeUid === undefined ? null : names(record.metadata.name, status.databaseNumber).postgresClaim,
    databases_kept: [...(status.databasesKept ?? [])],
    tag_value_ids: tagsOf(record),
    display_name: displayNameOf(record) ?? null,
    created_at: createdAt(record),
    updated_at: updatedAt(record),
    changed_by: requesterOf(record) ?? null,
    status: apiStatus(record),
    phase: latestPhase(record, ids.latest, latest),
    status_message: statusMessage(record),
    next_act: null,
    processed: isLookedAt(record),
    conditions: (status.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) => ({
      type,
      status,
      reason,
      message,
      last_transition_time: lastTransitionTime,
    })),
    latest_revision_id: ids.latest,
    active_revision_id: ids.active,
    image_version: imageVersion(revision.imageUri),
    database_backup: status.databaseBackup ? toSnake(DatabaseBackupStatus, status.databaseBackup) : null,
    database_backups: status.databaseBackups ? toSnake(DatabaseBackupsStatus, status.databaseBackups) : null,
    database_archive: status.databaseArchive ? toSnake(DatabaseArchiveStatus, status.databaseArchive) : null,
    database_verification: status.databaseVerification
      ? toSnake(DatabaseVerificationStatus, status.databaseVerification)
      : null,
    database_restore: status.databaseRestore ? toSnake(DatabaseRestoreStatus, status.databaseRestore) : null,
    datastores: {
      postgres: status.datastores?.postgres ? toSnake(DatastoreStatus, status.datastores.postgres) : null,
      redis: status.datastores?.redis ? toSnake(DatastoreStatus, status.datastores.redis) : null,
    },
    internal_url: internalUrl(record),
  };
  return { ...shown, next_act: nextAct(shown, () => revisionsOf(record, revisions)) };
}

/** The state of the latest revision, as the list of revisions shows it. The cluster of a listener reports it in the record. */
function latestPhase(
  { status }: AppDeployment,
  id: string | null,
  latest: AppRevision | undefined,
): Deployment['phase'] {
  if (id === null) return null;
  const reported = status?.latestRevisionId === id ? status.phase : undefined;
  return latest?.status?.state ?? REVISION_STATES.find((state) => state === reported) ?? 'CREATING';
}

/** The values of the latest revision: the spec's, or the newest snapshot's if the spec has no image any more. */
export function shownRevisionConfig(record: AppDeployment, revisions: readonly AppRevision[]): RevisionConfig {
  const latest = revisionOf(record, revisions, shownRevisionIds(record, revisions).latest);
  return latest?.spec.requested.sourceRevisionConfig ?? record.spec.sourceRevisionConfig;
}

function revisionOf(
  record: AppDeployment,
  revisions: readonly AppRevision[],
  id: string | null,
): AppRevision | undefined {
  return revisions.find(({ spec }) => spec.deploymentUid === record.metadata.uid && spec.id === id);
}

/** The values in force: the newest revision's at the record's scale if it is of the record, otherwise the record's with today's settings. */
export function resourceSpecInForce(
  record: AppDeployment,
  revisions: readonly AppRevision[],
  settings: Settings,
): ResourceSpec {
  const newest = revisionsOf(record, revisions)[0];
  const { resourceSpec } = record.spec.sourceConfig;
  const isMade = newest !== undefined && sameRevision(ownRequested(newest.spec), requestedOf(record.spec));
  const numbers = effectiveNumbers(
    isMade
      ? scaledBy(record.spec, newest, settings).spec.resolved
      : resolve(specWithNewestFile(record.spec, newest), settings),
  );
  const { resourceSpec: reported, latestRevisionId } = record.status ?? {};
  const there = reported?.['dbStorageGi'];
  const { dbStorageGi: asked } = numbers;
  if (there === undefined || asked === undefined) return { ...resourceSpec, ...numbers };
  // A volume keeps its size if a smaller one is requested.
  const isReported = isMade && latestRevisionId === newest.spec.id;
  return { ...resourceSpec, ...numbers, dbStorageGi: isReported ? there : Math.max(asked, there) };
}

/** With the values that the file of the newest revision gave, as the next one most likely has them too. */
export function specWithNewestFile(spec: AppDeploymentSpec, newest: AppRevision | undefined): AppDeploymentSpec {
  const file = spec.sourceRevisionConfig.davitFile === newest?.spec.file?.path ? fileIn(newest?.spec.file) : undefined;
  return file ? specWith(spec, withFile(requestedOf(spec), file.values ?? {}).requested) : spec;
}

function presentResourceSpec(
  record: AppDeployment,
  revisions: readonly AppRevision[],
  settings: Settings,
): Deployment['source_config']['resource_spec'] {
  const shown = toSnake(ResourceSpec, resourceSpecInForce(record, revisions, settings));
  return {
    ...shown,
    volumes: shown.volumes ?? [],
    volume_mounts: shown.volume_mounts ?? [],
    init_containers: shown.init_containers ?? [],
    sidecars: shown.sidecars ?? [],
    image_pull_secrets: shown.image_pull_secrets ?? [],
  };
}

/** The address in force. After a change, the requested address until the controller has processed it. */
export function urlOf(record: AppDeployment): string | null {
  const { customUrl } = record.spec.sourceConfig;
  if (customUrl === undefined || isLookedAt(record)) return record.status?.url ?? null;
  return customUrl.startsWith('https://') ? customUrl : `https://${customUrl}`;
}
