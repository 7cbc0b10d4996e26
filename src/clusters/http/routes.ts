// /v2/listeners: HTTP in, one call, HTTP out.

import { z } from 'zod';
import type { Auth } from '../../api/auth.ts';
import { failures } from '../../api/openapi.ts';
import type { App } from '../../api/validation.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { LISTENERS, type Listener } from '../../kinds/listener.ts';
import { createdAt, writtenAt } from '../../runtime/kube/write-times.ts';
import {
  CreateListener,
  ListenerList,
  ListenerPath,
  ListenerResponse,
  ListListeners,
  PatchListener,
} from './payloads.ts';
import type { Listeners } from './repository.ts';

interface ListenerContext {
  readonly auth: Auth;
  readonly listeners: Listeners;
}

const tags = ['listeners'];
const path = '/v2/listeners';

export function registerListeners(app: App, context: ListenerContext): void {
  registerCollection(app, context);
  registerListener(app, context);
}

function registerCollection(app: App, { auth, listeners }: ListenerContext): void {
  app.get(path, {
    onRequest: auth.as('list', LISTENERS),
    schema: {
      tags,
      operationId: 'listListeners',
      summary: 'List listeners',
      querystring: ListListeners,
      response: { 200: ListenerList, ...failures(401, 403, 422) },
    },
    handler: async (request) => {
      const { tenant } = auth.admitted(request);
      const { limit, offset } = request.query;
      const resources = listeners
        .list(tenant)
        .slice(offset, offset + limit)
        .map(presentListener);
      return { resources, offset: offset + resources.length };
    },
  });

  app.post(path, {
    onRequest: auth.as('create', LISTENERS),
    schema: {
      tags,
      operationId: 'createListener',
      summary: 'Create a listener',
      body: CreateListener,
      response: { 201: ListenerResponse, ...failures(400, 401, 403, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      reply.code(201);
      return presentListener(await listeners.create(auth.admitted(request), request.body));
    },
  });
}

function registerListener(app: App, { auth, listeners }: ListenerContext): void {
  app.get(`${path}/:listener_id`, {
    onRequest: auth.as('get', LISTENERS),
    schema: {
      tags,
      operationId: 'getListener',
      summary: 'Get a listener',
      params: ListenerPath,
      response: { 200: ListenerResponse, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) =>
      presentListener(await listeners.find(auth.admitted(request), request.params.listener_id)),
  });

  app.patch(`${path}/:listener_id`, {
    onRequest: auth.as('patch', LISTENERS),
    schema: {
      tags,
      operationId: 'patchListener',
      summary: 'Change a listener',
      params: ListenerPath,
      body: PatchListener,
      response: { 200: ListenerResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) =>
      presentListener(await listeners.patch(auth.admitted(request), request.params.listener_id, request.body)),
  });

  app.delete(`${path}/:listener_id`, {
    onRequest: auth.as('delete', LISTENERS),
    schema: {
      tags,
      operationId: 'deleteListener',
      summary: 'Delete a listener that no deployment uses',
      params: ListenerPath,
      response: {
        204: z.undefined().describe('The deletion has begun.'),
        ...failures(401, 403, 404, 409, 422),
      },
    },
    handler: async (request, reply) => {
      await listeners.remove(auth.admitted(request), request.params.listener_id);
      return reply.code(204).send();
    },
  });
}

function presentListener(listener: Listener): ListenerResponse {
  const { metadata, spec, status } = listener;
  if (metadata.uid === undefined) throw new TypeError(`Listener ${metadata.name} has no uid`);
  return {
    id: metadata.uid,
    compute_type: 'k8s',
    compute_id: metadata.name,
    compute_config: { k8s_namespaces: spec.namespaces ? [...spec.namespaces] : null },
    created_at: createdAt(listener),
    updated_at: writtenAt(listener),
    version: status?.version ?? null,
    connected: conditionOf(status?.conditions, 'Connected')?.status === 'True',
    last_seen_at: status?.lastSeenAt ?? null,
  };
}
