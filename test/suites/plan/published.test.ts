// The Dockerfiles of `davit plan` beside those of the published CLI (PyPI langgraph-cli, its command `dockerfile`), for
// a corpus of configuration files. It runs as it is, in a virtual environment outside the repository.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerfileOf } from '../../../src/build/planner/dockerfile.ts';
import type { EntryKind, Workspace } from '../../../src/build/planner/workspace.ts';
import { ensurePublishedClient } from '../../support/published-client.ts';
import { CORPUS, type Sample } from './corpus.ts';
import { type Image, readImage } from './images.ts';

/** The folder's name is part of paths in the image. */
const NAME = 'shop';
const BASES = {
  python: 'base.example.com/python:{version}-{distro}',
  node: 'base.example.com/node:{version}-{distro}',
};

/** Runs the program as often as it is told to, each time as a process of its own that has its modules already: to load them takes longest. */
const RUN_EACH = `
import json, os, sys, tempfile
from langgraph_cli.cli import cli
sys.path = [path for path in sys.path if path]

def run(args, cwd, out):
    os.chdir(cwd)
    os.dup2(out.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        cli.main(args, prog_name="langgraph")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        return 1
    return 0

def ran(case):
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            code = run(case["args"], case["cwd"], out)
            sys.stdout.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        return {"code": code, "said": out.read().decode()}

print(json.dumps([ran(case) for case in json.load(sys.stdin)]))
`;

interface Ran {
  readonly code: number;
  readonly said: string;
}

let folder: string;
let ran: ReadonlyMap<Sample, Ran>;

beforeAll(async () => {
  const program = await ensurePublishedClient(() => undefined);
  folder = await mkdtemp(join(tmpdir(), 'davit-plan-'));
  await Promise.all(CORPUS.map(writeSample));
  const python = spawn(join(dirname(program), 'python'), ['-c', RUN_EACH], {
    // Nothing is sent anywhere, and nothing of this machine's own settings counts.
    env: { PATH: process.env['PATH'], LANGGRAPH_CLI_NO_ANALYTICS: '1', PYTHONUTF8: '1' },
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  python.stdin.end(JSON.stringify(CORPUS.map(commandOf)));
  const runs = JSON.parse(await text(python.stdout)) as readonly Ran[];
  ran = new Map(CORPUS.map((sample, index) => [sample, runs[index] as Ran]));
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function configPath({ at = 'langgraph.json' }: Sample): string {
  return at;
}

function ownLines({ config }: Sample): readonly string[] {
  const { dockerfile_lines: lines } = config as { dockerfile_lines?: unknown };
  return Array.isArray(lines) ? (lines as string[]) : [];
}

function placeOf(sample: Sample): string {
  return join(folder, `case-${CORPUS.indexOf(sample)}`);
}

function dockerfileIn(place: string): string {
  return join(place, 'out', 'Dockerfile');
}

function commandOf(sample: Sample): { readonly args: readonly string[]; readonly cwd: string } {
  const cwd = placeOf(sample);
  return { args: ['dockerfile', dockerfileIn(cwd), '--config', join(cwd, NAME, configPath(sample))], cwd };
}

async function writeSample(sample: Sample): Promise<void> {
  const place = placeOf(sample);
  await mkdir(dirname(dockerfileIn(place)), { recursive: true });
  for (const [path, content] of Object.entries(filesOf(sample))) {
    const file = join(place, NAME, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

async function published(sample: Sample): Promise<Image | undefined> {
  const place = placeOf(sample);
  const root = join(place, NAME);
  const { code, said } = ran.get(sample) as Ran;
  if (code < 0) throw new Error(`The program was ended by signal ${-code}.`);
  if (code > 0) return undefined;
  const contexts = new Map(
    [...said.matchAll(/--build-context ([^=\s]+)=([^\s`]+)/g)].map(([, name = '', path = '']) => [name, path]),
  );
  return readImage(await readFile(dockerfileIn(place), 'utf8'), ownLines(sample), {
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

function filesOf(sample: Sample): Readonly<Record<string, string>> {
  return { ...sample.files, [configPath(sample)]: JSON.stringify(sample.config) };
}

function workspaceOf(sample: Sample): Workspace {
  const texts = new Map(Object.entries(filesOf(sample)));
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

describe('beside the published CLI', () => {
  it.each(CORPUS)('$name', async (sample) => {
    const [theirs, own] = [await published(sample), ours(sample)];
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

  it('has every difference explained in README.md, and none explained that is not there', () => {
    const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
    const explained = [...page.matchAll(/^\| (D\d+) \|/gm)].map(([, id = '']) => id);
    const found = new Set(CORPUS.flatMap(({ differs = {} }) => Object.values(differs)));
    expect(explained.toSorted()).toEqual([...found].toSorted());
  });
});
