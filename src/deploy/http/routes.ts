// The routes of /v2/deployments.

import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Tenant } from '../../api/authorization.ts';
import { addWarnings } from '../../api/field-validation.ts';
import { failures, UNCHANGED } from '../../api/openapi.ts';
import { noteHeld } from '../../api/request-log.ts';
import { type App, JsonText, withRules } from '../../api/validation.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { DatabaseRestore } from '../../kinds/database.ts';
import { restoreBreaches } from '../../kinds/spec-rules.ts';
import { etagOf, ifMatch, unlessKnown, versionOf } from '../../runtime/http/preconditions.ts';
import { answerInWords, readAliases, wordsOf } from './aliases.ts';
import { fileOf } from './deployment-file.ts';
import { registerEvents } from './events/routes.ts';
import { registerApplyFile } from './file-route.ts';
import {
  CreateDeploymentBody,
  CreateDeploymentShape,
  DeleteDeployment,
  Deployment,
  DeploymentFileContent,
  DeploymentList,
  DeploymentPath,
  GetDeployment,
  ListDeployments,
  MOST_WAIT_SECONDS,
  PatchDeploymentBody,
  ShownSecrets,
} from './payloads.ts';
import { presentDeployment } from './presenter.ts';
import { registerRestart } from './restart-route.ts';
import { registerRevisions } from './revisions/routes.ts';
import type { DeploymentNeeds, RouteNeeds } from './route-needs.ts';
import { registerSecrets } from './secret-routes.ts';
import { registerRuns, registerTaskRuns } from './task-runs/routes.ts';
import { registerUsage } from './usage/routes.ts';

/** Bytes of a page with more than one record. A record has a megabyte at most, and commonly a few kilobytes. */
const MOST_BYTES_OF_PAGE = 8 * 1024 * 1024;
const TAGS = ['deployments'];

interface Routes extends RouteNeeds {
  /** As JSON, without values. */
  readonly listedText: (record: AppDeployment, tenant: Tenant) => ListedText;
}

export function registerDeployments(app: App, needs: DeploymentNeeds): void {
  const { auth, deployments, settings, caches } = needs;
  app.addHook('preSerialization', answerInWords(caches.records.byUid));
  const present: Routes['present'] = (record, tenant, values) =>
    presentDeployment(record, {
      tenantId: tenant.id,
      settings,
      revisions: deployments.revisionsOf(record),
      ...(values && { values }),
    });
  const listedText = makeListedTexts({ revisionsOf: deployments.revisionsOf, present });
  const presentChanged: RouteNeeds['presentChanged'] = async (request, reply, { record, values, warnings }) => {
    const { caller, tenant } = auth.admitted(request);
    reply.header('etag', etagOf(record));
    addWarnings(request, warnings);
    if (request.query.secrets === 'names') return present(record, tenant);
    // Values that were just sent are shown, also to a caller who may create Secrets but not read them.
    return present(record, tenant, new Map([...(await deployments.valuesOf(caller, record)), ...values]));
  };
  const routes = { ...needs, present, listedText, presentChanged };
  registerList(app, routes);
  registerCreate(app, routes);
  registerGet(app, routes);
  registerFile(app, routes);
  registerApplyFile(app, routes);
  registerPatch(app, routes);
  registerDelete(app, routes);
  registerClone(app, routes);
  registerRestart(app, routes);
  registerSecrets(app, routes);
  registerRevisions(app, routes);
  registerEvents(app, routes);
  registerUsage(app, routes);
  registerTaskRuns(app, routes);
  registerRuns(app, routes);
}

function registerList(app: App, { auth, deployments, listedText }: Routes): void {
  function page(records: readonly AppDeployment[], tenant: Tenant): ListedText[] {
    const listed: ListedText[] = [];
    let bytes = 0;
    for (const record of records) {
      const one = listedText(record, tenant);
      bytes += one.text.length;
      // The offset says where the next page begins.
      if (bytes > MOST_BYTES_OF_PAGE && listed.length > 0) break;
      listed.push(one);
    }
    return listed;
  }

  app.get('/v2/deployments', {
    onRequest: auth.as('list'),
    schema: {
      tags: TAGS,
      operationId: 'listDeployments',
      summary: 'List deployments',
      querystring: ListDeployments,
      response: { 200: DeploymentList, 304: UNCHANGED, ...failures(401, 403, 422) },
    },
    handler: async (request, reply) => {
      const { tenant } = auth.admitted(request);
      const { offset } = request.query;
      // Each method is a question to the API server.
      if (request.method === 'HEAD') reply.header('allow', await auth.allowed(request, { POST: 'create' }));
      const listed = page(deployments.list(tenant, request.query), tenant);
      const etag = `"${versionOf([offset, ...listed.map(({ version }) => version)].join())}"`;
      return unlessKnown(request, reply, etag, () => {
        const texts = listed.map(({ text }) => text);
        return new JsonText<DeploymentList>(listOf(texts, offset + texts.length));
      });
    },
  });
}

