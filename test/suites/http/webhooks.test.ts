// Webhooks of code hosts: what is believed of one, by whom, and what the controller is told.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { Conflict, Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { anIntegration, type Facade, listen, makeFacade, ORGANIZATION } from './facade.ts';

const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const SECRET = 'webhook-secret-canary';
const MEBIBYTE = 1024 * 1024;

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ hosting: 'cloud' });
  anIntegration(facade, INTEGRATION);
  putSecret({ token: 't', 'webhook-secret': SECRET });
  aRecord('shop', 'https://host.example/Team/Shop.git');
});
afterEach(() => facade.app.close());

function putSecret(values: Readonly<Record<string, string>>): void {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const metadata = { name: 'git', namespace: ORGANIZATION.namespace };
  facade.kube.seed<KubeObject & { data: object }>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data });
}

function aRecord(name: string, repoUrl: string, more: object = {}): void {
  facade.seed({
    metadata: { name },
    spec: {
      source: 'codehost',
      sourceConfig: { integrationId: INTEGRATION, repoUrl, buildOnPush: true, ...more },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'langgraph.json' },
    } as never,
  });
}

const push = (repository = 'team/shop', more: object = {}): string =>
  JSON.stringify({ ref: 'refs/heads/main', after: 'f'.repeat(40), repository: { full_name: repository }, ...more });
const digest = (body: string | Buffer, secret = SECRET): string =>
  createHmac('sha256', secret).update(body).digest('hex');

async function deliver(
  body: string | Buffer,
  headers: Record<string, string> = {
    'x-gitea-event': 'push',
    'x-gitea-signature': digest(body),
    'content-type': 'application/json',
  },
  id = INTEGRATION,
): Promise<[status: number, detail: string]> {
  const url = `/v1/integrations/forge/codehost/${id}/webhook`;
  const answer = await facade.app.inject({ method: 'POST', url, headers, payload: body });
  return [answer.statusCode, answer.body];
}

const pushes = (): unknown =>
  facade.kube.objects<CodeHostIntegration>(CODE_HOST_INTEGRATIONS)[0]?.status?.pushes?.map((one) => ({ ...one }));
const TOLD = [{ repository: 'team/shop', at: '2026-01-01T00:00:00.000Z' }];

