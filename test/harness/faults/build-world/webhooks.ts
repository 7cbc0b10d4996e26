// The webhooks of two tenants, with a secret each. An event is refused when it comes first, and taken when it comes again.

import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** An event that a webhook has taken, as often as it has. */
export interface Taken {
  readonly id: string;
  readonly type: string;
  readonly revision: string;
}

export interface Webhooks {
  readonly taken: readonly Taken[];
  /** What signs the events of this tenant. */
  secretOf(tenant: string): string;
  /** The path to which they go. */
  pathOf(tenant: string): string;
  isMeant(request: IncomingMessage): boolean;
  receive(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const PATH = '/hooks/';
const keyOf = (tenant: string): Buffer => Buffer.from(tenant.padEnd(32, '.').slice(-32));

/** `wrong`: is told of events that were another tenant's, or signed with another secret. */
export function makeWebhooks(wrong: string[]): Webhooks {
  const taken: Taken[] = [];
  const refused = new Set<string>();
  return {
    taken,
    secretOf: (tenant) => `whsec_${keyOf(tenant).toString('base64')}`,
    pathOf: (tenant) => `${PATH}${tenant}`,
    isMeant: ({ url = '' }) => url.startsWith(PATH),
    async receive(request, response) {
      const tenant = request.url?.slice(PATH.length) ?? '';
      const body = await text(request);
      const [id, at, signature] = ['id', 'timestamp', 'signature'].map((name) =>
        String(request.headers[`webhook-${name}`]),
      ) as [string, string, string];
      const { type, data } = JSON.parse(body) as { type: string; data: { namespace: string; revision_id: string } };
      if (data.namespace !== tenant) wrong.push(`the webhook of ${tenant} was told ${type} of ${data.namespace}`);
      const wanted = createHmac('sha256', keyOf(tenant)).update(`${id}.${at}.${body}`).digest('base64');
      if (signature !== `v1,${wanted}`) wrong.push(`the webhook of ${tenant} was told ${type} with another secret`);
      const isFirst = !refused.has(id);
      refused.add(id);
      if (!isFirst) taken.push({ id, type, revision: data.revision_id });
      response.writeHead(isFirst ? 503 : 204).end();
    },
  };
}
