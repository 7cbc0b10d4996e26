// POST /v2/auth/confirm: the page of a tenant says who sits before the browser that has consented.

import { HttpError } from '../../../lib/http/http-error.ts';
import { failures } from '../../facade/openapi.ts';
import type { App } from '../../facade/validation.ts';
import type { Access, TokenNeeds } from './access.ts';
import { endingOf } from './ending.ts';
import { Confirm, Confirmed } from './payloads.ts';

export function registerConfirm(app: App, { auth, log }: TokenNeeds, access: Access): void {
  app.post('/v2/auth/confirm', {
    onRequest: auth.asCaller,
    config: { isForAgents: true },
    schema: {
      tags: ['tokens'],
      operationId: 'confirmPerson',
      summary: 'Say which person has consented, as the page of a tenant that verifies people',
      body: Confirm,
      response: { 200: Confirmed, ...failures(400, 401, 403, 404, 413, 415, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { oauth } = access.ready();
      const { confirmation, user_id: user } = request.body;
      const found = await access.confirmation(request, confirmation);
      if (found === undefined || !(await found.take()))
        throw new HttpError(
          404,
          'Confirmation not found. It was used already, is older than ten minutes, or is of a tenant for which you may not authenticate.',
        );
      if (user !== found.subject.user) {
        await oauth.flows.drop(found.flow);
        log.warn({ tenant: found.subject.tenant, provider: found.subject.provider }, 'Another person has consented');
        const message = `The agent asked for access for another person than "${user}". Nothing was stored.`;
        return { status: 'wrong_person' as const, message };
      }
      const { isStored, text } = await endingOf(
        oauth,
        { taken: found, parameters: new URLSearchParams(found.answer) },
        log,
      );
      return { status: isStored === true ? ('completed' as const) : ('failed' as const), message: text };
    },
  });
}
