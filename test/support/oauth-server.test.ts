import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { startOAuthServer } from './oauth-server.ts';

it('answers a browser without a session, and serves the next one', async () => {
  const server = await startOAuthServer(['https://davit.example/callback']);
  const dispatcher = new Agent({ connect: { ca: server.ca } });
  try {
    const { statusCode, body } = await request(`${server.issuer}/interaction/unknown`, { dispatcher });
    expect([statusCode, await body.text()]).toEqual([400, expect.stringContaining('SessionNotFound')]);
    const { statusCode: next } = await request(`${server.issuer}/.well-known/openid-configuration`, { dispatcher });
    expect(next).toBe(200);
  } finally {
    await dispatcher.close();
    await server.close();
  }
});
