// POST /v2/auth/providers/mcp-discover over an in-memory API server, with an OAuth server: what is left there of a provider that is not made.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { OAUTH_PROVIDERS } from '../../../src/kinds/oauth-provider.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Invalid, Unavailable } from '../../../src/runtime/errors.ts';
import type { Failure } from '../../support/fake-kube/fake-kube.ts';
import { type OAuthTestServer, startOAuthServer } from '../../support/oauth-server.ts';
import { type Answer, type Facade, makeFacade } from './facade.ts';

let server: OAuthTestServer;
let facade: Facade;
/** Methods and paths of what was asked about clients. */
let asked: string[];

beforeAll(async () => {
  server = await startOAuthServer([]);
});
afterAll(async () => {
  await facade?.app.close();
  await server?.close();
});
beforeEach(async () => {
  asked = [];
  server.fault = ({ method, url = '' }) => {
    if (url.startsWith('/reg')) asked.push(`${method} ${url.startsWith('/reg/') ? '/reg/ID' : url}`);
    return false;
  };
  const { host, ca } = server;
  const { oauth, http } = Settings.parse({
    oauth: { hosts: [{ host, addresses: ['127.0.0.1'], ca }] },
    http: { publicUrl: 'https://davit.example' },
  });
  await facade?.app.close();
  facade = await makeFacade({ oauth, http });
});

const discover = (): Promise<Answer> =>
  facade.call('POST', '/v2/auth/providers/mcp-discover', {
    provider_id: 'notes',
    name: 'Notes',
    mcp_server_url: `${server.issuer}/mcp`,
  });
const providers = (): number => facade.kube.objects(OAUTH_PROVIDERS).length;

it('registers a client for a provider that is made', async () => {
  const { status, body } = await discover();
  expect([status, body.is_dynamic_client, providers(), asked]).toEqual([200, true, 1, ['POST /reg']]);
});

it('registers no client for a provider that the API server would not take', async () => {
  facade.kube.failOn(({ verb, kind, dryRun }) =>
    verb === 'create' && kind === OAUTH_PROVIDERS.kind && dryRun === true
      ? new Invalid('create: tokenUrl', [
          { field: 'spec.tokenUrl', message: 'must be https', reason: 'FieldValueInvalid' },
        ])
      : undefined,
  );
  expect((await discover()).status).toBe(422);
  expect([asked, providers()]).toEqual([[], 0]);
});

it.each<[string, Failure]>([
  [
    'cannot be stored',
    ({ verb, kind, dryRun }) =>
      verb === 'create' && kind === OAUTH_PROVIDERS.kind && dryRun !== true ? new Unavailable('down') : undefined,
  ],
  [
    'is stored, but not how its client is deleted',
    ({ verb, ref }) => (verb === 'create' && ref.name.startsWith('client-') ? new Unavailable('down') : undefined),
  ],
])('deletes the client of a provider that %s', async (_name, failure) => {
  facade.kube.failOn(failure);
  expect((await discover()).status).toBe(503);
  expect([asked, providers()]).toEqual([['POST /reg', 'DELETE /reg/ID'], 0]);
});

it('keeps the client of a provider that cannot be deleted', async () => {
  facade.kube.failOn(({ verb, ref }) =>
    verb === 'delete' || ref.name.startsWith('client-') ? new Unavailable('down') : undefined,
  );
  expect((await discover()).status).toBe(503);
  expect([asked, providers()]).toEqual([['POST /reg'], 1]);
});
