// The few files that the image runs, as `npm run build` writes them: they need no package beside them, and their bill and licences
// name every package that they contain.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOWED_LICENCES, noticesOf, packagesOf } from '../../image/inventory.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** Nobody listens there: the processes start all the same, and wait. */
const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'a', user: { token: 'none' } }],
  contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  'current-context': 'a',
});

/** What the image has, with the files that a pod gets. No folder above it has packages. */
let image: string;
/** The same in a clone, whose packages are beside it. */
let clone: string;

beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), 'davit-bundle-'));
  clone = await mkdtemp(join(tmpdir(), 'davit-bundle-'));
  await run(process.execPath, ['test/image/bundle.ts', '--plugin', '--dir', join(image, 'dist')], { cwd: root });
  await cp(join(root, 'package.json'), join(image, 'package.json'));
  await writeFile(join(image, 'kubeconfig'), KUBECONFIG);
  await writeFile(join(image, 'settings.yaml'), 'http: {insecure: true}\n');
  for (const [name, text] of Object.entries({ token: 'none', 'ca.crt': '', namespace: 'davit-system' }))
    await writeFile(join(image, name), text);
  await cp(image, clone, { recursive: true });
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
});

afterAll(async () => {
  for (const folder of [image, clone]) await rm(folder, { recursive: true, force: true });
});

