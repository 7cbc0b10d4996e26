// The API's tokens and uploads with CNCF Distribution as the chart configures it and a published client, without a cluster: what the
// registry itself accepts and refuses of what Davit signs, and what its garbage collection leaves.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { RegistryClient } from '../../../src/build/registry/client.ts';
import { ARGUMENT, COLLECT } from '../../../src/build/registry/collection.ts';
import { registryPassword } from '../../../src/build/registry/registry-grant.ts';
import { keyRingData } from '../../../src/build/registry/signing-keys.ts';
import { keepTag } from '../../../src/deploy/record/registry-names.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { basePassword } from '../../../src/main/registry-password.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { type FakeS3, startFakeS3 } from '../../support/fake-s3.ts';
import { type ChartRenderer, type Manifest, makeChartRenderer, manifestNamed } from '../../support/rendered-chart.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Answer, aBody, type Facade, makeFacade, TENANT } from '../http/facade.ts';
import { authority } from './servers.ts';

const run = promisify(execFile);
const SOURCE = gzipSync('a source');

let folder: string;
let tools: Awaited<ReturnType<typeof ensureTools>>;
let chart: ChartRenderer;
let facade: Facade;
let serving: Serving;
let registry: ChildProcess | undefined;
/** Where the registry keeps its data, if not on a volume. */
let bucket: FakeS3 | undefined;
let host: string;
let id: string;
let password: string;

beforeAll(async () => {
  tools = await ensureTools(['registry'], () => undefined);
  chart = await makeChartRenderer();
  folder = await mkdtemp(join(tmpdir(), 'davit-registry-'));
  host = `localhost:${await freePort('127.0.0.1')}`;
  const { builds } = defaultSettings();
  const upkeep = { enabled: true, everyDays: 7, hour: 3, limitMinutes: 30, cacheDays: 30, maxTags: 500 };
  const settings = { host, insecure: false, tokens: true, ca: authority.certificate, upkeep };
  facade = await makeFacade(
    { hosting: 'both', builds: { ...builds, registry: settings } },
    {},
    {
      withRegistry: true,
    },
  );
  // The registry has a clock of its own.
  facade.clock.ms = Date.now();
  const { certificate, key } = authority.serving('localhost', ['localhost', '127.0.0.1']);
  const pair = { cert: Buffer.from(certificate), key: Buffer.from(key) };
  serving = await serve(facade.app, {
    host: '127.0.0.1',
    port: 0,
    tls: { current: pair, follow: () => () => undefined },
  });
  const keys = keyRingData((await facade.registry?.keyRing()) ?? { keys: [] });
  await Promise.all([
    writeFile(join(folder, 'ca.crt'), authority.certificate),
    writeFile(join(folder, 'tls.crt'), certificate),
    writeFile(join(folder, 'tls.key'), key, { mode: 0o600 }),
    writeFile(join(folder, 'jwks.json'), keys['jwks.json']),
    writeFile(join(folder, 'layer.tar'), Buffer.alloc(1024)),
  ]);
  await startRegistry();
  id = await made('shop', 'internal_docker');
  password = (await facade.call('POST', `/v2/deployments/${id}/push-token`, {})).body.token;
});

afterAll(async () => {
  await stopRegistry();
  await bucket?.close();
  await serving?.close();
  await facade?.registry?.close();
  await chart?.close();
  await rm(folder, { recursive: true, force: true });
});

async function startRegistry(readOnly = false): Promise<void> {
  const { auth, http, storage, ...rest } = await configuration();
  const config = {
    ...rest,
    storage: { ...storage, ...(readOnly && { maintenance: { readonly: { enabled: true } } }) },
    http: { ...http, addr: host.replace('localhost', '127.0.0.1') },
    auth,
  };
  await writeFile(join(folder, 'config.yml'), JSON.stringify(config));
  registry = spawn(toolPath(tools, 'registry', 'registry'), ['serve', join(folder, 'config.yml')], {
    env: { PATH: process.env['PATH'], ...environment() },
    stdio: 'ignore',
  });
  await eventually(() => listens(host));
}

