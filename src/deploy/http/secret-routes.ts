// The routes of /v2/deployments/{id}/secrets: one variable at a time. A PATCH of the deployment changes several.

import { refusedFor } from '../../api/errors.ts';
import { failures } from '../../api/openapi.ts';
import type { App } from '../../api/validation.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { ifMatch } from '../../runtime/http/preconditions.ts';
import { Deployment, SecretPath, SecretValue, ShownSecrets } from './payloads.ts';
import type { RouteNeeds } from './route-needs.ts';
import { variableRules } from './rules.ts';

export function registerSecrets(app: App, { auth, deployments, presentChanged }: RouteNeeds): void {
  const path = '/v2/deployments/:deployment_id/secrets/:secret_name';
  const tags = ['deployments'];

  app.put(path, {
    onRequest: auth.as('patch'),
    schema: {
      tags,
      operationId: 'putSecret',
      summary: 'Set one secret variable. A different value creates a revision; the other variables are unchanged',
      params: SecretPath,
      querystring: ShownSecrets,
      body: SecretValue,
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 412, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, secret_name: name } = request.params;
      const variable = { name, value: request.body.value };
      refuse(variable);
      const change = deployments.patch(auth.admitted(request), id, { variable }, 'if needed', ifMatch(request));
      const changed = await atVariable(change);
      return presentChanged(request, reply, changed);
    },
  });

  app.delete(path, {
    onRequest: auth.as('patch'),
    schema: {
      tags,
      operationId: 'deleteSecret',
      summary: 'Remove one secret variable. This creates a revision; the other variables are unchanged',
      params: SecretPath,
      querystring: ShownSecrets,
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 412, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, secret_name: name } = request.params;
      const variable = { name, value: null };
      const change = deployments.patch(auth.admitted(request), id, { variable }, 'if needed', ifMatch(request));
      const changed = await atVariable(change);
      return presentChanged(request, reply, changed);
    },
  });
}

/** Names that the platform sets, and the size of the value. */
function refuse(variable: { readonly name: string; readonly value: string }): void {
  const findings = [...variableRules({ secrets: [variable] })].map((finding) => ({
    ...finding,
    loc: finding.loc.at(-1) === 'value' ? ['body', 'value'] : OF_VARIABLE,
  }));
  if (findings.length > 0) throw new HttpError(422, findings);
}

/** The location of every other error: the request has no other field. */
const OF_VARIABLE = ['path', 'secret_name'];

async function atVariable<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    const { status, detail } = refusedFor(error);
    if (status !== 422 || typeof detail === 'string') throw error;
    throw new HttpError(
      422,
      detail.map((finding) => ({ ...finding, loc: OF_VARIABLE })),
    );
  }
}
