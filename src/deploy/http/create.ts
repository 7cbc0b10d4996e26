// Creates a record with the caller's token, and the Secret of its values before it; also one that is what another one is.

import type { RequestContext } from '../../api/auth.ts';
import type { Caller } from '../../api/authorization.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { refusal } from '../../api/errors.ts';
import { undefinedIfHidden } from '../../api/undefined-if-hidden.ts';
import {
  APP_DEPLOYMENTS,
  type AppDeployment,
  type AppDeploymentSpec,
  SecretReference,
  SourceRevisionConfig,
} from '../../kinds/app-deployment.ts';
import {
  API_VERSION,
  DISPLAY_NAME_ANNOTATION,
  FACADE_FIELD_MANAGER,
  FINALIZER,
  WORDS_ANNOTATION,
} from '../../kinds/meta.ts';
import { AlreadyExists, Unavailable } from '../../runtime/errors.ts';
import { fromSnake } from '../../runtime/http/casing.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type CloneRequest, cloneOf } from '../record/clone.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { names } from '../record/names.ts';
import { awaitsSource } from '../record/requested.ts';
import { claimOfCreation } from '../record/requester.ts';
import { needListener } from './listener-rules.ts';
import { mergedConfig } from './merged-config.ts';
import type { CreateDeployment } from './payloads.ts';
import { type Checking, findingsOfNew } from './platform-checks.ts';
import { cachedRevisions, findRecord, type Reading } from './reading.ts';
import { restoreFindings } from './restore-origin.ts';
import { createValuesSecret, removeVariables } from './secret-values.ts';
import { labelsOf } from './tags.ts';

export type Creating = Checking & Reading & Pick<FacadeContext, 'randomSuffix' | 'gate' | 'log'>;

/** The body of a POST. `words`: those of aliases.ts that it had. */
export type NewDeployment = CreateDeployment & { readonly words?: string };

export interface Cloned {
  readonly record: AppDeployment;
  readonly notes: readonly string[];
}

interface New {
  readonly record: AppDeployment;
  /** Made before it. Absent where it names only what is there. */
  readonly secret?: { readonly name: string; readonly values: ReadonlyMap<string, string> };
  /** Nothing is kept. */
  readonly isDryRun?: boolean;
}

/** Throws HttpError 409 for a name that is taken. */
export function createRecord(
  creating: Creating,
  admitted: RequestContext,
  payload: NewDeployment,
  isDryRun = false,
): Promise<AppDeployment> {
  const secretName = names(payload.name).variables(creating.randomSuffix());
  return create(creating, admitted, {
    isDryRun,
    record: toResource(payload, admitted.tenant.namespace, secretName),
    ...(payload.secrets.length > 0 && {
      secret: { name: secretName, values: new Map(payload.secrets.map(({ name, value }) => [name, value])) },
    }),
  });
}

/**
 * The same for one that is what the record of `id` is. It names the same Secrets of values, which nobody changes; the API server asks
 * whether the caller may read them. Throws HttpError 409 where it cannot be.
 */
export async function cloneRecord(
  creating: Creating,
  admitted: RequestContext,
  id: string,
  request: CloneRequest,
): Promise<Cloned> {
  const origin = await findRecord(creating, admitted, id);
  const clone = cloneOf(origin, cachedRevisions(creating, origin), request, new Date());
  if ('refused' in clone) throw new HttpError(409, clone.refused);
  return { record: await create(creating, admitted, { record: clone.record }), notes: clone.notes };
}

async function create(
  creating: Creating,
  { caller, tenant }: RequestContext,
  { record: wanted, ...more }: New,
): Promise<AppDeployment> {
  const { settings, gate } = creating;
  const claim = caller.username === undefined ? undefined : claimOfCreation(caller.username);
  const annotations = { ...wanted.metadata.annotations, ...claim };
  const record = { ...wanted, metadata: { ...wanted.metadata, annotations } };
  const findings = [
    ...(await findingsOfNew(creating, record, tenant.id)),
    ...(await restoreFindings(caller, record, settings)),
  ];
  if (findings.length > 0)
    throw await refusal(findings, () => caller.kube.create(APP_DEPLOYMENTS, record, { dryRun: true }));
  needListener(record.spec, settings.hosting);
  return gate.run(tenant.namespace, () => writeNew(creating, caller, { record, ...more }));
}