interface Configuration {
  readonly [part: string]: unknown;
  readonly storage: object;
  readonly http: object;
}

const BUCKET = 'images';
const ACCESS_KEY = 'AKIDEXAMPLE';

/** What the container of the registry has from the chart, with the values of the Secret. */
function environment(): NodeJS.ProcessEnv {
  const credential = { AWS_ACCESS_KEY_ID: ACCESS_KEY, AWS_SECRET_ACCESS_KEY: 'secret', NO_PROXY: '*' };
  return { OTEL_TRACES_EXPORTER: 'none', ...(bucket && credential) };
}

function rendered(): Promise<Manifest[]> {
  const s3 = { bucket: BUCKET, endpoint: bucket?.url, prefix: 'team/davit', credentialsSecret: 'bucket' };
  return chart.render(
    '--set',
    `registry.enabled=true,registry.host=davit-registry.davit-system.svc,settings.builds.images.builder=builder:1`,
    '--set',
    `registry.tokenUrl=https://localhost:${serving.port}/v1/registry/token`,
    ...(bucket ? ['--set-json', `registry.storage.s3=${JSON.stringify(s3)}`] : []),
  );
}

/** The chart's, with its folders on this machine. */
async function configuration(): Promise<Configuration> {
  const manifests = await rendered();
  const text = manifestNamed(manifests, 'ConfigMap', 'davit-registry')['data']['config.yml'] as string;
  const folders = [
    ['/etc/davit-tls', folder],
    ['/etc/davit-keys', folder],
    ['/var/lib/registry', join(folder, 'data')],
  ] as const;
  const here = folders.reduce((all, [there, place]) => all.replaceAll(there, place), text);
  return parse(here) as Configuration;
}

async function listens(address: string): Promise<void> {
  const [, port] = address.split(':');
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => resolve(void socket.destroy()));
    socket.once('error', reject);
  });
}

async function stopRegistry(): Promise<void> {
  const child = registry;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  await ended;
}

async function made(name: string, source: string): Promise<string> {
  return (await facade.call('POST', '/v2/deployments', aBody({ name, source, source_revision_config: {} }))).body.id;
}

async function crane(...args: readonly string[]): Promise<string> {
  const home = await mkdtemp(join(folder, 'home-'));
  const auth = Buffer.from(`davit:${password}`).toString('base64');
  await writeFile(join(home, 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    DOCKER_CONFIG: home,
    SSL_CERT_FILE: join(folder, 'ca.crt'),
    NO_PROXY: '*',
  };
  const { stdout } = await run(toolPath(tools, 'registry', 'crane'), args, { env, encoding: 'latin1' });
  return stdout;
}

const repository = (name = 'shop'): string => `${host}/${TENANT.namespace}-aaaaaaaa/${name}`;
const push = (to: string): Promise<string> => crane('append', '-f', join(folder, 'layer.tar'), '-t', to);

describe('a push by a published client', () => {
  it('goes to the repository that the token is for, and its digest becomes the revision', async () => {
    await push(`${repository()}:1`);
    const digest = (await crane('digest', `${repository()}:1`)).trim();
    const patch = (image_uri: string): Promise<Answer> =>
      facade.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri } });
    expect(await patch(`${repository()}:1`)).toMatchObject({ status: 422 });
    expect(await patch(`${repository()}@sha256:${'0'.repeat(64)}`)).toMatchObject({ status: 422 });
    expect(await patch(`${repository()}@${digest}`)).toMatchObject({ status: 200 });
  });

  it.each([
    ["another deployment's", () => repository('other')],
    ["another tenant's", () => `${host}/team-b-bbbbbbbb/shop`],
    ['that of base images', () => `${host}/base/python`],
  ])('is refused by the registry in %s repository', async (_name, to) => {
    await expect(push(`${to()}:1`)).rejects.toThrow(/UNAUTHORIZED|DENIED|insufficient_scope|401/);
  });

  it('is refused once the token has ended', async () => {
    facade.clock.ms += 3_700_000;
    try {
      await expect(crane('digest', `${repository()}:1`)).rejects.toThrow(/401|UNAUTHORIZED/);
    } finally {
      facade.clock.ms -= 3_700_000;
    }
  });
});

