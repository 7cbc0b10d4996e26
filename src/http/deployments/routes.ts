// /v2/deployments: HTTP in, one call, HTTP out.

import { z } from 'zod';
import type { AppDeployment } from '../../api/app-deployment.ts';
import type { Settings } from '../../api/settings.ts';
import type { Tenant } from '../core/authorization.ts';
import { type App, JsonText } from '../core/validation.ts';
import type { Auth, RequestContext } from '../plugins/auth.ts';
import { failures } from '../plugins/openapi.ts';
import { registerRevisions } from '../revisions/routes.ts';
import { readAliases } from './aliases.ts';
import { listOf, makeListedTexts } from './list-response-cache.ts';
import {
  createDeployment,
  DeleteDeployment,
  Deployment,
  DeploymentList,
  DeploymentPath,
  ListDeployments,
  patchDeployment,
} from './payloads.ts';
import { presentDeployment } from './presenter.ts';
import type { Deployments } from './repository.ts';
import type { Changed } from './update.ts';

export interface DeploymentRoutesOptions {
  readonly auth: Auth;
  readonly deployments: Deployments;
  readonly settings: Settings;
}

export function registerDeployments(app: App, { auth, deployments, settings }: DeploymentRoutesOptions): void {
  const tags = ['deployments'];
  const present = (record: AppDeployment, tenant: Tenant, values?: ReadonlyMap<string, string>): Deployment =>
    presentDeployment(record, {
      tenantId: tenant.id,
      settings,
      revisions: deployments.revisionsOf(record),
      ...(values && { values }),
    });

  const listedText = makeListedTexts({ revisionsOf: deployments.revisionsOf, present });

  async function presentChanged({ caller, tenant }: RequestContext, { record, values }: Changed): Promise<Deployment> {
    // What was just sent is shown as it was sent, also to one who may make Secrets and not read them.
    return present(record, tenant, new Map([...(await deployments.valuesOf(caller, record)), ...values]));
  }

  app.get('/v2/deployments', {
    onRequest: auth.as('list'),
    schema: {
      tags,
      operationId: 'listDeployments',
      summary: 'List deployments',
      querystring: ListDeployments,
      response: { 200: DeploymentList, ...failures(401, 403, 422) },
    },
    handler: async (request) => {
      const { tenant } = auth.admitted(request);
      const texts = deployments.list(tenant, request.query).map((record) => listedText(record, tenant));
      const offset = request.query.offset + texts.length;
      return new JsonText<DeploymentList>(listOf(texts, offset));
    },
  });

  app.post('/v2/deployments', {
    onRequest: auth.as('create'),
    preValidation: readAliases,
    schema: {
      tags,
      operationId: 'createDeployment',
      summary: 'Create a deployment',
      body: createDeployment(settings, deployments.templates),
      response: { 201: Deployment, ...failures(400, 401, 403, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      auth.concerns(request, request.body.name);
      const record = await deployments.create(admitted, request.body);
      const values = new Map(request.body.secrets.map(({ name, value }) => [name, value]));
      reply.code(201);
      return present(record, admitted.tenant, values);
    },
  });

  app.get('/v2/deployments/:deployment_id', {
    onRequest: auth.as('get'),
    schema: {
      tags,
      operationId: 'getDeployment',
      summary: 'Get a deployment',
      params: DeploymentPath,
      response: { 200: Deployment, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      if (record.spec.secrets.length === 0)
        return new JsonText<Deployment>(listedText(record, admitted.tenant).toString());
      return present(record, admitted.tenant, await deployments.valuesOf(admitted.caller, record));
    },
  });

  app.patch('/v2/deployments/:deployment_id', {
    onRequest: auth.as('patch'),
    preValidation: readAliases,
    schema: {
      tags,
      operationId: 'patchDeployment',
      summary: 'Change a deployment',
      params: DeploymentPath,
      body: patchDeployment(),
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const { deployment_id: id } = request.params;
      const admitted = auth.admitted(request);
      return presentChanged(admitted, await deployments.patch(admitted, id, request.body, 'if needed'));
    },
  });

  app.delete('/v2/deployments/:deployment_id', {
    onRequest: auth.as('delete'),
    schema: {
      tags,
      operationId: 'deleteDeployment',
      summary: 'Delete a deployment; it is gone when GET says 404',
      params: DeploymentPath,
      querystring: DeleteDeployment,
      response: { 204: z.undefined().describe('The deletion has begun.'), ...failures(401, 403, 404, 422) },
    },
    handler: async (request, reply) => {
      await deployments.remove(
        auth.admitted(request),
        request.params.deployment_id,
        request.query.delete_tracing_project,
      );
      return reply.code(204).send();
    },
  });

  registerRevisions(app, { auth, deployments, presentChanged });
}
