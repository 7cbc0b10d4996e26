// A release from a clean clone to an upgraded cluster, with a registry of the test: what is published, who signed it, and what happens when
// the registry refuses, is full or loses the connection.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectTo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../cluster/control-plane.ts';
import { ensureBaseImages, ensureImages, type Image } from '../../cluster/images/build.ts';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { namedImages } from '../../release/plan.ts';
import { digestAt, type Programs, programAt, releasePrograms } from '../../release/programs.ts';
import { type SampleCluster, startSampleCluster } from '../../support/sample-cluster.ts';
import { allReady, lasting, namedByRecords, recordsToUpgrade, statesIn } from '../../support/upgrade/records.ts';
import { podsOf, restartsOf, say, stepByStep, until, whyNoPods } from '../e2e/install/installed.ts';

const root = join(import.meta.dirname, '../../..');
const noPods = await whyNoPods();
const PASSWORD = 'rehearsal';
const NAMESPACE = 'davit-system';
const TEAM = 'released';

interface Clone {
  readonly folder: string;
  /** As `npm run release -- …`: resolves to its exit code and what it printed. */
  release(...args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }>;
}

let folder: string;
let programs: Programs;
let registry: ChildProcess;
/** How many bytes more the registry takes before each connection ends; Infinity: all. */
let left = Infinity;
let link: Server;
let version: string;
let clone: Clone;
let registryHost: string;

async function aClone(name: string): Promise<Clone> {
  const own = join(folder, name);
  await programAt('git')('clone', '--quiet', '--no-hardlinks', root, own);
  return {
    folder: own,
    release: (...args) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, ['test/start.mjs', 'test/release/release.ts', ...args], {
          cwd: own,
          env: { ...process.env, COSIGN_PASSWORD: PASSWORD },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let text = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
        child.on('error', reject);
        child.on('close', (code) => resolve({ code, text }));
      }),
  };
}

function argumentsFor(to: string, ...more: readonly string[]): string[] {
  return [
    '--version',
    version,
    '--to',
    to,
    '--key',
    join(folder, 'cosign.key'),
    '--mirror',
    `${registryHost}/mirror`,
    '--plain-http',
    ...more,
  ];
}

/** Puts an archive into the registry, under the name by which a mirror has the image. */
async function mirror(name: string, { archive }: Image): Promise<void> {
  const layout = await mkdtemp(join(folder, 'layout-'));
  await programAt('tar')('--extract', `--file=${archive}`, `--directory=${layout}`);
  // It has one image under two names.
  const index = join(layout, 'index.json');
  const { manifests, ...rest } = JSON.parse(await readFile(index, 'utf8')) as { readonly manifests: readonly object[] };
  await writeFile(index, JSON.stringify({ ...rest, manifests: manifests.slice(0, 1) }));
  await programs.crane('push', layout, `${registryHost}/mirror/${name}`);
}