function registerCreate(app: App, { auth, deployments, present }: Routes): void {
  app.post('/v2/deployments', {
    onRequest: auth.as('create'),
    preValidation: readAliases,
    schema: {
      tags: TAGS,
      operationId: 'createDeployment',
      summary: 'Create a deployment',
      querystring: ShownSecrets,
      body: CreateDeploymentBody,
      response: { 201: Deployment, ...failures(400, 401, 403, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      auth.concerns(request, request.body.name);
      const record = await deployments.create(admitted, { ...request.body, words: wordsOf(request) });
      reply.code(201).header('etag', etagOf(record));
      if (request.query.secrets === 'names') return present(record, admitted.tenant);
      return present(record, admitted.tenant, new Map(request.body.secrets.map(({ name, value }) => [name, value])));
    },
  });
}

function registerGet(app: App, { auth, deployments, present, listedText }: Routes): void {
  const mayGet = auth.as('get');
  app.get('/v2/deployments/:deployment_id', {
    onRequest: mayGet,
    schema: {
      tags: TAGS,
      operationId: 'getDeployment',
      summary: 'Get a deployment',
      params: DeploymentPath,
      querystring: GetDeployment,
      response: { 200: Deployment, 304: UNCHANGED, ...failures(401, 403, 404, 422) },
    },
    config: { timeLimitMs: (MOST_WAIT_SECONDS + 10) * 1000 },
    handler: async (request, reply) => {
      const { deployment_id: id } = request.params;
      const { wait, timeout } = request.query;
      if (wait !== undefined) {
        const start = performance.now();
        const ends = AbortSignal.any([AbortSignal.timeout(timeout * 1000), closing(reply)]);
        await deployments.wait(auth.admitted(request), id, wait, ends);
        noteHeld(request, performance.now() - start);
        // The right may have ended meanwhile.
        await mayGet(request);
      }
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, id);
      if (request.method === 'HEAD')
        reply.header('allow', await auth.allowed(request, { PATCH: 'patch', DELETE: 'delete' }));
      if (record.spec.secrets.length === 0 || request.query.secrets === 'names') {
        const { text, version } = listedText(record, admitted.tenant);
        return unlessKnown(request, reply, etagOf(record, version), () => new JsonText<Deployment>(text.toString()));
      }
      reply.header('etag', etagOf(record));
      return present(record, admitted.tenant, await deployments.valuesOf(admitted.caller, record));
    },
  });
}

function registerFile(app: App, { auth, deployments }: Routes): void {
  app.get('/v2/deployments/:deployment_id/file', {
    onRequest: auth.as('get'),
    schema: {
      tags: TAGS,
      operationId: 'getDeploymentFile',
      summary: 'Get the davit.yaml that describes a deployment, as JSON',
      params: DeploymentPath,
      response: { 200: DeploymentFileContent, ...failures(401, 403, 404, 422) },
    },
    handler: async (request, reply) => {
      const record = await deployments.find(auth.admitted(request), request.params.deployment_id);
      reply.header('etag', etagOf(record));
      return new JsonText<DeploymentFileContent>(JSON.stringify(fileOf(record)));
    },
  });
}

function registerPatch(app: App, { auth, deployments, presentChanged }: Routes): void {
  app.patch('/v2/deployments/:deployment_id', {
    onRequest: auth.as('patch'),
    preValidation: readAliases,
    schema: {
      tags: TAGS,
      operationId: 'patchDeployment',
      summary: 'Change a deployment',
      params: DeploymentPath,
      querystring: ShownSecrets,
      body: PatchDeploymentBody,
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 412, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id } = request.params;
      const admitted = auth.admitted(request);
      const changed = await deployments.patch(admitted, id, request.body, 'if needed', ifMatch(request));
      return presentChanged(request, reply, changed);
    },
  });
}

