// POST /v2/deployments/{id}/clone: a new deployment that is what another one is now, with the data of a backup.

import { z } from 'zod';
import type { Auth } from '../../organization/facade/auth.ts';
import { failures } from '../../organization/facade/openapi.ts';
import { type App, withRules } from '../../organization/facade/validation.ts';
import { DatabaseRestore } from '../../schema/database.ts';
import { restoreBreaches } from '../../schema/spec-rules.ts';
import { CreateDeploymentShape, Deployment, DeploymentPath, ShownSecrets } from './payloads.ts';
import type { Deployments } from './repository.ts';
import type { PresentChanged } from './secret-routes.ts';

const { at, backup } = DatabaseRestore.shape;

const CloneDeployment = withRules(
  z
    .object({ name: CreateDeploymentShape.shape.name, at: at.nullish(), backup: backup.nullish() })
    .meta({ id: 'CloneDeployment', examples: [{ name: 'shop-2', at: '2026-11-25T12:00:00Z' }] }),
  [(draft) => Array.from(restoreBreaches(draft), ({ at: loc, message: msg }) => ({ loc, msg, type: 'value_error' }))],
);

export interface CloneRouteOptions {
  readonly auth: Auth;
  readonly deployments: Deployments;
  readonly presentChanged: PresentChanged;
}

export function registerClone(app: App, { auth, deployments, presentChanged }: CloneRouteOptions): void {
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
