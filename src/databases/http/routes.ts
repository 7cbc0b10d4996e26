// /v2/deployments/{id}/operations: acts on the database of a deployment, with the caller's token.

import { isDeepStrictEqual } from 'node:util';
import type { Auth, RequestContext } from '../../api/auth.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { failures, UNCHANGED } from '../../api/openapi.ts';
import { NoParameters } from '../../api/payload-fields.ts';
import { keyDigits, requestKey, usedFor } from '../../api/request-key.ts';
import type { App } from '../../api/validation.ts';
import { DeploymentPath } from '../../deploy/http/payloads.ts';
import type { Deployments } from '../../deploy/http/repository.ts';
import { restoreOrigin } from '../../deploy/http/restore-origin.ts';
import { backupToMake } from '../../deploy/record/backup-request.ts';
import { databaseNumberOf, databaseOf } from '../../deploy/record/database-move.ts';
import { revisionsOf } from '../../deploy/record/revisions.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { FACADE_FIELD_MANAGER, STORE_PARTS } from '../../kinds/meta.ts';
import { anOperation } from '../../kinds/operation-manifest.ts';
import { AlreadyExists, undefinedIfNotFound } from '../../runtime/errors.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { unlessKnown, versionOf } from '../../runtime/http/preconditions.ts';
import { present } from '../../runtime/json-value.ts';
import { youngestFirst } from '../../runtime/kube/youngest-first.ts';
import { decideMove, isMove, type Known, whyNotDeleted } from '../decide-move.ts';
import { decidePatch } from '../decide-patch.ts';
import { CreateOperation, OperationList, OperationPath, OperationResponse, presentOperation } from './payloads.ts';

export interface OperationNeeds extends Pick<FacadeContext, 'randomSuffix' | 'now' | 'settings'> {
  readonly auth: Auth;
  readonly deployments: Deployments;
}

/** Characters of a key in the name of an operation. */
const KEY_DIGITS = 10;