describe('an upload', () => {
  const put = async (): Promise<[status: number, path: string]> => {
    const { body } = await facade.call('POST', `/v2/deployments/${uploads}/upload-url`, {});
    const { pathname, search } = new URL(body.upload_url);
    const answer = await facade.app.inject({
      method: 'PUT',
      url: `${pathname}${search}`,
      headers: { 'content-type': 'application/gzip' },
      payload: SOURCE,
    });
    return [answer.statusCode, body.object_path];
  };
  let uploads: string;

  it('is one layer that the build can pull, as it was sent', async () => {
    uploads = await made('source', 'internal_source');
    const [status, path] = await put();
    expect(status).toBe(201);
    password = registryPassword((await facade.registry?.passwordKey()) ?? Buffer.alloc(0), {
      repository: `${TENANT.namespace}-aaaaaaaa/source`,
      actions: ['pull'],
      expires: Math.floor(facade.clock.ms / 1000) + 600,
    });
    const tag = path.replace('uploads/', 'upload-');
    const manifest = JSON.parse(await crane('manifest', `${repository('source')}:${tag}`)) as {
      layers: { digest: string }[];
    };
    expect(manifest.layers).toHaveLength(1);
    const layer = await crane('blob', `${repository('source')}@${manifest.layers[0]?.digest}`);
    expect(gunzipSync(Buffer.from(layer, 'latin1')).toString()).toBe('a source');
    const change = { source_revision_config: { source_tarball_path: path, langgraph_config_path: 'langgraph.json' } };
    expect(await facade.call('PATCH', `/v2/deployments/${uploads}`, change)).toMatchObject({ status: 200 });
  });

  it('waits while the registry collects garbage', async () => {
    await stopRegistry();
    await startRegistry(true);
    expect((await put())[0]).toBe(503);
  });

  it('says that the registry is down', async () => {
    await stopRegistry();
    expect((await put())[0]).toBe(502);
  });
});

