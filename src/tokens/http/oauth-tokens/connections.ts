// The routes of /v2/auth/agents/{agent_id}/connections: which tokens an agent may use.

import { z } from 'zod';
import type { FacadeContext } from '../../../api/collection.ts';
import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Access } from './access.ts';
import { AgentPath, Connect, Connection, ConnectionPath, Connections, OwnerQuery } from './payloads.ts';
import { presentConnection } from './presenter.ts';

const TAGS = ['tokens'];
const PATH = '/v2/auth/agents/:agent_id/connections';

export function registerConnections(app: App, { auth }: Pick<FacadeContext, 'auth'>, access: Access): void {
  app.get(PATH, {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'listAgentConnections',
      summary: "List which of a person's tokens an agent may use",
      params: AgentPath,
      querystring: OwnerQuery,
      response: { 200: Connections, ...failures(401, 403, 422, 424) },
    },
    handler: async (request) => {
      const { oauth } = access.ready();
      const person = await access.person(request, { user: request.query.user_id });
      const all = await oauth.connections(person, access.requester(request), request.params.agent_id);
      return { data: all.map(presentConnection) };
    },
  });

  app.post(PATH, {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'connectAgent',
      summary: "Let an agent use a person's token",
      params: AgentPath,
      querystring: OwnerQuery,
      body: Connect,
      response: { 201: Connection, ...failures(400, 401, 403, 404, 409, 413, 415, 422, 424) },
    },
    handler: async (request, reply) => {
      const { oauth } = access.ready();
      const { params, query, body } = request;
      const { person, entry } = await access.token(request, query.user_id, body.oauth_token_id);
      const made = await oauth.connect(person, access.requester(request), params.agent_id, entry);
      reply.code(201);
      return presentConnection(made);
    },
  });

  app.delete(`${PATH}/:connection_id`, {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'disconnectAgent',
      summary: 'Take a token away from an agent',
      params: ConnectionPath,
      querystring: OwnerQuery,
      response: { 204: z.undefined().describe('Deleted.'), ...failures(401, 403, 404, 422, 424) },
    },
    handler: async (request, reply) => {
      const { oauth } = access.ready();
      const { agent_id: agentId, connection_id: id } = request.params;
      const requester = access.requester(request);
      const person = await access.person(request, { user: request.query.user_id });
      const found = (await oauth.connections(person, requester, agentId)).find((one) => one.id === id.toLowerCase());
      if (found === undefined) throw new HttpError(404, `Connection ID ${id} not found.`);
      await oauth.disconnect(found);
      return reply.code(204).send();
    },
  });
}
