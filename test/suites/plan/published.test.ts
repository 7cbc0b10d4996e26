// The Dockerfiles of `davit plan` beside those of the published CLI (PyPI langgraph-cli, its command `dockerfile`), for
// a corpus of configuration files. It runs as it is, in a virtual environment outside the repository.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerfileOf } from '../../../src/build/plan/dockerfile.ts';
import type { EntryKind, Workspace } from '../../../src/build/plan/workspace.ts';
import { ensurePublishedClient } from '../../support/published-client.ts';
import { CORPUS, type Sample } from './corpus.ts';
import { type Image, readImage } from './images.ts';

/** The folder's name is part of paths in the image. */
const NAME = 'shop';
const BASES = {
  python: 'base.example.com/python:{version}-{distro}',
  node: 'base.example.com/node:{version}-{distro}',
};

let program: string;
let folder: string;

beforeAll(async () => {
  program = await ensurePublishedClient(() => undefined);
  folder = await mkdtemp(join(tmpdir(), 'davit-plan-'));
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function configPath({ at = 'langgraph.json' }: Sample): string {
  return at;
}

function ownLines({ config }: Sample): readonly string[] {
  const { dockerfile_lines: lines } = config as { dockerfile_lines?: unknown };
  return Array.isArray(lines) ? (lines as string[]) : [];
}

async function published(sample: Sample, place: string): Promise<Image | undefined> {
  const root = join(place, NAME);
  for (const [path, text] of Object.entries({ ...sample.files, [configPath(sample)]: JSON.stringify(sample.config) })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const output = join(place, 'out');
  await mkdir(output);
  const file = join(output, 'Dockerfile');
  let said: string;
  try {
    const run = await promisify(execFile)(program, ['dockerfile', file, '--config', join(root, configPath(sample))], {
      // Nothing is sent anywhere, and nothing of this machine's own settings counts.
      env: { PATH: process.env['PATH'], LANGGRAPH_CLI_NO_ANALYTICS: '1', PYTHONUTF8: '1' },
      cwd: place,
    });
    said = run.stdout;
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== 'number') throw error;
    return undefined;
  }
  const contexts = new Map(
    [...said.matchAll(/--build-context ([^=\s]+)=([^\s`]+)/g)].map(([, name = '', path = '']) => [name, path]),
  );
  return readImage(await readFile(file, 'utf8'), ownLines(sample), {
    base: (image) =>
      image.replace(
        /^langchain\/langgraph(js)?-api:([\d.a-z]+(?:-py[\d.]+)?)(-.+)?$/,
        (_, js: string | undefined, version: string, variant = '') => `${js ? 'node' : 'python'} ${version}${variant}`,
      ),
    source(path, from) {
      const base = from === undefined ? dirname(join(root, configPath(sample))) : contexts.get(from);
      return base === undefined ? `${from}:${path}` : relative(root, resolve(base, path));
    },
  });
}

function ours(sample: Sample): Image | undefined {
  const planned = dockerfileOf(configPath(sample), workspaceOf(sample), { baseImages: BASES });
  if ('reason' in planned) return undefined;
  return readImage(planned.dockerfile, ownLines(sample), {
    base: (image) => image.replace(/^base\.example\.com\/(python|node):/, '$1 ').replace(/-debian$/, ''),
    source: (path) => relative('/', resolve('/', path)),
  });
}

function workspaceOf(sample: Sample): Workspace {
  const texts = new Map(Object.entries({ ...sample.files, [configPath(sample)]: JSON.stringify(sample.config) }));
  const entries = new Map<string, EntryKind>();
  for (const path of texts.keys()) {
    entries.set(path, 'file');
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) entries.set(parent, 'folder');
  }
  return { name: NAME, entries, texts };
}

function differing(one: Image | undefined, other: Image | undefined): string[] {
  if (one === undefined || other === undefined) return one === other ? [] : ['verdict'];
  return (Object.keys(one) as (keyof Image)[]).filter((part) => !isDeepStrictEqual(one[part], other[part])).toSorted();
}

describe('beside the published CLI', { timeout: 120_000 }, () => {
  it.concurrent.each(CORPUS)('$name', async (sample) => {
    const place = await mkdtemp(join(folder, 'case-'));
    const [theirs, own] = [await published(sample, place), ours(sample)];
    const parts = differing(theirs, own);
    // The whole of both is shown where what differs is not what the corpus says.
    expect({ parts, ...(parts.length > 0 && !sample.differs && { theirs, own }) }).toEqual({
      parts: Object.keys(sample.differs ?? {}).toSorted(),
    });
  });
});

describe('the corpus', () => {
  it('has enough configuration files, each with a name of its own', () => {
    expect(CORPUS.length).toBeGreaterThanOrEqual(40);
    expect(new Set(CORPUS.map(({ name }) => name)).size).toBe(CORPUS.length);
  });

  it('has every difference explained in docs/builds.md, and none explained that is not there', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/builds.md'), 'utf8');
    const explained = [...page.matchAll(/^\| (D\d+) \|/gm)].map(([, id = '']) => id);
    const found = new Set(CORPUS.flatMap(({ differs = {} }) => Object.values(differs)));
    expect(explained.toSorted()).toEqual([...found].toSorted());
  });
});
