// The client of a registry, against one over HTTP: what it stores and reads, what it is authorized by, and every way in which
// a registry fails.

import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Authorize, authorizeByKeys, authorizeByPassword } from '../../../src/build/registry/authorization.ts';
import { makeRegistryClient, type RegistryClient } from '../../../src/build/registry/client.ts';
import { keyRingData, makeSigningKey } from '../../../src/build/registry/signing-keys.ts';
import { RegistryFailed } from '../../../src/runtime/errors.ts';
import { makeRegistryTransport, type RegistryTransport } from '../../../src/runtime/outbound/registry-transport.ts';
import { type FakeRegistry, startFakeRegistry } from '../../support/fake-registry.ts';

const repository = 'team-a-aaaaaaaa/shop';
const now = new Date('2026-01-01T00:00:00Z');
const ring = { keys: [makeSigningKey(now)] };
const MEBIBYTE = 1024 * 1024;

let registry: FakeRegistry;
let transport: RegistryTransport;
let client: RegistryClient;
// Longer than a busy machine needs: what is tested here is never that it is quick.
const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const byKeys = authorizeByKeys(() => Promise.resolve(ring), { now: () => now, randomId: () => 'x' });

beforeEach(async () => {
  registry = await startFakeRegistry();
  registry.keys = () => Promise.resolve(keyRingData(ring)['jwks.json']);
  transport = makeRegistryTransport({ origin: registry.origin });
  client = clientBy(byKeys);
});
afterEach(async () => {
  await transport.close();
  await registry.close();
});

function clientBy(authorize: Authorize): RegistryClient {
  return makeRegistryClient({ origin: registry.origin, transport, authorize });
}

async function* pieces(count: number, size = 64 * 1024, failAt = -1): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) {
    if (n === failAt) throw new Error('the sender has gone');
    yield Buffer.alloc(size, n);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('a blob', () => {
  it('is stored as it comes, and read piece by piece', async () => {
    const stored = await client.uploadBlob(repository, pieces(80), signal());
    const whole = registry.blobs.get(`${repository}@${stored.digest}`);
    expect(stored).toEqual({
      digest: `sha256:${createHash('sha256')
        .update(whole ?? '')
        .digest('hex')}`,
      size: 5 * MEBIBYTE,
    });
    const read = await client.blob(repository, stored.digest, signal());
    expect((await buffer(read ?? pieces(0))).equals(whole ?? Buffer.alloc(0))).toBe(true);
    expect(registry.open.size).toBe(0);
  });

  it('that nobody stored is not there', async () => {
    expect(await client.blob(repository, `sha256:${'0'.repeat(64)}`, signal())).toBeUndefined();
  });

  it("whose sender fails leaves nothing, and the failure is the sender's", async () => {
    expect(await failureOf(client.uploadBlob(repository, pieces(10, 1000, 5), signal()))).toEqual(
      new Error('the sender has gone'),
    );
    expect([registry.blobs.size, registry.open.size]).toEqual([0, 0]);
  });

  it('is taken from its sender no faster than the registry takes it', async () => {
    let sent = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    registry.fault = (request, response) => {
      if (request.method !== 'PATCH') return false;
      // Reads nothing for a while.
      void held.then(() => request.resume().once('end', () => response.writeHead(500).end()));
      return true;
    };
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces(640)) {
        sent += piece.length;
        yield piece;
      }
    }
    const upload = failureOf(client.uploadBlob(repository, counted(), signal()));
    await new Promise((resolve) => setTimeout(resolve, 250));
    // What the buffers of both ends of a connection hold, of 40 MiB.
    expect(sent).toBeLessThan(20 * MEBIBYTE);
    release();
    expect(await upload).toMatchObject({ why: 'unreachable' });
  });

  it('goes no further when its upload is sent to another host', async () => {
    registry.fault = (request, response) => {
      if (request.method !== 'POST') return false;
      response.writeHead(202, { location: 'https://elsewhere.example/upload' }).end();
      return true;
    };
    expect(await failureOf(client.uploadBlob(repository, pieces(1), signal()))).toMatchObject({ why: 'malformed' });
  });

  it('is not read from a private address that the registry names', async () => {
    registry.fault = (_request, response) => {
      response.writeHead(307, { location: 'https://169.254.169.254/latest' }).end();
      return true;
    };
    expect(await failureOf(client.blob(repository, `sha256:${'0'.repeat(64)}`, signal()))).toMatchObject({
      why: 'malformed',
      message: expect.stringContaining('169.254.169.254'),
    });
  });
});

