// `env`: what is written under what was read, and what is refused.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aRevision, aRecord as aWhole } from '../../../test/support/builders.ts';
import { aRecord, type CliRan, uid } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { changeLine, differences } from '../../deploy/record/revision-diff.ts';
import { withVariables } from '../../deploy/record/variables.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';

const ENV = [
  { name: 'LOG_LEVEL', value: 'info' },
  { name: 'REGION', value: 'eu' },
];
const secret = { name: 'API_KEY', secretName: 'shop--vars-1', secretKey: 'API_KEY' };
const LATEST = { latestRevisionId: '1'.repeat(32) };

interface World {
  readonly ran: CliRan;
  readonly written: readonly AppDeploymentSpec[];
}

async function env(
  args: readonly string[],
  spec: object = { sourceConfig: { env: ENV } },
  status: object = LATEST,
): Promise<World> {
  const record = aRecord({ secrets: [secret], ...spec }, status);
  const cli = makeOwnCli({ record });
  const ran = await cli.run(['env', 'shop', ...args]);
  const stored = cli.stored();
  return { ran, written: cli.written().length > 0 && stored ? [stored.spec] : [] };
}

it('a change has the name of who asks, as the API server knows it, beside other annotations', async () => {
  const annotations = { 'davit.dev/requested-by': 'old', other: 'kept' };
  const cli = makeOwnCli({
    record: aRecord({ sourceConfig: { env: ENV } }, LATEST, { generation: 4, annotations }),
  });
  expect((await cli.run(['env', 'shop', 'set', 'A=1'])).code).toBe(0);
  expect(cli.stored()?.metadata.annotations).toEqual({
    'davit.dev/requested-by': `${uid} 5 somebody`,
    other: 'kept',
  });
});

describe('env', () => {
  it('list shows values, on one line each, and in JSON as they are', async () => {
    const list = { sourceConfig: { env: [...ENV, { name: 'TEXT', value: 'a\nb' }] } };
    expect((await env(['list'], list)).ran.out.split('\n')).toEqual([
      'NAME       VALUE',
      'LOG_LEVEL  info',
      'REGION     eu',
      'TEXT       a\\nb',
    ]);
    expect(JSON.parse((await env(['list', '-o', 'json'], list)).ran.out)).toEqual(list.sourceConfig.env);
    expect((await env(['list'], {})).ran.err).toMatch(/^shop has no plain variables\./);
  });

  it('set changes what it names in one write that asks for a revision', async () => {
    const { ran, written } = await env(['set', 'REGION=us=1', 'NEW=']);
    expect(ran.out).toMatch(/^REGION, NEW of shop are set; revision shop--\w{8} takes them\. To follow it:/);
    expect(written).toMatchObject([{ revisionSerial: 3 }]);
    expect(written[0]?.sourceConfig).toEqual({
      env: [ENV[0], { name: 'REGION', value: 'us=1' }, { name: 'NEW', value: '' }],
    });
  });

  it('set refuses a name that is given twice', async () => {
    const { ran, written } = await env(['set', 'A=1', 'B=1', 'A=2']);
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(/^A is set twice\.$/m) });
    expect(written).toEqual([]);
  });

  it('set reads a file, and words win over it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-env-'));
    const file = join(folder, 'shop.env');
    await writeFile(file, '# sizes\nA="two\\nlines"\nexport B=1 # one\n\nREGION=eu\n');
    const { written } = await env(['set', '--from-file', file, 'B=2']);
    expect(written[0]?.sourceConfig.env).toEqual([
      ...ENV,
      { name: 'A', value: 'two\nlines' },
      { name: 'B', value: '2' },
    ]);
    await writeFile(file, 'Z=1\nmistake\nA="x\n');
    const mistaken = await env(['set', '--from-file', file]);
    expect([mistaken.ran.code, mistaken.written]).toEqual([2, []]);
    expect(mistaken.ran.err.split('\n').map((line) => line.slice(file.length).split(' ')[0])).toEqual([
      ':2:1:',
      ':3:3:',
    ]);
    await writeFile(file, 'Z=1\nY=2\nX=$(Z)\n');
    const ordered = (await env(['set', '--from-file', file])).written[0]?.sourceConfig.env;
    expect(ordered?.map((one) => one.name)).toEqual(['LOG_LEVEL', 'REGION', 'Z', 'Y', 'X']);
    await writeFile(file, '# nothing\n');
    expect((await env(['set', '--from-file', file])).ran).toMatchObject({
      code: 2,
      err: expect.stringContaining('has no line'),
    });
    await rm(folder, { recursive: true });
    expect((await env(['set', '--from-file', file])).ran).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be read'),
    });
  });

  it('values that are there are not written again', async () => {
    const { ran, written } = await env(['set', 'REGION=eu']);
    expect([ran.code, ran.out, written]).toEqual([0, 'Nothing changes: shop already has these values.', []]);
  });

  it('unset removes, and the last one with its list', async () => {
    const { ran, written } = await env(['unset', 'REGION', 'LOG_LEVEL']);
    expect(ran.out).toMatch(/^LOG_LEVEL, REGION of shop are removed; revision/);
    expect(written[0]?.sourceConfig).toEqual({});
  });

  it('asks for no revision before the first image', async () => {
    const { ran, written } = await env(
      ['set', 'A=1'],
      { source: 'internal_source', sourceRevisionConfig: {}, revisionSerial: 0 },
      {},
    );
    expect(ran.out).toBe('A of shop is set. It has no revision yet.');
    expect(written).toMatchObject([{ revisionSerial: 0, sourceConfig: { env: [{ name: 'A', value: '1' }] } }]);
  });

  it.each<[string, string[], number, RegExp]>([
    ['the name of a secret', ['set', 'API_KEY=x'], 1, /name is in env and also in secrets/],
    ['a word without =', ['set', 'A'], 2, /^"A" does not set a variable\./],
    ['no variable', ['set'], 2, /^Which variable\?/],
    ['a value for unset', ['unset', 'A=1'], 2, /^unset takes only names/],
    ['no name for unset', ['unset'], 2, /^unset takes only names/],
    ['an unknown name', ['unset', 'GONE'], 1, /^shop has no plain variable GONE: nothing was changed\.$/],
    ['a key for list', ['list', 'A'], 2, /^list takes no KEY/],
    ['a file for unset', ['unset', 'A', '--from-file', 'x'], 2, /^--from-file is for set\.$/],
  ])('is refused for %s', async (_what, args, code, words) => {
    const { ran, written } = await env(args);
    expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    expect(written).toEqual([]);
  });
});

it('a known name keeps its place, and a new one comes last', () => {
  const set = [
    { name: 'NEW', value: '1' },
    { name: 'LOG_LEVEL', value: 'debug' },
  ];
  expect(withVariables(ENV, set)).toEqual([{ name: 'LOG_LEVEL', value: 'debug' }, ENV[1], { name: 'NEW', value: '1' }]);
});

it('a diff of revisions shows the values', () => {
  const of = (env: typeof ENV): ReturnType<typeof aRevision> => aRevision(aWhole({ sourceConfig: { env } }));
  const changes = differences(of(ENV), of([{ name: 'LOG_LEVEL', value: 'debug' }]));
  expect(changes.map((one) => `${one.field} ${changeLine(one)}`)).toEqual([
    'env.LOG_LEVEL info -> debug',
    'env.REGION removed: eu',
  ]);
});