beforeAll(async () => {
  if (noPods !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'davit-rehearsal-'));
  const tools = await ensureTools(['registry', 'helm', 'cosign'], say);
  programs = await releasePrograms({ progress: say, isPlain: true });
  const [behind, before] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  registryHost = `127.0.0.1:${before}`;
  link = await startLink(before, behind);
  const config = {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    http: { addr: `127.0.0.1:${behind}` },
  };
  await writeFile(join(folder, 'registry.json'), JSON.stringify(config));
  registry = spawn(toolPath(tools, 'registry', 'registry'), ['serve', join(folder, 'registry.json')], {
    env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' },
    stdio: 'ignore',
  });
  await until(
    'the registry',
    () => fetch(`http://${registryHost}/v2/`),
    ({ status }) => status === 200,
  );
  const key = programAt(toolPath(tools, 'cosign', 'cosign'), {
    cwd: folder,
    env: { ...process.env, COSIGN_PASSWORD: PASSWORD },
  });
  await key('generate-key-pair');
  const [bases, images] = [await ensureBaseImages(say), await ensureImages(say)];
  await mirror('library/node:24-trixie-slim', bases['build-base']);
  await mirror('distroless/nodejs24-debian13:nonroot', bases['run-base']);
  const values = await readFile(join(root, 'charts/davit/values.yaml'), 'utf8');
  // Their content does not matter here: what the chart names must have a digest.
  for (const name of namedImages(values))
    await mirror(name.split('/').slice(1).join('/'), /valkey/.test(name) ? images.redis : images.postgres);
  ({ version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string });
  clone = await aClone('clone');
});
stepByStep();
afterAll(async () => {
  link?.close();
  registry?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const PLATFORMS = ['--platforms', 'linux/amd64'];

describe.skipIf(noPods !== undefined)('a release', () => {
  it('of a tree with changes, of another version or into a registry that is away publishes nothing', async () => {
    await writeFile(join(clone.folder, 'NOTES'), 'changed');
    const dirty = await clone.release(...argumentsFor(`${registryHost}/dirty`, ...PLATFORMS));
    expect([dirty.code, dirty.text]).toEqual([1, expect.stringContaining('changes that are in no commit: ?? NOTES')]);
    await rm(join(clone.folder, 'NOTES'));
    const other = await clone.release('--version', '9.9.9', '--to', registryHost, '--key', 'x', '--plain-http');
    expect([other.code, other.text]).toEqual([1, expect.stringContaining(`package.json has version ${version}`)]);
    const away = await clone.release(...argumentsFor('127.0.0.1:1/x', ...PLATFORMS));
    expect([away.code, away.text]).toEqual([1, expect.stringContaining('The registry of --to cannot be used')]);
    const missing = await clone.release(...argumentsFor(`${registryHost}/x`, '--run-base', 'docker.io/library/none:1'));
    expect([missing.code, missing.text]).toEqual([1, expect.stringContaining('library/none:1 does not exist')]);
    expect((await catalogue()).filter((name) => !name.startsWith('mirror/'))).toEqual([]);
  });

  it('whose connection is lost midway says so, and is completed by the same command', async () => {
    const args = argumentsFor(`${registryHost}/one`, ...PLATFORMS, '--out', join(folder, 'out'));
    left = 2_000_000;
    const lost = await clone.release(...args);
    left = Infinity;
    expect([lost.code, lost.text]).toEqual([1, expect.stringContaining('The release is not complete')]);
    expect(await digestAt(programs.crane, `${registryHost}/one/davit:${version}`)).toBeUndefined();
    const again = await clone.release(...args);
    expect([again.code, again.text]).toEqual([0, expect.stringContaining(`Released ${version}`)]);
  });

  it('is the same from another clone, and a second one changes nothing', async () => {
    const out = join(folder, 'out');
    const other = await aClone('other');
    const again = join(folder, 'again');
    await mkdir(again);
    await writeFile(join(again, 'own'), 'mine');
    const second = await other.release(...argumentsFor(`${registryHost}/two`, ...PLATFORMS, '--out', again));
    expect([second.code, second.text]).toEqual([0, expect.stringContaining(`Released ${version}`)]);
    const digest = await digestAt(programs.crane, `${registryHost}/one/davit:${version}`);
    expect(await digestAt(programs.crane, `${registryHost}/two/davit:${version}`)).toBe(digest);
    expect(await readFile(join(again, 'own'), 'utf8')).toBe('mine');
    expect(await readFile(join(again, 'checksums.txt'), 'utf8')).not.toContain('own');
    const same = ['kubectl-davit', 'davit-npm', 'sbom', 'provenance'];
    expect(await readFile(join(out, 'install.yaml'), 'utf8')).not.toMatch(/^kind: Secret$/m);
    const sums = async (of: string): Promise<string[]> =>
      (await readFile(join(of, 'checksums.txt'), 'utf8'))
        .split('\n')
        .filter((line) => same.some((name) => line.includes(`  ${name}`)));
    expect(await sums(again)).toEqual(await sums(out));
    expect((await readdir(out)).toSorted()).toEqual(
      [
        'RELEASE-NOTES',
        'checksums.txt',
        'checksums.txt.sig',
        'cosign.pub',
        'davit.krew.yaml',
        'images.txt',
        'install.yaml',
        'provenance.json',
        'sbom.cdx.json',
        `davit-${version}.tgz`,
        `davit-npm-${version}.tgz`,
        `kubectl-davit-${version}.tar.gz`,
      ].toSorted(),
    );
  });

  it('of another commit under a version that exists is refused', async () => {
    const changed = join(clone.folder, 'src/main.ts');
    await writeFile(changed, `${await readFile(changed, 'utf8')}\nglobalThis.process.title = 'davit';\n`);
    const git = programAt('git', { cwd: clone.folder });
    await git(
      '-c',
      'user.name=R',
      '-c',
      'user.email=r@example.com',
      'commit',
      '--quiet',
      '--all',
      '--message',
      'Another',
    );
    const refused = await clone.release(...argumentsFor(`${registryHost}/one`, ...PLATFORMS));
    expect([refused.code, refused.text]).toEqual([
      1,
      expect.stringContaining('A release never changes: choose the next version.'),
    ]);
    // What an interrupted release leaves: its chart, and no name of the image yet.
    await programs.crane(
      'copy',
      `${registryHost}/one/charts/davit:${version}`,
      `${registryHost}/three/charts/davit:${version}`,
    );
    const replaced = await clone.release(...argumentsFor(`${registryHost}/three`, ...PLATFORMS));
    expect([replaced.code, replaced.text]).toEqual([1, expect.stringContaining('exists and is another chart')]);
    expect(await catalogue()).not.toContain('three/davit');
  });

  it('can be verified, and not with another key', async () => {
    const key = join(folder, 'out/cosign.pub');
    const verify = (name: string, by: string): Promise<string> =>
      programs.cosign('verify', '--key', by, '--insecure-ignore-tlog=true', name);
    const image = `${registryHost}/one/davit:${version}`;
    expect(await verify(image, key)).toContain('sha256:');
    expect(await verify(`${registryHost}/one/charts/davit:${version}`, key)).toContain('sha256:');
    for (const type of ['cyclonedx', 'slsaprovenance1'])
      await programs.cosign('verify-attestation', '--key', key, '--insecure-ignore-tlog=true', '--type', type, image);
    await mkdir(join(folder, 'foreign'), { recursive: true });
    const tools = await ensureTools(['cosign'], say);
    const cwd = join(folder, 'foreign');
    const env = { ...process.env, COSIGN_PASSWORD: PASSWORD };
    await programAt(toolPath(tools, 'cosign', 'cosign'), { cwd, env })('generate-key-pair');
    await expect(verify(image, join(cwd, 'cosign.pub'))).rejects.toThrow(/cosign verify failed/);
    await programs.cosign(
      'verify-blob',
      '--key',
      key,
      '--insecure-ignore-tlog=true',
      '--bundle',
      join(folder, 'out/checksums.txt.sig'),
      join(folder, 'out/checksums.txt'),
    );
  });

  it('lists each image of its chart by digest', async () => {
    const list = (await readFile(join(folder, 'out/images.txt'), 'utf8')).trim().split('\n');
    expect(list).toHaveLength(5);
    expect(list.filter((line) => !/^[^@]+:[^@:]+@sha256:[0-9a-f]{64}$/.test(line))).toEqual([]);
    const chart = await programs.helm(
      'template',
      'davit',
      join(folder, `out/davit-${version}.tgz`),
      '--set',
      'registry.enabled=true,registry.service.clusterIP=10.96.0.9,api.service.clusterIP=10.96.0.8',
    );
    const used = [...chart.matchAll(/^\s*image: "?([^"\n]+)"?$/gm)].map(([, name = '']) => name);
    expect(used.length).toBeGreaterThan(2);
    expect(used.filter((name) => !name.includes('@sha256:'))).toEqual([]);
  });
});

describe.skipIf(noPods !== undefined)('the released chart', () => {
  let world: SampleCluster;
  let before: readonly string[];

  afterAll(async () => world?.cluster.stop());

  const kubectl = (args: readonly string[], input?: object): Promise<string> =>
    world.cluster.kubectl(args, input && { input: JSON.stringify(input) });
  const names = (): string[] => recordsToUpgrade(TEAM, world.images).map(({ metadata }) => metadata.name);
  const states = (): Promise<string[]> => statesIn(TEAM, kubectl);
  const helm = (...args: readonly string[]): Promise<string> =>
    world.cluster.helm([...args, '--namespace', NAMESPACE, '--plain-http', '--wait', '--timeout', '180s']);

  it('is installed from the registry, and records run', async () => {
    world = await startSampleCluster({ pods: 'auto', progress: say });
    // The node's loopback is its own.
    const port = registryHost.split(':')[1];
    await world.cluster.trustRegistry({ host: registryHost, server: `http://${world.cluster.hostAddress}:${port}` });
    await helm(
      'install',
      'davit',
      `oci://${registryHost}/one/charts/davit`,
      '--version',
      version,
      '--create-namespace',
      '--set-string',
      `settings.images.postgres=${world.images.postgres}`,
      '--set-string',
      `settings.images.redis=${world.images.redis}`,
    );
    await kubectl(['create', 'namespace', TEAM]);
    await kubectl(['label', 'namespace', TEAM, 'davit.dev/tenant=true']);
    await kubectl(['apply', '-f', '-'], namedByRecords(TEAM));
    for (const record of recordsToUpgrade(TEAM, world.images, { small: true }))
      await kubectl(['apply', '-f', '-'], record);
    await until('every record to be READY', states, (now) => now.join() === allReady(names()).join(), 170_000);
    before = await lasting((args) => kubectl(args), TEAM);
    const davit = await podsOf(world.cluster, NAMESPACE, 'app.kubernetes.io/name=davit');
    expect(davit.length).toBeGreaterThan(2);
  });

  it('is upgraded to the next release and rolled back: the same pods, no restart, no new revision', async () => {
    const next = await aClone('next');
    const manifest = join(next.folder, 'package.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(manifest, text.replace(`"version": "${version}"`, '"version": "0.1.99"'));
    const changes = join(next.folder, 'CHANGELOG.md');
    await writeFile(
      changes,
      (await readFile(changes, 'utf8')).replace('\n## ', '\n## 0.1.99\n\n- A rehearsal.\n\n## '),
    );
    const git = programAt('git', { cwd: next.folder });
    await git(
      '-c',
      'user.name=R',
      '-c',
      'user.email=r@example.com',
      'commit',
      '--quiet',
      '--all',
      '--message',
      '0.1.99',
    );
    const released = await next.release(...argumentsFor(`${registryHost}/one`, ...PLATFORMS, '--version', '0.1.99'));
    expect([released.code, released.text]).toEqual([0, expect.stringContaining('Released 0.1.99')]);
    const chart = `oci://${registryHost}/one/charts/davit`;
    await helm('upgrade', 'davit', chart, '--version', '0.1.99', '--reset-then-reuse-values');
    expect(await lasting((args) => kubectl(args), TEAM)).toEqual(before);
    await world.cluster.helm(['rollback', 'davit', '1', '--namespace', NAMESPACE, '--wait', '--timeout', '180s']);
    expect(await lasting((args) => kubectl(args), TEAM)).toEqual(before);
    expect(restartsOf(await podsOf(world.cluster, TEAM, 'davit.dev/deployment'))).toBe(0);
    expect(await states()).toEqual(allReady(names()));
    const { version: now } = parse(
      await world.cluster.helm(['get', 'metadata', 'davit', '--namespace', NAMESPACE, '-o', 'yaml']),
    ) as { version: string };
    expect(now).toBe(version);
  });
});

async function catalogue(): Promise<string[]> {
  const { repositories } = (await (await fetch(`http://${registryHost}/v2/_catalog`)).json()) as {
    repositories: string[];
  };
  return repositories;
}

/** The way to the registry, which ends each connection when `left` bytes have gone towards it, all together. */
async function startLink(at: number, to: number): Promise<Server> {
  const server = createServer((socket) => {
    const there = connectTo(to, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      there.destroy();
    };
    for (const side of [socket, there]) side.on('error', end).on('close', end);
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) end();
      else there.write(chunk);
    });
    there.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(at, resolve));
  return server;
}