describe('a manifest', () => {
  it('tags one layer, and is found by its tag and its digest', async () => {
    const layer = { mediaType: 'application/gzip', ...(await client.uploadBlob(repository, pieces(1), signal())) };
    const artifact = { artifactType: 'application/vnd.example', layer };
    const digest = await client.tagArtifact(repository, 'upload-1', artifact, signal());
    expect(await client.digestOf(repository, 'upload-1', signal())).toBe(digest);
    expect(await client.digestOf(repository, digest, signal())).toBe(digest);
    expect(await client.manifest(repository, 'upload-1', signal())).toMatchObject({
      artifactType: 'application/vnd.example',
      layers: [layer],
    });
  });

  it('gets another tag, byte for byte, and loses a tag without being lost itself', async () => {
    const index = { schemaVersion: 2, manifests: [], layers: [] };
    const digest = registry.put(repository, 'latest', index);
    expect(await client.tag(repository, digest, 'keep-1', signal())).toBe(true);
    expect(await client.digestOf(repository, 'keep-1', signal())).toBe(digest);
    expect(await client.tags(repository, signal())).toEqual(['keep-1', 'latest']);
    await client.deleteTag(repository, 'latest', signal());
    await client.deleteTag(repository, 'latest', signal());
    expect(await client.tags(repository, signal())).toEqual(['keep-1']);
    expect(await client.digestOf(repository, digest, signal())).toBe(digest);
    expect(await client.tag(repository, `sha256:${'0'.repeat(64)}`, 'keep-2', signal())).toBe(false);
  });

  it('is not tagged if it is so large that the registry would be busy for long', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`key-${index}`, 'x']));
    const digest = registry.put(repository, 'latest', { schemaVersion: 2, manifests: [], layers: [], annotations });
    await expect(client.tag(repository, digest, 'keep-1', signal())).rejects.toMatchObject({
      why: 'tooLarge',
      message: expect.stringContaining('larger than 512 KiB. Push an image with fewer layers') as string,
    });
    expect(await client.tags(repository, signal())).toEqual(['latest']);
  });

  it('has as many tags as are asked for, without the pages that are not', async () => {
    const digest = registry.put(repository, 'latest');
    const stored = registry.manifests.get(`${repository}@${digest}`);
    for (let index = 0; index < 2500 && stored; index += 1) registry.manifests.set(`${repository}:v${index}`, stored);
    const pages = (): number => registry.seen.filter((path) => path.includes('/tags/list')).length;
    const found = await client.tags(repository, signal());
    expect([found.length, new Set(found).size]).toEqual([2501, 2501]);
    const asked = pages();
    expect(await client.tags(repository, signal(), 1001)).toHaveLength(2000);
    expect(pages() - asked).toBe(2);
  });

  it('is in a repository that the registry lists to who may ask for all of them', async () => {
    registry.put(repository, 'latest');
    registry.put('base/python', '3');
    expect(await client.repositories(signal())).toEqual([repository, 'base/python']);
  });

  it('that is not there is undefined', async () => {
    expect(await client.digestOf(repository, 'nothing', signal())).toBeUndefined();
    expect(await client.manifest(repository, 'nothing', signal())).toBeUndefined();
  });

  it('without a digest, and one that is none', async () => {
    registry.fault = (_request, response) => {
      response.writeHead(200).end('{"layers":[{"digest":"sha256:short"}]}');
      return true;
    };
    expect(await failureOf(client.digestOf(repository, 'x', signal()))).toMatchObject({ why: 'malformed' });
    expect(await failureOf(client.manifest(repository, 'x', signal()))).toMatchObject({ why: 'malformed' });
  });

  it('of endless length is given up', async () => {
    registry.fault = (_request, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(MEBIBYTE, 'x'), () => setImmediate(more));
      };
      response.writeHead(200);
      more();
      return true;
    };
    expect(await failureOf(client.manifest(repository, 'x', signal()))).toMatchObject({
      why: 'malformed',
      message: expect.stringContaining('larger than'),
    });
  });
});

