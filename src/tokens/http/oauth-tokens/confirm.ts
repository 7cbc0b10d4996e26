// POST /v2/auth/confirm: the page of a tenant says who sits before the browser that has consented.

import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import { printable } from '../../../kinds/text.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Access, TokenNeeds } from './access.ts';
import { Confirm, Confirmed } from './payloads.ts';

/** Where the browser comes back to that has consented, with the name of what is confirmed. */
export const CONFIRMED = '/v2/auth/confirmed';

export function registerConfirm(app: App, { auth, log }: TokenNeeds, access: Access): void {
  app.post('/v2/auth/confirm', {
    onRequest: auth.asCaller,
    config: { isForAgents: true },
    schema: {
      tags: ['tokens'],
      operationId: 'confirmPerson',
      summary: 'Confirm which person has consented, from the page of a tenant that verifies people',
      body: Confirm,
      response: { 200: Confirmed, ...failures(400, 401, 403, 404, 413, 415, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { oauth, publicUrl } = access.ready();
      const { confirmation, user_id: user } = request.body;
      const found = await access.confirmation(request, confirmation);
      if (found === undefined || !(await oauth.flows.isOpen(found.flow))) throw notFound();
      if (user !== found.subject.user) {
        if (!(await oauth.flows.takeConfirmation(found))) throw notFound();
        await oauth.flows.drop(found.flow);
        log.warn({ tenant: found.subject.tenant, provider: found.subject.provider }, 'Another person has consented');
        const message = `The agent asked for somebody else's access, not "${user}"'s. Nothing was stored.`;
        return { status: 'wrong_person' as const, url: null, message: printable(message) };
      }
      const name = await oauth.flows.confirm(found);
      if (name === undefined) throw notFound();
      return {
        status: 'confirmed' as const,
        url: `${publicUrl}${CONFIRMED}/${name}`,
        message: 'Open url in this browser.',
      };
    },
  });
}

function notFound(): HttpError {
  return new HttpError(
    404,
    'Confirmation not found. It has been used, another browser has consented since, it is more than ten minutes old, you are not the account in annotation davit.dev/oauth-verifier-account of its tenant, or you may not authenticate there.',
  );
}