describe('a push', () => {
  it.each<[string, (body: string) => Record<string, string>]>([
    ['of GitHub', (body) => ({ 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${digest(body)}` })],
    ['of Gitea', (body) => ({ 'x-gitea-event': 'push', 'x-gitea-signature': digest(body) })],
    ['of Forgejo', (body) => ({ 'x-forgejo-event': 'push', 'x-forgejo-signature': digest(body).toUpperCase() })],
    [
      'of one that signs for all',
      (body) => ({
        'x-github-event': 'push',
        'x-gitea-event': 'push',
        'x-hub-signature': 'sha1=00',
        'x-hub-signature-256': `sha256=${digest(body)}`,
        'x-gitea-signature': digest(body),
      }),
    ],
  ])('%s is passed to the controller', async (_name, headersOf) => {
    const body = push('Team/Shop');
    expect(await deliver(body, { 'content-type': 'application/json', ...headersOf(body) })).toEqual([
      202,
      '{"repository":"team/shop"}',
    ]);
    expect(pushes()).toEqual(TOLD);
    // The facade's own right, and to this one field.
    expect(facade.writes()).toEqual([
      expect.objectContaining({
        verb: 'patch',
        kind: 'CodeHostIntegration',
        subresource: 'status',
        fieldManager: 'davit-webhook',
        body: { metadata: expect.objectContaining({ resourceVersion: expect.any(String) }), status: { pushes: TOLD } },
      }),
    ]);
    expect(facade.writes()[0]).not.toHaveProperty('token');
  });

  it('that is repeated changes only its time, and its commit is not used', async () => {
    await deliver(push());
    facade.clock.ms += 5000;
    facade.integrations.fill();
    expect((await deliver(push('team/shop', { after: '0'.repeat(40) })))[0]).toBe(202);
    expect(pushes()).toEqual([{ repository: 'team/shop', at: '2026-01-01T00:00:05.000Z' }]);
    expect(JSON.stringify(facade.writes())).not.toMatch(/f{40}|0{40}/);
  });

  it('of another repository is stored beside it', async () => {
    aRecord('second', 'https://host.example/team/second');
    await deliver(push());
    facade.clock.ms += 1000;
    facade.integrations.fill();
    await deliver(push('team/second'));
    expect(pushes()).toEqual([{ repository: 'team/second', at: '2026-01-01T00:00:01.000Z' }, ...TOLD]);
  });

  it('is passed on with an outdated cache, too', async () => {
    aRecord('second', 'https://host.example/team/second');
    await deliver(push());
    await deliver(push('team/second'));
    expect(pushes()).toHaveLength(2);
  });

  it('is passed on after a conflict', async () => {
    let conflicts = 2;
    facade.kube.failOn(({ verb }) => (verb === 'patch' && conflicts-- > 0 ? new Conflict('patch') : undefined));
    expect((await deliver(push()))[0]).toBe(202);
    expect(pushes()).toEqual(TOLD);
  });

  it("gets 500 where the facade's own account lacks the right", async () => {
    facade.kube.failOn(({ verb }) => (verb === 'patch' ? new Forbidden('patch') : undefined));
    expect((await deliver(push()))[0]).toBe(500);
  });

  it('gets 503 if the API server does not answer', async () => {
    facade.kube.failOn(({ verb }) => (verb === 'patch' ? new Unavailable('patch') : undefined));
    expect((await deliver(push()))[0]).toBe(503);
  });
});

describe('ignored webhooks', () => {
  it.each<[string, () => Promise<[number, string]>]>([
    ['another repository', () => deliver(push('team/other'))],
    ['a repository that only begins so', () => deliver(push('team/shop2'))],
    ['no repository', () => deliver('{"ref":"refs/heads/main"}')],
    ['no JSON', () => deliver('ref=refs/heads/main')],
    ['nothing', () => deliver('')],
    ['a repository that is no text', () => deliver('{"repository":{"full_name":7}}')],
    ['endless nesting', () => deliver('['.repeat(200_000))],
    [
      'another event',
      () => deliver(push(), { 'x-github-event': 'ping', 'x-hub-signature-256': `sha256=${digest(push())}` }),
    ],
    ['no event', () => deliver(push(), { 'x-hub-signature-256': `sha256=${digest(push())}` })],
  ])('%s', async (_name, send) => {
    expect(await send()).toEqual([204, '']);
    expect(facade.writes()).toEqual([]);
  });

  it('a push to a repository without build_on_push, or of another integration', async () => {
    aRecord('quiet', 'https://host.example/team/quiet', { buildOnPush: false });
    aRecord('foreign', 'https://host.example/team/foreign', { integrationId: '99999999-0000-4000-8000-000000000009' });
    expect((await deliver(push('team/quiet')))[0]).toBe(204);
    expect((await deliver(push('team/foreign')))[0]).toBe(204);
  });
});

describe('webhooks that get the same rejection', () => {
  const REFUSED = [
    401,
    JSON.stringify({
      detail:
        "The webhook is not signed with the integration's secret. Set the same secret in both (X-Hub-Signature-256 or X-Gitea-Signature).",
    }),
  ];
  const event = { 'x-gitea-event': 'push' };
  it.each<[string, () => Promise<[number, string]>]>([
    ['unsigned', () => deliver(push(), event)],
    ['signed by another secret', () => deliver(push(), { ...event, 'x-gitea-signature': digest(push(), 'other') })],
    ['signed for another body', () => deliver(push(), { ...event, 'x-gitea-signature': digest(push('team/x')) })],
    ['a signature that is cut off', () => deliver(push(), { ...event, 'x-gitea-signature': digest(push()).slice(1) })],
    ['an empty signature', () => deliver(push(), { ...event, 'x-hub-signature-256': 'sha256=' })],
    [
      "GitHub's old signature alone",
      () =>
        deliver(push(), {
          ...event,
          'x-hub-signature': `sha1=${createHmac('sha1', SECRET).update(push()).digest('hex')}`,
        }),
    ],
    ['an integration that is not there', () => deliver(push(), undefined, '99999999-0000-4000-8000-000000000009')],
    ['an integration that is a path', () => deliver(push(), undefined, '..%2f..')],
    [
      'an integration without a secret',
      () => {
        putSecret({ token: 't' });
        return deliver(push(), { ...event, 'x-gitea-signature': digest(push(), '') });
      },
    ],
    [
      'an integration whose secret is empty',
      () => {
        putSecret({ token: 't', 'webhook-secret': ' ' });
        return deliver(push(), { ...event, 'x-gitea-signature': digest(push(), '') });
      },
    ],
  ])('%s', async (_name, send) => {
    expect(await send()).toEqual(REFUSED);
    expect(facade.writes()).toEqual([]);
  });

  it('many unsigned webhooks read the secret once', async () => {
    let reads = 0;
    facade.kube.failOn(({ verb, kind }) => {
      if (verb === 'get' && kind === 'Secret') reads += 1;
      return undefined;
    });
    const wrong = { ...event, 'x-gitea-signature': digest(push(), 'other') };
    await Promise.all(Array.from({ length: 50 }, () => deliver(push(), wrong)));
    expect(reads).toBe(1);
    facade.clock.ms += 11_000;
    putSecret({ 'webhook-secret': 'other' });
    expect((await deliver(push(), wrong))[0]).toBe(202);
  });
});

describe('a large webhook', () => {
  it('of nearly 10 MiB is accepted', async () => {
    const body = push('team/shop', { commits: 'x'.repeat(10 * MEBIBYTE - 1000) });
    expect((await deliver(body))[0]).toBe(202);
  });

  it('of more is rejected', async () => {
    const [status, detail] = await deliver(push('team/shop', { commits: 'x'.repeat(10 * MEBIBYTE) }));
    expect([status, detail]).toEqual([413, expect.stringContaining('larger than 10 MiB')]);
  });

  it('of a sender that leaves while it sends, or while it waits for others, keeps nobody out', async () => {
    await deliver(push());
    const { port } = new URL(await listen(facade));
    const head = `POST /v1/integrations/forge/codehost/${INTEGRATION}/webhook HTTP/1.1\r\nHost: x\r\nX-Gitea-Signature: ${'0'.repeat(64)}\r\nContent-Length: 100000\r\n\r\n`;
    const senders: Socket[] = [];
    const gone: Promise<unknown>[] = [];
    for (let sender = 0; sender < 3; sender += 1) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`${head}some`);
      const [request] = (await once(facade.app.server, 'request')) as [IncomingMessage];
      await setImmediate();
      gone.push(new Promise((closed) => request.socket.once('close', closed)));
      senders.push(socket);
    }
    for (const socket of senders) socket.destroy();
    await Promise.all(gone);
    const body = push('team/shop', { commits: 'x'.repeat(100_000) });
    expect((await deliver(body))[0]).toBe(202);
  });

  it('that is unsigned is not read', async () => {
    const body = Buffer.alloc(11 * MEBIBYTE);
    expect((await deliver(body, { 'content-type': 'application/json' }))[0]).toBe(401);
  });
});

it('the secret is not in the log', async () => {
  await deliver(push());
  await deliver(push(), { 'x-gitea-event': 'push' });
  expect(facade.log()).not.toContain(SECRET);
});