function registerDelete(app: App, { auth, deployments }: Routes): void {
  app.delete('/v2/deployments/:deployment_id', {
    onRequest: auth.as('delete'),
    schema: {
      tags: TAGS,
      operationId: 'deleteDeployment',
      summary: 'Delete a deployment. It is gone when GET answers 404',
      params: DeploymentPath,
      querystring: DeleteDeployment,
      response: {
        204: z.undefined().describe('The deletion has begun.'),
        ...failures(400, 401, 403, 404, 409, 412, 422),
      },
    },
    handler: async (request, reply) => {
      await deployments.remove(
        auth.admitted(request),
        request.params.deployment_id,
        request.query.delete_tracing_project,
        ifMatch(request),
      );
      return reply.code(204).send();
    },
  });
}

/** Aborts when the caller has gone away. */
function closing({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => controller.abort());
  return controller.signal;
}

const { at, backup } = DatabaseRestore.shape;

const CloneDeployment = withRules(
  z
    .object({ name: CreateDeploymentShape.shape.name, at: at.nullish(), backup: backup.nullish() })
    .meta({ id: 'CloneDeployment', examples: [{ name: 'shop-2', at: '2026-11-25T12:00:00Z' }] }),
  [(draft) => Array.from(restoreBreaches(draft), ({ at: loc, message: msg }) => ({ loc, msg, type: 'value_error' }))],
);

function registerClone(app: App, { auth, deployments, presentChanged }: RouteNeeds): void {
  app.post('/v2/deployments/:deployment_id/clone', {
    onRequest: auth.as('create'),
    schema: {
      tags: ['deployments'],
      operationId: 'cloneDeployment',
      summary: 'Create a deployment that is what another one is, with the data of a backup of it',
      params: DeploymentPath,
      querystring: ShownSecrets,
      body: CloneDeployment,
      response: { 201: Deployment, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { name, at: time, backup: backupName } = request.body;
      const { deployment_id: id } = request.params;
      auth.concerns(request, name);
      const wanted = { name, ...(time && { at: time }), ...(backupName && { backup: backupName }) };
      const { record, notes } = await deployments.clone(auth.admitted(request), id, wanted);
      reply.code(201);
      const warnings = notes.map((msg) => ({ loc: ['body', 'name'], msg, type: 'cloned' }));
      return presentChanged(request, reply, { record, values: new Map(), warnings });
    },
  });
}

// Caches the JSON of records in lists and its version, for each version of a record and its revisions: serializing a hundred records
// costs more than the rest of an answer.

interface ListedTextsOptions {
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
  /** Presents a record of a list. The result is the same for every caller, so it contains no values of secrets. */
  readonly present: (record: AppDeployment, tenant: Tenant) => object;
}

interface ListedText {
  readonly text: Buffer;
  readonly version: string;
}

interface Kept extends ListedText {
  readonly tenantId: string;
  readonly revisions: readonly AppRevision[];
}

/** The JSON of a record. It is cached as long as this version of the record is. */
function makeListedTexts({
  revisionsOf,
  present,
}: ListedTextsOptions): (record: AppDeployment, tenant: Tenant) => ListedText {
  const texts = new WeakMap<AppDeployment, Kept>();
  return (record, tenant) => {
    const revisions = revisionsOf(record);
    const kept = texts.get(record);
    if (kept !== undefined && kept.tenantId === tenant.id && areSame(kept.revisions, revisions)) return kept;
    const text = ownBytes(JSON.stringify(present(record, tenant)));
    const made = { tenantId: tenant.id, revisions, text, version: versionOf(text) };
    texts.set(record, made);
    return made;
  };
}

/** Not from Node's shared pool: a cached buffer would keep the whole pool in memory. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Cached objects are not modified: another version is another object. */
function areSame(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

const [BEGIN, COMMA] = [Buffer.from('{"resources":['), Buffer.from(',')];

/** Up to this many bytes a string is faster, because it is sent in one piece with the headers. A longer string would be copied. */
const MOST_AS_STRING = 16 * 1024;

/** The answer to a list. `offset` is the beginning of the next page. */
function listOf(texts: readonly Buffer[], offset: number): Buffer | string {
  const parts = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]));
  const bytes = Buffer.concat([BEGIN, ...parts, Buffer.from(`],"offset":${offset}}`)]);
  return bytes.length <= MOST_AS_STRING ? bytes.toString() : bytes;
}
