// The routes of /v2/deployments/{id}/revisions.

import { addWarnings } from '../../../api/field-validation.ts';
import { failures, UNCHANGED } from '../../../api/openapi.ts';
import { type App, JsonText } from '../../../api/validation.ts';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import type { AppRevision } from '../../../kinds/app-revision.ts';
import { isUnderWay } from '../../../kinds/build.ts';
import { INTERRUPT_ANNOTATION } from '../../../kinds/meta.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { ifMatch, unlessKnown, versionOf } from '../../../runtime/http/preconditions.ts';
import { claimOfInterrupt } from '../../record/requester.ts';
import { serialRevisionId } from '../../record/revision-id.ts';
import { rollingBack } from '../../record/revision-request.ts';
import { revisionsOf } from '../../record/revisions.ts';
import { rollbackTarget } from '../../record/rollback-target.ts';
import { readAliases } from '../aliases.ts';
import { Deployment, DeploymentPath, PatchDeploymentBody, ShownSecrets } from '../payloads.ts';
import type { RouteNeeds } from '../route-needs.ts';
import type { Decide } from '../update.ts';
import { DiffQuery, ListRevisions, NoFields, Revision, RevisionDiff, RevisionList, RevisionPath } from './payloads.ts';
import { presentDiff, presentRevisions, withChanges } from './presenter.ts';

interface Routes extends RouteNeeds {
  /** Throws HttpError 404 if the record has no revision of this id. */
  readonly one: (record: AppDeployment, id: string) => Revision;
  /** The stored revision. Throws HttpError 409 with `lacks` if the controller never created it, and 404 as above. */
  readonly made: (record: AppDeployment, id: string, lacks: string) => AppRevision;
}

const TAGS = ['revisions'];
const PATH = '/v2/deployments/:deployment_id/revisions';

export function registerRevisions(app: App, options: RouteNeeds): void {
  const { deployments } = options;
  const shown = (record: AppDeployment): Revision[] => presentRevisions(record, deployments.revisionsOf(record));
  const one = (record: AppDeployment, id: string): Revision => {
    const revision = shown(record).find((each) => each.id === id.toLowerCase());
    if (revision === undefined) throw new HttpError(404, `Revision ID ${id} not found.`);
    return revision;
  };
  const made = (record: AppDeployment, id: string, lacks: string): AppRevision => {
    const { status } = one(record, id);
    const found = revisionsOf(record, deployments.revisionsOf(record)).find(({ spec }) => spec.id === id.toLowerCase());
    if (found === undefined)
      throw new HttpError(409, `Revision ID ${id} is ${status} and was never created, so it has no values ${lacks}.`);
    return found;
  };
  const routes = { ...options, one, made };
  registerRevisionList(app, options, shown);
  registerRevisionCreate(app, routes);
  registerRevisionGet(app, routes);
  registerDiff(app, routes);
  registerRollbackTarget(app, routes);
  registerRedeploy(app, routes);
  registerInterrupt(app, routes);
}