/** The environment of a pod. */
function inCluster(): Readonly<Record<string, string>> {
  return { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1', DAVIT_SERVICE_ACCOUNT_DIR: image };
}

describe('the bundle', () => {
  it('plans without what the other commands load', async () => {
    const { stdout } = await run(process.execPath, [join(image, 'dist/main.js'), 'plan', '--help']);
    expect(stdout).toContain('Usage: davit plan');
  });

  it('imports nothing but Node and the reader of kubeconfig files', async () => {
    const files = (await readdir(join(image, 'dist'))).filter((file) => /\.js$|^kubectl-davit$/.test(file));
    const texts = await Promise.all(files.map((file) => readFile(join(image, 'dist', file), 'utf8')));
    // Comments have types of packages, and scripts of shells export values with spaces.
    const code = texts.map((text) => text.replaceAll(/^\s*(?:\*|\/[/*]).*$/gm, ''));
    const from = code.flatMap((text) =>
      [...text.matchAll(/^(?:import|export)\b[^"'\n]*["']([^"'\s]+)["'];?$|\bimport\(["']([^"']+)["']\)/gm)].map(
        ([, one, other]) => one ?? other ?? '',
      ),
    );
    expect(from.length).toBeGreaterThan(40);
    // One character beyond Latin-1 doubles what V8 keeps of its file.
    expect(texts.filter((text) => /[^\0-\x7f]/.test(text)).length).toBe(0);
    expect([...new Set(from)].filter((name) => !/^(node:|\.\/)/.test(name))).toEqual([
      '@kubernetes/client-node/dist/config.js',
    ]);
  });

  it('serves the HTTP API, the pages and their files, in a pod', async () => {
    const { child, url } = await startApi();
    try {
      for (const [path, type] of [
        ['/openapi.json', 'application/json'],
        ['/docs', 'text/html'],
        ['/assets/docs.js', 'text/javascript'],
        ['/', 'text/html'],
        ['/assets/page.js', 'text/javascript'],
        ['/assets/page.css', 'text/css'],
      ]) {
        const answer = await fetch(url + path, { headers: { accept: `${type}, */*` } });
        expect([path, answer.status]).toEqual([path, 200]);
        expect(answer.headers.get('content-type')).toContain(type);
      }
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('starts the controller, whose metrics are served', async () => {
    const { child, line } = await start(image, 'controller', '"msg":"Started"', inCluster());
    try {
      const answer = await fetch(`http://127.0.0.1:${(JSON.parse(line) as { health: number }).health}/metrics`);
      expect(await answer.text()).toContain('davit_leader');
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('reads a kubeconfig in a clone, and says in an image why it cannot', async () => {
    const environment = { DAVIT_KUBECONFIG: join(image, 'kubeconfig') };
    const { child } = await start(clone, 'api', '"msg":"Serving the HTTP API"', environment);
    child.kill('SIGKILL');
    await expect(start(image, 'api', '"msg":"Serving the HTTP API"', environment)).rejects.toThrow(
      /kubeconfig: the image of Davit cannot read kubeconfig files, because it has no package @kubernetes\/client-node\. Unset DAVIT_KUBECONFIG to use the service account of the pod, or start Davit from a clone/,
    );
  });
});

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses: readonly [{ readonly license: { readonly id: string } }];
    readonly hashes: readonly [{ readonly alg: string; readonly content: string }];
  }[];
}

describe.each([
  { product: 'davit', bill: 'sbom.cdx.json', notices: 'THIRD-PARTY-NOTICES', least: 70 },
  { product: 'kubectl-davit', bill: 'kubectl-davit.cdx.json', notices: 'kubectl-davit.THIRD-PARTY-NOTICES', least: 1 },
])('what $product contains', ({ product, bill, notices, least }) => {
  const read = async (file: string): Promise<string> => readFile(join(image, 'dist', file), 'utf8');
  const billRead = async (): Promise<Bill> => JSON.parse(await read(bill)) as Bill;

  it('is listed with versions, hashes and licences that are allowed', async () => {
    const { bomFormat, metadata, components } = await billRead();
    expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', product]);
    expect(components.length).toBeGreaterThan(least);
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
    for (const { name, version, purl, licenses, hashes } of components) {
      expect(decodeURIComponent(purl)).toBe(`pkg:npm/${name}@${version}`);
      expect(ALLOWED_LICENCES).toContain(licenses[0].license.id);
      expect(hashes[0].content).toMatch(/^[0-9a-f]{128}$/);
    }
  });

  it('has the text of every licence', async () => {
    const [head = '', ...texts] = (await read(notices)).split(/^={80}\n/m);
    const { components } = await billRead();
    expect(head).toContain(`${product} contains code of these ${components.length} packages`);
    const titles = texts.map((text) => text.split('\n').slice(0, 2));
    expect(titles).toEqual(
      components.map(({ name, version, licenses }) => [`${name} ${version}`, licenses[0].license.id]),
    );
    const without = texts.filter((text) => !/copyright|permission is hereby granted/i.test(text) || text.length < 600);
    expect(without.map((text) => text.slice(0, 60))).toEqual([]);
  });
});

describe('the bill of the image', () => {
  it('has all that Davit depends on, but for the reader of kubeconfig files, and nothing that only developing needs', async () => {
    const { components } = JSON.parse(await readFile(join(image, 'dist/sbom.cdx.json'), 'utf8')) as Bill;
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const missing = Object.entries(dependencies).filter(([name, version]) => !listed.has(`${name}@${version}`));
    expect(missing.map(([name]) => name)).toEqual(['@kubernetes/client-node']);
    // fastify has ajv as well.
    const developing = Object.keys(devDependencies).filter((name) => components.some((one) => one.name === name));
    expect(developing).toEqual(['ajv']);
  });
});

describe('a package that is bundled', () => {
  const [pino] = packagesOf([join(root, 'node_modules/pino/lib/tools.js')]);
  if (pino === undefined) throw new Error('pino is not installed');

  it('is found by its files, once for each version', () => {
    const files = [
      'pino/pino.js',
      'pino/lib/tools.js',
      '@fastify/error/index.js',
      'ajv/node_modules/fast-uri/index.js',
    ];
    expect(packagesOf([...files.map((file) => join(root, 'node_modules', file)), join(root, 'src/main.ts')])).toEqual([
      expect.objectContaining({ name: '@fastify/error', licence: 'MIT' }),
      expect.objectContaining({ name: 'fast-uri', licence: 'BSD-3-Clause' }),
      pino,
    ]);
  });
  it('is refused where its licence is not allowed, or is not there', () => {
    expect(() => noticesOf('x', [{ ...pino, licence: 'GPL-3.0-only' }])).toThrow(
      `pino ${pino.version} has the licence GPL-3.0-only, which is not allowed`,
    );
    expect(() => noticesOf('x', [{ ...pino, licence: 'ISC', folder: join(root, 'docs') }])).toThrow(
      `pino ${pino.version} has no text of its licence ISC`,
    );
  });
  it('without a file of its licence has the text of its README, or the MIT licence with its author', () => {
    const [types, logging] = ['pg-types', 'abstract-logging'].map((name) =>
      noticesOf('x', packagesOf([join(root, 'node_modules', name, 'index.js')])),
    );
    expect(types).toContain('Copyright (c) 2014 Brian M. Carlson');
    expect(logging).toContain('Copyright (c) James Sumners');
  });
});

async function startApi(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const { child, line } = await start(image, 'api', '"msg":"Serving the HTTP API"', inCluster());
  return { child, url: (JSON.parse(line) as { url: string }).url };
}

/** Until it logs a line that contains `sign`. Throws what it has said if it ends before. */
async function start(
  folder: string,
  command: string,
  sign: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const child = spawn(process.execPath, [join(folder, 'dist/main.js'), command], {
    env: {
      PATH: process.env['PATH'],
      ...environment,
      DAVIT_SETTINGS: join(folder, 'settings.yaml'),
      DAVIT_HTTP_PORT: '0',
      DAVIT_HEALTH_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (data: Buffer) => said.push(data.toString()));
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    if (line.includes(sign)) return { child, line };
  }
  if (child.exitCode === null) await once(child, 'close');
  throw new Error(`davit ${command} ended with ${child.exitCode}: ${said.join('\n')}`);
}
