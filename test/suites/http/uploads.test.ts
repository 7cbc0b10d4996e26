// Uploads of sources: an address by whoever may change the deployment, and one upload to it, over HTTP and into a registry.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isSigned, uploadSignature } from '../../../src/build/http/uploads/routes.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import type { FakeRegistry } from '../../support/fake-registry.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT } from './facade.ts';
import { costOf } from './log-source.ts';

const MEBIBYTE = 1024 * 1024;
const SOURCE = gzipSync(Buffer.alloc(100_000, 'source'));
const repository = `${TENANT.namespace}-aaaaaaaa/shop`;

let setup: FacadeWithRegistry;
let registry: FakeRegistry;
let facade: Facade;
let serving: Serving;
let id: string;

beforeEach(async () => {
  setup = await makeFacadeWithRegistry();
  ({ facade, registry } = setup);
  serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
  const body = aBody({ source: 'internal_source', source_revision_config: {} });
  id = (await facade.call('POST', '/v2/deployments', body)).body.id;
});
afterEach(async () => {
  await serving.close();
  await setup.close();
});

const ask = (body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
  facade.call('POST', `/v2/deployments/${id}/upload-url`, body, { host: `127.0.0.1:${serving.port}`, ...headers });

async function put(
  url: string,
  body: Buffer | string,
  headers: Record<string, string> = { 'content-type': 'application/gzip' },
): Promise<[status: number, detail: unknown]> {
  const answer = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(Buffer.from(body)) });
  const { detail } = (await answer.json()) as { detail?: unknown };
  return [answer.status, detail];
}

/** So many bytes of which only a few are held. */
async function putMuch(url: string, bytes: number): Promise<string> {
  const headers = { 'content-type': 'application/gzip', 'content-length': bytes };
  const sent = request(url, { method: 'PUT', headers });
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
  const piece = Buffer.alloc(MEBIBYTE);
  SOURCE.copy(piece, 0, 0, 10);
  for (let left = bytes; left > 0; left -= piece.length) if (!sent.write(piece)) await once(sent, 'drain');
  sent.end();
  return text((await answer)[0]);
}

/** Whatever a client of HTTP would not send. Answers with everything that comes. */
async function raw(text: string, more?: Buffer): Promise<string> {
  const socket = connect(serving.port, '127.0.0.1');
  socket.write(text);
  if (more !== undefined) socket.write(more);
  let answer = '';
  for await (const piece of socket) {
    answer += String(piece);
    if (answer.includes('}')) break;
  }
  return answer;
}

const patch = (source_tarball_path: unknown, of = id): Promise<Answer> =>
  facade.call('PATCH', `/v2/deployments/${of}`, {
    revision_source: 'internal_source',
    source_revision_config: { source_tarball_path, langgraph_config_path: 'langgraph.json' },
  });

const refused = (msg: string): object => ({
  detail: [{ loc: ['body', 'source_revision_config', 'source_tarball_path'], msg, type: 'value_error' }],
});
const NOT_GIVEN = refused('is not a path that the upload endpoint returned');

it('an upload becomes one layer in the deployment’s own repository, and the revision is of it', async () => {
  const { status, body } = await ask({ supports_upload_headers: true });
  expect([status, body]).toEqual([
    200,
    {
      upload_url: expect.stringMatching(
        `^http://127\\.0\\.0\\.1:${serving.port}/v1/uploads/${id}/[0-9a-f]{32}\\?expires=\\d+&signature=[\\w-]{43}$`,
      ),
      object_path: expect.stringMatching(/^uploads\/[0-9a-f]{32}$/),
      upload_headers: { 'Content-Type': 'application/gzip' },
      expires_at: '2026-01-01T00:05:00.000Z',
      max_bytes: 200 * MEBIBYTE,
    },
  ]);
  expect((await patch(body.object_path)).body).toEqual(NOT_GIVEN);
  expect(await put(body.upload_url, SOURCE, body.upload_headers)).toEqual([201, undefined]);

  const tag = body.object_path.replace('/', '-').replace('uploads', 'upload');
  const manifest = JSON.parse(registry.manifests.get(`${repository}:${tag}`)?.body.toString() ?? '') as {
    layers: { digest: string; size: number }[];
  };
  expect(manifest.layers).toHaveLength(1);
  expect(registry.blobs.get(`${repository}@${manifest.layers[0]?.digest}`)?.equals(SOURCE)).toBe(true);

  const patched = await patch(body.object_path);
  expect([patched.status, patched.body.source_revision_config]).toEqual([
    200,
    expect.objectContaining({ source_tarball_path: body.object_path, workflow_config_path: 'langgraph.json' }),
  ]);
  expect(patched.body.latest_revision_id).not.toBeNull();
});