async function writeNew(
  { remember, log }: Creating,
  caller: Caller,
  { record, secret, isDryRun }: New,
): Promise<AppDeployment> {
  const { name, namespace = '' } = record.metadata;
  const write = async (dryRun: boolean): Promise<AppDeployment> => {
    try {
      const writing = { fieldManager: FACADE_FIELD_MANAGER, ...(dryRun && { dryRun }) };
      return await caller.kube.create(APP_DEPLOYMENTS, record, writing);
    } catch (error) {
      throw await explained(error, caller, record);
    }
  };
  if (isDryRun) return write(true);
  let kept: KubeObject | undefined;
  if (secret !== undefined) {
    // A rejected record must leave no Secret behind. Without a Secret the creation itself needs no dry run.
    await write(true);
    kept = await createValuesSecret(caller, { namespace, name: secret.name }, name, secret.values);
  }
  try {
    const made = await write(false);
    remember(made);
    return made;
  } catch (error) {
    // Without an answer the record may have been created, and then needs its Secret.
    if (kept !== undefined && !(error instanceof Unavailable)) await removeVariables(caller, kept, log);
    throw error;
  }
}

/** Replaces the API server's message for a taken name. Returns other errors unchanged. */
async function explained(error: unknown, caller: Caller, { metadata }: AppDeployment): Promise<unknown> {
  if (!(error instanceof AlreadyExists)) return error;
  const { namespace = '', name } = metadata;
  const taken = await undefinedIfHidden(() =>
    caller.kube.get(APP_DEPLOYMENTS, { namespace, name }, { metadataOnly: true }),
  ).catch(() => undefined);
  const advice =
    taken?.metadata.deletionTimestamp === undefined
      ? `Choose another name. If the answer to an earlier request was lost, GET /v2/deployments?name=${name} shows what it created.`
      : 'It is being deleted, and its name becomes free when the deletion is complete.';
  return new HttpError(409, `A deployment named "${name}" already exists. ${advice}`);
}

/** The record of a request. `secretName`: the Secret of its values. */
function toResource(payload: NewDeployment, namespace: string, secretName: string): AppDeployment {
  const references = payload.secret_references ?? [];
  const { tag_value_ids: tags, display_name: displayName, words } = payload;
  const spec: Partial<AppDeploymentSpec> = {
    source: payload.source,
    sourceConfig: mergedConfig({}, payload.source_config),
    sourceRevisionConfig: fromSnake(SourceRevisionConfig, payload.source_revision_config),
    secrets: payload.secrets.map(({ name }) => ({ name, secretName, secretKey: name })),
    ...(references.length > 0 && {
      secretReferences: references.map((one) => fromSnake(SecretReference, one) as SecretReference),
    }),
    ...(payload.database_deletion_policy && { databaseDeletionPolicy: payload.database_deletion_policy }),
  };
  // Without an image there is no revision yet. The first serial comes with the image.
  const revisionSerial = awaitsSource(spec as AppDeploymentSpec) ? 0 : 1;
  // With the controller's finalizer from the start: it saves a write, and no deletion can skip the teardown.
  const isLookedAfterHere = runsHere({ spec: spec as AppDeploymentSpec });
  // The API server adds defaults.
  return {
    apiVersion: API_VERSION,
    kind: 'AppDeployment',
    metadata: {
      name: payload.name,
      namespace,
      ...(isLookedAfterHere && { finalizers: [FINALIZER] }),
      ...(tags && tags.length > 0 && { labels: labelsOf(tags) }),
      annotations: {
        ...(displayName && { [DISPLAY_NAME_ANNOTATION]: displayName }),
        ...(words && { [WORDS_ANNOTATION]: words }),
      },
    },
    spec: { ...spec, revisionSerial } as AppDeploymentSpec,
  };
}