describe.each(['a volume', 'a bucket'])(
  'garbage collection with %s, as the pod of the chart runs it before it serves',
  (kind) => {
    async function collect(argument = COLLECT): Promise<void> {
      const manifests = await rendered();
      const [container] = manifestNamed(manifests, 'StatefulSet', 'davit-registry')['spec'].template.spec
        .initContainers as [{ args: string[]; volumeMounts: { subPath?: string }[] }];
      // As the kubelet does for a mount with a subPath.
      for (const { subPath } of container.volumeMounts) {
        if (subPath !== undefined) await mkdir(join(folder, 'data', subPath), { recursive: true });
      }
      const args = container.args.map((arg) =>
        arg.replace('/etc/distribution', folder).replace(`$(${ARGUMENT})`, argument),
      );
      await run(toolPath(tools, 'registry', 'registry'), args, { env: environment() });
    }
    const size = (): number | Promise<number> => bucket?.bytes() ?? sizeOf(join(folder, 'data'));

    it('passes on one that is new', async () => {
      await stopRegistry();
      await rm(join(folder, 'data'), { recursive: true, force: true });
      if (kind === 'a bucket') {
        bucket = await startFakeS3(BUCKET, ACCESS_KEY);
        // The pod's containers read the file that the first start writes.
        await startRegistry();
        await stopRegistry();
      }
      await collect();
    });

    const path = `${TENANT.namespace}-aaaaaaaa/shop`;
    const pushed = async (tag: string): Promise<string> => {
      await writeFile(join(folder, 'layer.tar'), randomBytes(100_000));
      await push(`${repository()}:${tag}`);
      return (await crane('digest', `${repository()}:${tag}`)).trim();
    };
    const collected = async (): Promise<number> => {
      await stopRegistry();
      await collect();
      await startRegistry();
      return size();
    };
    const client = (): RegistryClient => {
      if (facade.registry === undefined) throw new Error('the facade has no registry');
      return facade.registry.client;
    };
    const signal = AbortSignal.timeout(300_000);

    it('frees what no tag names any more, and keeps the rest', async () => {
      await startRegistry();
      password = (await facade.call('POST', `/v2/deployments/${id}/push-token`, {})).body.token;
      const replaced = await pushed('1');
      const kept = await pushed('1');
      expect(await size()).toBeGreaterThan(200_000);
      if (bucket) {
        expect([...bucket.objects.keys()].filter((key) => !key.startsWith('team/davit/docker/registry/v2/'))).toEqual(
          [],
        );
        expect(await readdir(folder)).not.toContain('data');
      }
      expect(await collected()).toBeLessThan(120_000);
      expect((await crane('digest', `${repository()}@${kept}`)).trim()).toBe(kept);
      await expect(crane('digest', `${repository()}@${replaced}`)).rejects.toThrow(/404|MANIFEST_UNKNOWN/);
      // What was removed can be pushed again.
      await pushed('2');
    });

    it('keeps an image that a deployment names by digest, whose tag was pushed again, until nothing names it', async () => {
      const named = await pushed('latest');
      const change = { source_revision_config: { image_uri: `${repository()}@${named}` } };
      expect(await facade.call('PATCH', `/v2/deployments/${id}`, change)).toMatchObject({ status: 200 });
      await pushed('latest');
      const before = await collected();
      await crane('pull', `${repository()}@${named}`, join(folder, 'pulled.tar'));
      expect(await client().tags(path, signal)).toContain(keepTag(named));
      await client().deleteTag(path, keepTag(named), signal);
      expect(await collected()).toBeLessThan(before - 90_000);
      await expect(crane('digest', `${repository()}@${named}`)).rejects.toThrow(/404|MANIFEST_UNKNOWN/);
      expect(await client().tag(path, named, keepTag(named), signal)).toBe(false);
    });

    it('keeps the images of an index', async () => {
      const [one, two] = [await pushed('amd64'), await pushed('arm64')];
      await crane(
        'index',
        'append',
        '-m',
        `${repository()}@${one}`,
        '-m',
        `${repository()}@${two}`,
        '-t',
        `${repository()}:both`,
      );
      const index = (await crane('digest', `${repository()}:both`)).trim();
      expect(await client().tag(path, index, keepTag(index), signal)).toBe(true);
      for (const tag of ['amd64', 'arm64', 'both']) await client().deleteTag(path, tag, signal);
      await collected();
      for (const digest of [index, one, two])
        expect((await crane('digest', `${repository()}@${digest}`)).trim()).toBe(digest);
    });

    it('does nothing, and succeeds, in a pod that starts for another reason', async () => {
      const manifests = await rendered();
      const { [ARGUMENT]: idle } = manifestNamed(manifests, 'ConfigMap', 'davit-registry-start')['data'] as Record<
        string,
        string
      >;
      const before = await pushed('again');
      await pushed('again');
      await stopRegistry();
      await collect(idle);
      await startRegistry();
      expect((await crane('digest', `${repository()}@${before}`)).trim()).toBe(before);
    });

    it('forgets a deployment all of whose tags are gone', async () => {
      for (const tag of await client().tags(path, signal)) await client().deleteTag(path, tag, signal);
      expect(await collected()).toBeLessThan(20_000);
      expect(await client().tags(path, signal)).toEqual([]);
      expect(await client().repositories(signal)).toEqual([path]);
    });

    describe('what somebody pushed with the token of one deployment', () => {
      const INDEX = 'application/vnd.oci.image.index.v1+json';
      const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
      const sha = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
      const of = (digest: string, mediaType = IMAGE): object => ({ mediaType, digest, size: 2 });
      const image = (more: object = {}): string =>
        JSON.stringify({ schemaVersion: 2, mediaType: IMAGE, config: of(sha('{}')), layers: [], ...more });
      const index = (...manifests: object[]): string =>
        JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests });
      const odd = '{"schemaVersion":2,"y":1}';

      const there = (): string => path.replace('shop', name);
      async function request(
        method: string,
        to: string,
        headers: Record<string, string> = {},
        body?: string,
      ): Promise<Response> {
        const at = new URL(to, `https://${host}`);
        const scope = `repository:${there()}:pull,push`;
        const authorization = `Basic ${Buffer.from(`davit:${password}`).toString('base64')}`;
        const answer = await facade.app.inject({
          url: `/v1/registry/token?service=davit-registry&scope=${scope}`,
          headers: { authorization },
        });
        const { token } = answer.json<{ token: string }>();
        const { promise, resolve, reject } = Promise.withResolvers<Response>();
        const sent = httpsRequest(
          at,
          { method, ca: authority.certificate, headers: { ...headers, authorization: `Bearer ${token}` } },
          (got) => {
            got.resume().on('end', () =>
              resolve(
                new Response(null, {
                  status: got.statusCode ?? 0,
                  headers: { location: got.headers.location ?? '' },
                }),
              ),
            );
          },
        );
        sent.once('error', reject).end(body);
        return promise;
      }
      const put = async (tag: string, body: string, type = INDEX): Promise<number> =>
        (await request('PUT', `/v2/${there()}/manifests/${tag}`, { 'content-type': type }, body)).status;
      async function upload(content: string, digest = sha(content)): Promise<number> {
        const begun = await request('POST', `/v2/${there()}/blobs/uploads/`);
        const to = new URL(begun.headers.get('location') ?? '', `https://${host}`);
        to.searchParams.set('digest', digest);
        return (await request('PUT', to.href, { 'content-type': 'application/octet-stream' }, content)).status;
      }
      let name: string;
      let count = 0;
      beforeEach(async () => {
        count += 1;
        name = `odd-${kind === 'a bucket' ? 'bucket' : 'volume'}-${count}`;
        const made1 = await made(name, 'internal_docker');
        password = (await facade.call('POST', `/v2/deployments/${made1}/push-token`, {})).body.token;
      });
      afterAll(async () => {
        password = (await facade.call('POST', `/v2/deployments/${id}/push-token`, {})).body.token;
      });

      it.each<[string, () => Promise<number[]>]>([
        ['an index of nothing, and no blob', async () => [await put('v1', index())]],
        ['what is no index', async () => [await put('v1', odd), await put(sha(odd), odd)]],
        [
          'an index of what is none',
          async () => [await put(sha(odd), odd), await put('v1', index(of(sha(odd), INDEX)))],
        ],
        ['an index whose images nobody pushed', async () => [await put('v1', index(of(sha('gone'))))]],
        [
          'an image that refers to what is not there',
          async () => [await upload('{}'), await put('v1', image({ subject: of(sha('gone')) }), IMAGE)],
        ],
        ['long names', async () => [await upload('{}'), await put('t'.repeat(128), image(), IMAGE)]],
        ['an upload that was cut', async () => [(await request('POST', `/v2/${there()}/blobs/uploads/`)).status]],
      ])('does not stop the collection: %s', async (_what, sent) => {
        expect(await sent()).not.toContain(401);
        await collected();
        await collected();
      });

      it('stops the first attempt of one, and not the second: a blob by another hash', async () => {
        const digest = `sha512:${createHash('sha512').update(name).digest('hex')}`;
        expect(await upload(name, digest)).toBe(201);
        await stopRegistry();
        await collect().catch(() => undefined);
        await collect();
        await startRegistry();
      });
    });
  },
);

it('base images are pushed with the password of davit registry-password, which pushes nothing else', async () => {
  const keys = { passwordKey: async () => (await facade.registry?.passwordKey()) ?? Buffer.alloc(0) };
  password = await basePassword(keys, '1', new Date());
  await push(`${host}/base/python:3.12`);
  await expect(push(`${repository()}:stolen`)).rejects.toThrow(/401|UNAUTHORIZED|DENIED|insufficient/);
});

async function sizeOf(path: string): Promise<number> {
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
  const folders = await Promise.all(names.map(async (name) => (await stat(join(path, name))).isDirectory()));
  return sizes.reduce((sum, size, index) => sum + (folders[index] ? 0 : size), 0);
}