it('an address may be used under the base path, and is https where that is how the caller came', async () => {
  const { body } = await ask({}, { 'x-forwarded-proto': 'https', host: 'davit.example' });
  expect(body.upload_url).toMatch(/^https:\/\/davit\.example\/v1\/uploads\//);
});

it('200 MiB pass through without being held', async () => {
  const { body } = await ask();
  // The registry of this test keeps what it gets; one that does not shows what the facade keeps.
  registry.fault = (request, response) => {
    if (request.method !== 'PATCH') return false;
    request.resume().once('end', () => response.writeHead(500).end());
    return true;
  };
  let answer: unknown;
  const { mebibytes } = await costOf(async () => (answer = await putMuch(body.upload_url, 200 * MEBIBYTE)));
  expect(answer).toBe('{"detail":"The registry failed: it answered 500. Try again later."}');
  // Client, facade and registry share this process, and what each has passed on waits for the collector.
  expect(mebibytes).toBeLessThan(160);
});

describe('an address', () => {
  it('is used once', async () => {
    const { body } = await ask();
    expect((await put(body.upload_url, SOURCE))[0]).toBe(201);
    const before = new Map(registry.manifests);
    expect(await put(body.upload_url, gzipSync('another'))).toEqual([
      409,
      'This upload address has already been used. Get another one with POST …/upload-url.',
    ]);
    expect(registry.manifests).toEqual(before);
  });

  it('is used once by two at the same time', async () => {
    const { body } = await ask();
    const both = await Promise.all([put(body.upload_url, SOURCE), put(body.upload_url, SOURCE)]);
    expect(both.map(([status]) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  it('that failed may be used again', async () => {
    const { body } = await ask();
    expect((await put(body.upload_url, 'no gzip'))[0]).toBe(422);
    expect((await put(body.upload_url, SOURCE))[0]).toBe(201);
  });

  it('ends after five minutes', async () => {
    const { body } = await ask();
    facade.clock.ms += 300_001;
    expect(await put(body.upload_url, SOURCE)).toEqual([
      403,
      'This upload address has expired. Get another one with POST …/upload-url.',
    ]);
  });

  it.each<[string, (url: string) => string]>([
    ['of another upload', (url) => url.replace(/\/[0-9a-f]{32}/, `/${'f'.repeat(32)}`)],
    ['of another deployment', (url) => url.replace(id, '99999999-0000-4000-8000-000000000009')],
    ['that lasts longer', (url) => url.replace(/expires=\d/, 'expires=9')],
    ['whose time is no number', (url) => url.replace(/expires=\d+/, 'expires=x')],
    ['without a signature', (url) => url.replace(/&signature=.*/, '')],
    ['with another signature', (url) => url.replace(/signature=.*/, `signature=${'A'.repeat(43)}`)],
    ['with two signatures', (url) => `${url}&signature=x`],
    ['without anything', (url) => url.replace(/\?.*/, '')],
  ])('%s is none', async (_name, change) => {
    const { body } = await ask();
    expect(await put(change(body.upload_url), SOURCE)).toEqual([
      403,
      'This upload address is not signed by Davit. Get a new one with POST …/upload-url.',
    ]);
    expect(registry.blobs.size).toBe(0);
  });

  it('is of no use once the deployment is gone', async () => {
    const { body } = await ask();
    facade.records.drop(id);
    expect(await put(body.upload_url, SOURCE)).toEqual([
      404,
      expect.stringContaining('The deployment of this upload address no longer exists.'),
    ]);
  });

  it('is signed with a key of its own', () => {
    const upload = { deployment: 'a', id: 'b', expires: 1 };
    const signature = uploadSignature(Buffer.alloc(32, 1), upload);
    expect(isSigned(Buffer.alloc(32, 1), upload, signature)).toBe(true);
    expect(isSigned(Buffer.alloc(32, 2), upload, signature)).toBe(false);
    expect(isSigned(Buffer.alloc(32, 1), { ...upload, expires: 2 }, signature)).toBe(false);
  });
});

describe('what is sent', () => {
  it.each<[string, Buffer | string]>([
    ['nothing', ''],
    ['two bytes', Buffer.from([0x1f, 0x8b])],
    ['text', 'name=shop'],
    ['a zip', Buffer.from('PK\u0003\u0004')],
    ['another compression', Buffer.concat([Buffer.from([0x1f, 0x8b, 0x00]), Buffer.alloc(100)])],
    ['much that is no gzip', Buffer.alloc(5 * MEBIBYTE, 'x')],
  ])('%s is no archive', async (_name, content) => {
    const { body } = await ask();
    expect(await put(body.upload_url, content)).toEqual([
      422,
      [{ loc: ['body'], msg: 'must be a tar archive compressed with gzip', type: 'value_error' }],
    ]);
    expect([registry.manifests.size, registry.open.size, registry.blobs.size]).toEqual([0, 0, 0]);
  });

  it.each([
    ['JSON', { 'content-type': 'application/json' }],
    ['no type', {}],
    ['packed once more', { 'content-type': 'application/gzip', 'content-encoding': 'gzip' }],
  ])('as %s is refused', async (_name, headers) => {
    const { body } = await ask();
    expect(await put(body.upload_url, SOURCE, headers)).toEqual([415, expect.stringMatching(/^Send the /)]);
  });

  it('without its length is refused', async () => {
    const path = new URL((await ask()).body.upload_url);
    const head = `PUT ${path.pathname}${path.search} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n`;
    expect(await raw(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 411 .*Content-Length/s,
    );
  });

  it('of more than the platform takes is refused before it is read', async () => {
    const path = new URL((await ask()).body.upload_url);
    const head = `PUT ${path.pathname}${path.search} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n`;
    const answer = await raw(`${head}Content-Length: ${200 * MEBIBYTE + 1}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*The upload is larger than 200 MiB\./s);
    expect(registry.seen.filter((one) => one.startsWith('POST'))).toEqual([]);
  });

  it('may take longer than other requests, at an address that is signed and unused', async () => {
    const slow = await serve(facade.app, { host: '127.0.0.1', port: 0, limits: { requestTimeout: 100 } });
    const path = new URL((await ask()).body.upload_url);
    const dribble = async (): Promise<string> => {
      const head = `PUT ${path.pathname}${path.search} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n`;
      const socket = connect(slow.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(`${head}Content-Length: 30\r\n\r\n`);
      socket.write(SOURCE.subarray(0, 10));
      setTimeout(() => socket.write(SOURCE.subarray(10, 30)), 400);
      let answer = '';
      for await (const piece of socket) {
        answer += String(piece);
        if (answer.includes('"size"')) break;
      }
      return answer;
    };
    expect(await dribble()).toMatch(/^HTTP\/1\.1 201 /);
    expect(await dribble()).toMatch(/^HTTP\/1\.1 409 .*HTTP\/1\.1 408 /s);
    await slow.close();
  });

  it('waits for its turn for longer than a connection may be idle', async () => {
    const strict = await serve(facade.app, { host: '127.0.0.1', port: 0, limits: { idleTimeout: 200 } });
    const address = async (): Promise<URL> => new URL((await ask()).body.upload_url);
    const slow = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const { pathname, search } = await address();
        const socket = connect(strict.port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n`);
        socket.write('Content-Length: 30000\r\n\r\n');
        socket.write(SOURCE.subarray(0, 10));
        const dribble = setInterval(() => socket.write('.'), 50);
        return () => {
          clearInterval(dribble);
          socket.destroy();
        };
      }),
    );
    await until(() => registry.seen.filter((one) => one.startsWith('POST')).length === 3);
    const { pathname, search } = await address();
    const much = Buffer.alloc(MEBIBYTE);
    SOURCE.copy(much, 0, 0, 10);
    const waiting = put(`http://127.0.0.1:${strict.port}${pathname}${search}`, much);
    setTimeout(() => slow.forEach((end) => end()), 800);
    expect(await waiting).toEqual([201, undefined]);
    await strict.close();
  });

  it('that is cut off leaves nothing', async () => {
    const path = new URL((await ask()).body.upload_url);
    const head = `PUT ${path.pathname}${path.search} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n`;
    const socket = connect(serving.port, '127.0.0.1');
    socket.write(`${head}Content-Length: ${SOURCE.length}\r\n\r\n`);
    socket.write(SOURCE.subarray(0, SOURCE.length / 2));
    await until(() => registry.seen.some((one) => one.startsWith('PATCH')));
    socket.destroy();
    await until(() => registry.seen.some((one) => one.startsWith('DELETE')));
    expect([registry.manifests.size, registry.blobs.size]).toEqual([0, 0]);
    expect(facade.log()).not.toContain('"level":50');
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    if (turns > 500) throw new Error(`it does not come: ${registry.seen.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('who may have an address', () => {
  it('not one who may only read', async () => {
    const forbidden = new (await import('../../../src/runtime/errors.ts')).Forbidden('patch shop', {
      serverMessage: 'no right',
    });
    facade.kube.failOn(({ verb }) => (verb === 'patch' ? forbidden : undefined));
    expect(await ask()).toMatchObject({ status: 403, body: { detail: 'no right' } });
  });

  it("not another tenant's", async () => {
    const foreign = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata.uid;
    expect((await facade.call('POST', `/v2/deployments/${foreign}/upload-url`)).status).toBe(404);
  });

  it('not for another source', async () => {
    const { uid } = facade.seed({ metadata: { name: 'image' } }).metadata;
    expect(await facade.call('POST', `/v2/deployments/${uid}/upload-url`, {})).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("only available for 'internal_source' source deployments") },
    });
  });

  it('nobody where there is no registry', async () => {
    const without = await makeFacade({ hosting: 'cloud' });
    const body = aBody({ source: 'internal_source', source_revision_config: {} });
    const made = (await without.call('POST', '/v2/deployments', body)).body.id;
    expect(await without.call('POST', `/v2/deployments/${made}/upload-url`, {})).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('builds.registry') },
    });
  });
});

describe('a path of an upload', () => {
  it.each(['uploads/00000000000000000000000000000000', '../x', '/etc/passwd', 'uploads/x', 7])(
    '%s that nobody was given is refused',
    async (path) => {
      const { status, body } = await patch(path);
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'source_revision_config', 'source_tarball_path']]);
    },
  );

  it("of another deployment's upload is refused", async () => {
    const { body } = await ask();
    await put(body.upload_url, SOURCE);
    const second = aBody({ name: 'second', source: 'internal_source', source_revision_config: {} });
    const other = (await facade.call('POST', '/v2/deployments', second)).body.id;
    expect((await patch(body.object_path, other)).body).toEqual(NOT_GIVEN);
  });

  it('is refused of a deployment that is only made', async () => {
    const sent = {
      source: 'internal_source',
      name: 'new',
      source_revision_config: { source_tarball_path: `uploads/${'0'.repeat(32)}` },
    };
    expect((await facade.call('POST', '/v2/deployments', aBody(sent))).body).toEqual(NOT_GIVEN);
  });

  it('is not judged again where nothing of it changes', async () => {
    const { body } = await ask();
    await put(body.upload_url, SOURCE);
    await patch(body.object_path);
    registry.manifests.clear();
    const change = {
      source_config: { build_command: 'make' },
      source_revision_config: { source_tarball_path: body.object_path },
    };
    expect((await facade.call('PATCH', `/v2/deployments/${id}`, change)).status).toBe(200);
  });
});

describe('a registry', () => {
  it.each<[string, number, number, RegExp]>([
    ['that has no room', 507, 507, /no free storage/],
    ['that is being cleaned up', 405, 503, /cleaned up/],
    ['that refuses', 403, 502, /refused/],
    ['that fails', 500, 502, /answered 500/],
  ])('%s is told', async (_name, answers, status, detail) => {
    const { body } = await ask();
    registry.fault = (_request, response) => {
      response.writeHead(answers).end();
      return true;
    };
    expect(await put(body.upload_url, SOURCE)).toEqual([status, expect.stringMatching(detail)]);
  });

  it('that is down is told, to whoever names an upload too', async () => {
    const { body } = await ask();
    await registry.close();
    expect(await put(body.upload_url, SOURCE)).toEqual([502, 'The registry cannot be reached. Try again later.']);
    expect(await patch(body.object_path)).toMatchObject({ status: 502 });
  });
});