function registerRevisionList(
  app: App,
  { auth, deployments }: RouteNeeds,
  shown: (record: AppDeployment) => readonly Revision[],
): void {
  function page(record: AppDeployment, { limit, offset, status, changes }: ListRevisions): RevisionList {
    const wanted = shown(record).filter((revision) => status === undefined || status.includes(revision.status));
    const resources = wanted.slice(offset, offset + limit);
    const whole = changes ? withChanges(resources, record, deployments.revisionsOf(record)) : resources;
    return { resources: whole, offset: offset + resources.length };
  }

  app.get(PATH, {
    onRequest: auth.as('get'),
    schema: {
      tags: TAGS,
      operationId: 'listRevisions',
      summary: 'List the revisions of a deployment, newest first',
      params: DeploymentPath,
      querystring: ListRevisions,
      response: { 200: RevisionList, 304: UNCHANGED, ...failures(401, 403, 404, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id } = request.params;
      const text = JSON.stringify(page(await deployments.find(auth.admitted(request), id), request.query));
      return unlessKnown(request, reply, `"${versionOf(text)}"`, () => new JsonText<RevisionList>(text));
    },
  });
}

function registerRevisionCreate(app: App, { auth, deployments, one }: Routes): void {
  app.post(PATH, {
    onRequest: auth.as('patch'),
    preValidation: readAliases,
    schema: {
      tags: TAGS,
      operationId: 'createRevision',
      summary: 'Create a new revision, with or without a change of the deployment',
      params: DeploymentPath,
      body: PatchDeploymentBody.prefault({}),
      response: { 201: Revision, ...failures(400, 401, 403, 404, 409, 412, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const { deployment_id: id } = request.params;
      const { record, warnings } = await deployments.patch(admitted, id, request.body, 'always', ifMatch(request));
      addWarnings(request, warnings);
      reply.code(201);
      return one(record, serialRevisionId(record.metadata.uid ?? '', record.spec.revisionSerial ?? 0));
    },
  });
}

function registerRevisionGet(app: App, { auth, deployments, one }: Routes): void {
  app.get(`${PATH}/:revision_id`, {
    onRequest: auth.as('get'),
    schema: {
      tags: TAGS,
      operationId: 'getRevision',
      summary: 'Get a revision',
      params: RevisionPath,
      response: { 200: Revision, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const record = await deployments.find(auth.admitted(request), request.params.deployment_id);
      return one(record, request.params.revision_id);
    },
  });
}

function registerDiff(app: App, { auth, deployments, made }: Routes): void {
  app.get(`${PATH}/:revision_id/diff`, {
    onRequest: auth.as('get'),
    schema: {
      tags: TAGS,
      operationId: 'diffRevision',
      summary: 'List the fields in which a revision differs from another: what a rollback to it would change',
      params: RevisionPath,
      querystring: DiffQuery,
      response: { 200: RevisionDiff, ...failures(401, 403, 404, 409, 422) },
    },
    handler: async (request) => {
      const { deployment_id: id, revision_id: to } = request.params;
      const record = await deployments.find(auth.admitted(request), id);
      const later = made(record, to, 'to compare');
      const newest = revisionsOf(record, deployments.revisionsOf(record))[0] ?? later;
      const { from } = request.query;
      return presentDiff(from === undefined ? newest : made(record, from, 'to compare'), later);
    },
  });
}

function registerRollbackTarget(app: App, { auth, deployments }: Routes): void {
  app.get('/v2/deployments/:deployment_id/rollback', {
    onRequest: auth.as('get'),
    schema: {
      tags: TAGS,
      operationId: 'getRollback',
      summary: 'Get the default target of a rollback, and the changes that the rollback would make',
      params: DeploymentPath,
      response: { 200: RevisionDiff, ...failures(401, 403, 404, 409, 422) },
    },
    handler: async (request) => {
      const record = await deployments.find(auth.admitted(request), request.params.deployment_id);
      const own = revisionsOf(record, deployments.revisionsOf(record));
      const found = rollbackTarget(record.metadata.name, own);
      if ('none' in found) throw new HttpError(409, found.none);
      return presentDiff(own[0] ?? found.target, found.target);
    },
  });
}

function registerRedeploy(app: App, { auth, deployments, presentChanged, made }: Routes): void {
  app.post(`${PATH}/:revision_id/redeploy`, {
    onRequest: auth.as('patch'),
    schema: {
      tags: TAGS,
      operationId: 'redeployRevision',
      summary: 'Roll back: create a new revision with the values of this one',
      params: RevisionPath,
      querystring: ShownSecrets,
      body: NoFields.prefault({}),
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 412, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const { deployment_id: deploymentId, revision_id: id } = request.params;
      const rollBack: Decide = (record) => {
        const old = made(record, id, 'to roll back to');
        return { spec: rollingBack(record.spec, old.spec), values: new Map() };
      };
      const changed = await deployments.change(admitted, deploymentId, rollBack, ifMatch(request));
      return presentChanged(request, reply, changed);
    },
  });
}

function registerInterrupt(app: App, { auth, deployments, one }: Routes): void {
  app.post(`${PATH}/:revision_id/interrupt`, {
    onRequest: auth.as('patch'),
    schema: {
      tags: TAGS,
      operationId: 'interruptRevision',
      summary: 'Interrupt the build of a revision. The active revision keeps serving',
      params: RevisionPath,
      body: NoFields.prefault({}),
      response: { 202: Revision, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: deploymentId, revision_id: id } = request.params;
      const admitted = auth.admitted(request);
      const { username } = admitted.caller;
      const { record } = await deployments.change(admitted, deploymentId, (current) => {
        const { status } = one(current, id);
        const made = deployments.revisionsOf(current).find(({ spec }) => spec.id === id.toLowerCase());
        if (!isUnderWay(made?.status?.build))
          throw new HttpError(409, `Revision ID ${id} is ${status}: it has no running or queued build to interrupt.`);
        const claim = username === undefined ? undefined : claimOfInterrupt(current, id, username);
        const annotations = { [INTERRUPT_ANNOTATION]: id.toLowerCase(), ...claim };
        return { spec: current.spec, values: new Map(), annotations };
      });
      reply.code(202);
      return one(record, id);
    },
  });
}