describe('a registry', () => {
  it.each<[string, RegistryFailed['why'], number, string]>([
    ['that refuses', 'refused', 403, '{"errors":[{"code":"DENIED"}]}'],
    ['that is read-only', 'readOnly', 405, '{"errors":[{"code":"UNSUPPORTED"}]}'],
    ['that has no room', 'full', 500, '{"errors":[{"code":"UNKNOWN","detail":{"Op":"write","Path":"/x","Err":28}}]}'],
    ['that says that it has no room', 'full', 507, ''],
    ['that takes nothing so large', 'full', 413, ''],
    ['that fails', 'unreachable', 503, '<html>bad gateway</html>'],
    ['that asks to be left alone', 'unreachable', 429, ''],
    ['that makes no sense', 'malformed', 418, ''],
  ])('%s', async (_name, why, status, body) => {
    registry.fault = (_request, response) => {
      response.writeHead(status).end(body);
      return true;
    };
    const failed = await failureOf(client.uploadBlob(repository, pieces(1), signal()));
    expect(failed).toBeInstanceOf(RegistryFailed);
    expect(failed).toMatchObject({ why });
    // The registry's own words may hold what only the platform's people should see.
    if (body !== '') expect(String(failed)).not.toContain(body);
  });

  it('that is silent', async () => {
    registry.fault = () => true;
    const hasty = makeRegistryTransport({ origin: registry.origin, answerTimeoutMs: 300 });
    const { digestOf } = makeRegistryClient({ origin: registry.origin, transport: hasty, authorize: byKeys });
    expect(await failureOf(digestOf(repository, 'x', signal()))).toMatchObject({ why: 'timeout' });
    await hasty.close();
  });

  it('that is down', async () => {
    await registry.close();
    expect(await failureOf(client.digestOf(repository, 'x', signal()))).toMatchObject({ why: 'unreachable' });
  });

  it('that ends in the middle of a blob', async () => {
    registry.fault = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('half', () => response.destroy());
      return true;
    };
    const blob = await client.blob(repository, `sha256:${'0'.repeat(64)}`, signal());
    expect(await failureOf(buffer(blob ?? pieces(0)))).toMatchObject({ why: 'unreachable' });
  });

  it('is not asked for longer than somebody waits', async () => {
    registry.fault = () => true;
    const gone = new AbortController();
    setTimeout(() => gone.abort(new Error('nobody waits')), 20);
    expect(await failureOf(client.digestOf(repository, 'x', gone.signal))).toEqual(new Error('nobody waits'));
  });
});

describe('a request', () => {
  it('is for its repository and what it does alone', async () => {
    const keys: string[] = [];
    registry.fault = (request) => {
      const [, claims = ''] = (request.headers.authorization ?? '').split('.');
      const { access } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { access: object };
      keys.push(JSON.stringify(access));
      return false;
    };
    await client.digestOf(repository, 'x', signal());
    expect(keys).toEqual([JSON.stringify([{ type: 'repository', name: repository, actions: ['pull'] }])]);
  });

  it('with a key that the registry does not know is refused', async () => {
    const other = { keys: [makeSigningKey(now)] };
    const stranger = clientBy(authorizeByKeys(() => Promise.resolve(other), { now: () => now, randomId: () => 'x' }));
    expect(await failureOf(stranger.uploadBlob(repository, pieces(1), signal()))).toMatchObject({ why: 'refused' });
    expect(registry.seen).toHaveLength(1);
  });

  it('by Basic, where the registry asks for it', async () => {
    registry.basic = 'robot:secret';
    const credential = { username: 'robot', password: 'secret' };
    const robot = clientBy(authorizeByPassword(() => Promise.resolve(credential), transport));
    expect((await robot.uploadBlob(repository, pieces(3), signal())).size).toBe(3 * 64 * 1024);
    const wrong = clientBy(authorizeByPassword(() => Promise.resolve({ ...credential, password: 'x' }), transport));
    expect(await failureOf(wrong.uploadBlob(repository, pieces(3), signal()))).toMatchObject({ why: 'refused' });
  });

  it("by the registry's own token server, where it names one", async () => {
    const asked: string[] = [];
    const { keys } = registry;
    registry.fault = (request, response) => {
      if (request.url?.startsWith('/token') === true) {
        asked.push(`${request.url} ${request.headers.authorization}`);
        void byKeys
          .header({ repository, actions: ['pull', 'push'] }, undefined, signal())
          .then((header) => response.end(JSON.stringify({ token: header?.authorization.slice('Bearer '.length) })));
        return true;
      }
      if (request.headers.authorization !== undefined) return false;
      const challenge = `Bearer realm="${registry.origin}/token",service="hub"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    };
    expect(keys).toBeDefined();
    const credential = { username: 'robot', password: 'secret' };
    const robot = clientBy(authorizeByPassword(() => Promise.resolve(credential), transport));
    expect((await robot.uploadBlob(repository, pieces(2), signal())).size).toBe(2 * 64 * 1024);
    const scope = encodeURIComponent(`repository:${repository}:pull,push`);
    expect(asked[0]).toBe(`/token?service=hub&scope=${scope} Basic ${Buffer.from('robot:secret').toString('base64')}`);
  });

  it('by no other token server without TLS', async () => {
    const asked: (string | undefined)[] = [];
    registry.fault = (request, response) => {
      asked.push(request.headers.authorization);
      const elsewhere = registry.origin.replace('127.0.0.1', 'localhost');
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${elsewhere}/token",service="hub"` }).end();
      return true;
    };
    const credential = { username: 'robot', password: 'secret' };
    const robot = clientBy(authorizeByPassword(() => Promise.resolve(credential), transport));
    expect(await failureOf(robot.digestOf(repository, 'x', signal()))).toMatchObject({
      why: 'malformed',
      message: expect.stringContaining('not https'),
    });
    expect(asked).toEqual([undefined]);
  });
});