export function registerOperations(app: App, needs: OperationNeeds): void {
  const { auth, deployments, settings, now } = needs;
  registerCreation(app, needs);
  app.get('/v2/deployments/:deployment_id/operations', {
    onRequest: auth.as('list', DATASTORE_OPERATIONS),
    schema: {
      tags: ['deployments'],
      operationId: 'listOperations',
      summary: 'List the operations on the database of a deployment, and those that can be requested now',
      params: DeploymentPath,
      querystring: NoParameters,
      response: { 200: OperationList, 304: UNCHANGED, ...failures(401, 403, 404, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      const { namespace = '', name } = record.metadata;
      const fieldSelector = `spec.deployment=${name}`;
      const { items } = await admitted.caller.kube.listAll<DatastoreOperation>(DATASTORE_OPERATIONS, {
        namespace,
        fieldSelector,
      });
      const own = revisionsOf(record, deployments.revisionsOf(record));
      const answer: OperationList = {
        resources: youngestFirst(items).map(presentOperation),
        database: (own[0] && databaseOf(own[0])) ?? null,
        acts: actsOn({ record, own, images: settings.images }, now()),
      };
      return unlessKnown(request, reply, `"${versionOf(JSON.stringify(answer))}"`, () => answer);
    },
  });

  app.get('/v2/deployments/:deployment_id/operations/:operation_name', {
    onRequest: auth.as('get', DATASTORE_OPERATIONS),
    schema: {
      tags: ['deployments'],
      operationId: 'getOperation',
      summary: 'Get an operation on the database of a deployment',
      params: OperationPath,
      response: { 200: OperationResponse, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const { deployment_id: id, operation_name: name } = request.params;
      return presentOperation(await operationOf(admitted, await deployments.find(admitted, id), name));
    },
  });

  app.delete('/v2/deployments/:deployment_id/operations/:operation_name', {
    onRequest: auth.as('delete', DATASTORE_OPERATIONS),
    schema: {
      tags: ['deployments'],
      operationId: 'deleteOperation',
      summary: 'Cancel an operation, or delete one that has ended',
      params: OperationPath,
      response: { 200: OperationResponse, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const { deployment_id: id, operation_name: name } = request.params;
      const operation = await operationOf(admitted, await deployments.find(admitted, id), name);
      const { namespace = '', uid = '' } = operation.metadata;
      await admitted.caller.kube.remove(DATASTORE_OPERATIONS, { namespace, name }, { uid });
      return presentOperation(operation);
    },
  });
}

function registerCreation(app: App, { auth, deployments, randomSuffix, now, settings }: OperationNeeds): void {
  app.post('/v2/deployments/:deployment_id/operations', {
    onRequest: auth.as('create', DATASTORE_OPERATIONS),
    schema: {
      tags: ['deployments'],
      operationId: 'createOperation',
      summary: 'Start an operation on the database or Redis of a deployment, such as a backup or a restore',
      isKeyed: true,
      params: DeploymentPath,
      body: CreateOperation,
      response: { 201: OperationResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      auth.concerns(request, record.metadata.name);
      const { body } = request;
      needMembers(body);
      const own = revisionsOf(record, deployments.revisionsOf(record));
      const { from, ...named } = body.restore ?? {};
      const origin = from === undefined ? undefined : await restoreOrigin(admitted.caller, record, { ...named, from });
      const refused = whyRefused({ record, own, origin, images: settings.images }, body, now());
      if (refused !== undefined) throw new HttpError(409, refused);
      const key = requestKey(request, admitted.caller.username);
      const made = await create(
        admitted,
        asked(record, body, { key, suffix: randomSuffix(), by: admitted.caller.username }),
      );
      reply.code(201);
      return presentOperation(made);
    },
  });
}

/** Throws HttpError 404 where the deployment has none of this name. */
async function operationOf(
  { caller }: RequestContext,
  { metadata: { namespace = '', name: deployment } }: AppDeployment,
  name: string,
): Promise<DatastoreOperation> {
  const found = await caller.kube
    .get<DatastoreOperation>(DATASTORE_OPERATIONS, { namespace, name })
    .catch(undefinedIfNotFound);
  if (found?.spec.deployment !== deployment)
    throw new HttpError(404, `Deployment "${deployment}" has no operation "${name}".`);
  return found;
}

const MEMBERS = { Restore: 'restore', DeletePrevious: 'delete_previous', Patch: 'patch' } as const;
/** Members that their action may have, and no other. */
const OPTIONAL = { backup: 'Backup', accept: 'Patch' } as const;

/** Throws HttpError 422 where an action lacks what it needs, or has what is another's. */
function needMembers(body: CreateOperation): void {
  for (const [action, member] of Object.entries(MEMBERS) as [
    keyof typeof MEMBERS,
    (typeof MEMBERS)[keyof typeof MEMBERS],
  ][]) {
    const isThere = body[member] !== undefined;
    if ((body.action === action) === isThere) continue;
    const msg = isThere ? `only action ${action} has it: leave it out` : `action ${action} needs it`;
    throw new HttpError(422, [{ loc: ['body', member], msg, type: isThere ? 'value_error' : 'missing' }]);
  }
  for (const [member, action] of Object.entries(OPTIONAL) as [keyof typeof OPTIONAL, string][])
    if (body[member] !== undefined && body.action !== action)
      throw new HttpError(422, [
        { loc: ['body', member], msg: `only action ${action} has it: leave it out`, type: 'value_error' },
      ]);
}

/** Why the operation could only fail. What comes up later, its status says. */
function whyRefused({ record, ...others }: Omit<Known, 'used'>, body: CreateOperation, now: Date): string | undefined {
  const { action, patch, accept } = body;
  const used = (record.status?.databasesKept ?? []).map(({ number }) => number);
  const known = { record, ...others, used };
  if (action === 'DeletePrevious') return whyNotDeleted(known, body.delete_previous?.number ?? -1);
  if (action === 'Patch') {
    const decided = decidePatch(record, { ...(patch && { patch }), ...(accept && { accept }) }, now);
    return 'refused' in decided ? decided.refused : undefined;
  }
  const decided = isMove(action)
    ? decideMove(known, { deployment: record.metadata.name, action, ...(body.restore && { restore: body.restore }) })
    : backupToMake(record, body.backup?.archive === true);
  return 'refused' in decided ? decided.refused : undefined;
}

/** Every act on the datastores that the deployment has, with why it could only fail now, or what it loses. */
function actsOn(known: Omit<Known, 'used'>, now: Date): OperationList['acts'] {
  const { databasesKept = [], databaseBackups, datastores } = known.record.status ?? {};
  const inUse = known.own[0] && databaseNumberOf(known.own[0]);
  const backup = databaseBackups?.newest.find(({ earlier }) => earlier !== true)?.name;
  const requests: CreateOperation[] = [
    { action: 'Backup' },
    { action: 'Restore', ...(backup !== undefined && { restore: { backup } }) },
    { action: 'Move' },
    { action: 'Upgrade' },
    { action: 'Return' },
    ...databasesKept
      .filter(({ number }) => number !== inUse)
      .map(({ number }) => ({ action: 'DeletePrevious', delete_previous: { number } }) as const),
  ];
  const patches = STORE_PARTS.filter((datastore) => datastores?.[datastore]).map((datastore) => {
    const decided = decidePatch(known.record, { patch: { datastore } }, now);
    const request = { action: 'Patch', patch: { datastore } } as const;
    return 'loss' in decided
      ? { request: { ...request, accept: [decided.loss] }, refused: null, loses: decided.loses }
      : { request, refused: 'refused' in decided ? decided.refused : null, loses: null };
  });
  return [
    ...requests.map((request) => ({ request, refused: whyRefused(known, request, now) ?? null, loses: null })),
    ...patches,
  ];
}

function asked(
  { metadata: { name, namespace = '' } }: AppDeployment,
  { action, backup, restore, delete_previous: deletePrevious, patch, accept }: CreateOperation,
  { key, suffix, by }: { readonly key: string | undefined; readonly suffix: string; readonly by: string | undefined },
): DatastoreOperation {
  return anOperation(
    { name: `${name}-${key === undefined ? suffix : keyDigits(key, KEY_DIGITS)}`, namespace },
    { deployment: name, action, ...present({ backup, restore, deletePrevious, patch, accept, requestedBy: by, key }) },
  );
}

/** Or finds the one that an earlier request with the same key has made. */
async function create({ caller }: RequestContext, wanted: DatastoreOperation): Promise<DatastoreOperation> {
  try {
    return await caller.kube.create(DATASTORE_OPERATIONS, wanted, { fieldManager: FACADE_FIELD_MANAGER });
  } catch (error) {
    const { key } = wanted.spec;
    if (key === undefined || !(error instanceof AlreadyExists)) throw error;
    const { name, namespace = '' } = wanted.metadata;
    const earlier = await caller.kube.get<DatastoreOperation>(DATASTORE_OPERATIONS, { namespace, name });
    if (earlier.spec.key !== key) throw error;
    if (!isDeepStrictEqual(earlier.spec, wanted.spec)) usedFor(`made operation ${name}`);
    return earlier;
  }
}
