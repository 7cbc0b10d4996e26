// What every command has from its definition: help, refusals, and completion.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aRecord, runCli } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { mostSimilar } from '../../runtime/similar.ts';
import { COMMANDS } from '../commands/commands.ts';
import { complete } from '../commands/completion.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { EXIT_CODES } from '../transport/exit-codes.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Command, OUTPUT, withFlags } from './command.ts';
import { programName } from './program.ts';
import { run, type World } from './run.ts';

const SHOWN = COMMANDS.filter(({ isHidden }) => !isHidden);

describe('help', () => {
  it('lists every command with its purpose, and is the answer to no command at all, with exit code 2', async () => {
    const { code, out } = await runCli([]);
    expect(code).toBe(2);
    for (const { name, purpose } of SHOWN) {
      expect(out).toContain(`  ${name}`);
      expect(out.replaceAll(/\s+/g, ' ')).toContain(purpose);
    }
    expect(out).not.toContain('__complete');
    for (const args of [['--help'], ['-h'], ['help']]) expect(await runCli(args)).toMatchObject({ code: 0, out });
  });

  it.each(SHOWN.map(({ name, flags }) => ({ name, flags })))(
    'of $name has its flags alone',
    async ({ name, flags }) => {
      const { code, out } = await runCli([name, '--help']);
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^Usage: kubectl davit ${name}\\b`));
      expect(out).not.toContain('PROGRAM');
      const listed = [...out.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, flag]) => flag);
      expect(listed).toEqual([...flags.map((flag) => flag.name), 'help']);
      expect(await runCli(['help', name])).toMatchObject({ code: 0, out });
      expect(out.split('\n').filter((line) => line.length > 125)).toEqual([]);
    },
  );

  it('says its version where no command is given', async () => {
    expect(await runCli(['--version'])).toMatchObject({ code: 0, out: '1.2.3', asked: [] });
    expect(await runCli(['status', '--version'])).toMatchObject({ code: 2 });
  });

  it('is called by the name of the program', () => {
    expect(programName('/usr/bin/davit')).toBe('davit');
    expect(programName('/usr/bin/kubectl-davit')).toBe('kubectl davit');
    expect(programName(undefined)).toBe('kubectl davit');
  });
});

describe('a command line', () => {
  it.each<[string, string[], RegExp]>([
    ['an unknown command', ['fly', 'shop'], /^Unknown command "fly"\. The commands are deploy, status, /],
    ['a mistyped command', ['sclae', 'shop'], /^Unknown command "sclae"\. Did you mean scale\? /],
    [
      'a flag of another command',
      ['scale', 'shop', '--tail', '3'],
      /^kubectl davit scale has no flag --tail\..* Its flags: --replicas, --max, --output, --server, --davit-namespace, --token\.$/,
    ],
    ['a mistyped flag', ['logs', 'shop', '--folow'], /has no flag --folow\. Did you mean --follow\?/],
    ['a flag of a command without any', ['schema', '--now'], /Its flags: none but those of kubectl\.$/],
    ['an unknown short flag', ['status', '-x'], /has no flag -x\./],
    ['no value', ['wait', 'shop', '--timeout'], /--timeout/],
    [
      'a value that is not a number',
      ['wait', 'shop', '--timeout', 'soon'],
      /^--timeout must be a whole number of seconds, not "soon"\.$/,
    ],
    [
      'a negative number',
      ['wait', 'shop', '--timeout', '-1'],
      /^The value of --timeout begins with "-"\. If this is intended, write --timeout=VALUE\.$/,
    ],
    [
      'a negative number that is meant so',
      ['logs', 'shop', '--tail=-5'],
      /^--tail must be a whole number, not "-5"\.$/,
    ],
    ['a format that is none', ['status', '-o', 'yaml'], /^--output must be one of json, not "yaml"\.$/],
    ['no deployment', ['wait'], /^Which deployment\? kubectl davit wait NAME$/],
    ['two deployments', ['wait', 'a', 'b'], /^Name only one deployment\. Unexpected: "b"\.$/],
    ['a name for platform', ['platform', 'x'], /^kubectl davit platform takes no name\. Unexpected: "x"\.$/],
    [
      'three revisions',
      ['diff', 'shop', 'a', 'b', 'c'],
      /^Usage: kubectl davit diff NAME \[FROM\] \[TO\]\. Unexpected: "c"\.$/,
    ],
    ['an unknown action', ['secrets', 'shop', 'add'], /^"add" must be one of list, set, unset\./],
    ['no action', ['listener'], /^Which action\? kubectl davit listener join\|revoke NAME$/],
    ['an unknown shell', ['completion', 'fish'], /^"fish" must be one of bash, zsh, kubectl\./],
    [
      'a name that no deployment has',
      ['wait', 'Shop'],
      /^NAME "Shop": must be lower-case letters, digits and single hyphens/,
    ],
    ['a new name that none can have', ['clone', 'shop', '--to', 'a--b'], /^--to "a--b": a name must not contain --, /],
    ['a folder that is not there', ['deploy', '/nonexist', '--name', 'shop'], /^Folder \/nonexist does not exist\.$/],
    ['a name with capital letters', ['deploy', '.', '--name', 'SHOP'], /^--name "SHOP": must be lower-case letters, /],
    ['the same for an image', ['deploy', '--image', 'a', '--name', 'xn'], /^--name "xn": the name xn is reserved: /],
    [
      'an image that is none',
      ['deploy', '--image', 'a b', '--name', 'a'],
      /^--image "a b": must be an image reference such as /,
    ],
    [
      'a file that is not there',
      ['deploy', '.', '--file', '/nonexist.yaml'],
      /^File \/nonexist\.yaml does not exist\.$/,
    ],
    ['variables of no file', ['deploy', '.', '--env-file', '/nonexist.env'], /^\/nonexist\.env cannot be read: /],
    ['a configuration elsewhere', ['deploy', '.', '--no-file', '--config', '../x'], /^--config \.\.\/x is not in /],
    ['a folder to begin with', ['init', '/nonexist'], /^Folder .* does not exist/],
    ['no time to run', ['run', 'shop', '--timeout', '0', '--', 'x'], /^--timeout must be at least 1, not 0\.$/],
    ['too many pods', ['scale', 'shop', 'server=999999'], /^server=999999: the number of pods must be at most 100\.$/],
    [
      'too long a time',
      ['run', 'shop', '--timeout', '99999999999', '--', 'ls'],
      /^--timeout must be at most 999999999, not 99999999999\.$/,
    ],
    ['too many lines', ['logs', 'shop', '--tail', '9999999999'], /^--tail must be at most 100000, not 9999999999\.$/],
    [
      'too many of a range',
      ['scale', 'shop', 'queue=1..101'],
      /^queue=1\.\.101: the number of pods must be at most 100\.$/,
    ],
    ['too many by a flag', ['scale', 'shop', '--replicas', '101'], /^--replicas must be at most 100, not 101\.$/],
    [
      'too many by two flags',
      ['scale', 'shop', '--replicas', '1', '--max', '101'],
      /^--max must be at most 100, not 101/,
    ],
    ['too high a port', ['open', 'shop', '--port', '65536'], /^--port must be at most 65535, not 65536\.$/],
    ['a name of no variable', ['env', 'shop', 'set', 'a b=1'], /^"a b" must be the name of an environment variable: /],
    ['none to remove', ['env', 'shop', 'unset', '1A'], /^"1A" must be the name of an environment variable: /],
    ['none to deploy', ['deploy', '.', '--env', 'a-b=1'], /^"a-b" must be the name of an environment variable: /],
    [
      'a secret of no variable',
      ['secrets', 'shop', 'set', 'a-b'],
      /^"a-b" must be the name of an environment variable: /,
    ],
    [
      'a secret of no file',
      ['secrets', 'shop', 'set', 'A', '--from-file', '/nonexist'],
      /^\/nonexist cannot be read: /,
    ],
    [
      'a value that is not a number',
      ['database', 'delete-previous', 'shop', '--number', 'abc'],
      /^--number must be a whole number, not "abc"/,
    ],
    ['a token without an address', ['delete', 'shop', '--token', 't'], /^--token needs an address: set --server/],
    ['a secret without a value', ['secrets', 'shop', 'set', 'A'], /^The value of A is empty: nothing was changed\.$/],
    [
      'a backup that is none',
      ['clone', 'shop', '--to', 'b', '--backup', 'x'],
      /^--backup must be the name of a backup such as /,
    ],
    ['a time that is none', ['clone', 'shop', '--to', 'b', '--at', 'noon'], /^--at must be a time such as /],
    ['a port that is none', ['open', 'shop', '--port', '65536'], /^--port must be at most 65535, not 65536\.$/],
    ['a value that is empty', ['rollback', 'shop', '--to', ''], /^--to is empty\. Give it a value, or leave it out\.$/],
    ['help for an unknown command', ['help', 'fly'], /^Unknown command "fly"\./],
  ])('is refused with exit code 2 for %s', async (_what, args, words) => {
    expect(await runCli(args)).toMatchObject({ code: 2, err: expect.stringMatching(words), asked: [], out: '' });
  });

  it('may have flags of kubectl before the command, and passes them on', async () => {
    const ran = await runCli(['-n', 'team', '--context=there', 'exec', 'shop', '--', 'ls']);
    expect(ran.asked).toEqual([expect.stringMatching(/^--namespace=team --context=there get pods /)]);
  });

  it('takes address and token from the environment, and flags before it', async () => {
    const seen: object[] = [];
    const environment = { DAVIT_SERVER: 'https://a', DAVIT_TOKEN: 'x' };
    const onConnect = (options: object): void => void seen.push(options);
    await runCli(['platform', '-n', 'team'], { environment, onConnect });
    await runCli(['platform', '--server', 'https://b', '--token', 'y'], { environment, onConnect });
    expect(seen).toEqual([
      expect.objectContaining({ server: 'https://a', token: 'x', namespace: 'team', davitNamespace: 'davit-system' }),
      expect.objectContaining({ server: 'https://b', token: 'y', namespace: undefined }),
    ]);
  });
});

it.each([
  ['To see: kubectl davit status a', 'To see: kubectl davit status --namespace=b --context=c a'],
  ['Its log: kubectl davit logs a -n b', 'Its log: kubectl davit logs --context=c a -n b'],
  [
    'kubectl davit logs a -n b. To wait: kubectl davit wait a',
    'kubectl davit logs --context=c a -n b. To wait: kubectl davit wait --namespace=b --context=c a',
  ],
  ['To wait: kubectl davit wait a --namespace=b', 'To wait: kubectl davit wait a --namespace=b'],
])('a suggested command has the namespace once: %s', (sentence, said) => {
  expect(withFlags(sentence, ' --namespace=b --context=c')).toBe(said);
});

describe('exit codes', () => {
  const codes = Object.values(EXIT_CODES);

  it('have one table in the documents', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/plugin.md'), 'utf8');
    const rows = [...text.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, meaning]) => [Number(code), meaning]);
    expect(rows).toEqual(codes.map(({ code, short }) => [code, expect.stringMatching(`^${short}`)]));
  });

  it('stand in the help', async () => {
    const { out } = await runCli(['--help']);
    for (const { code, short } of codes) expect(out).toContain(`${code} ${short}`);
  });

  it.each(SHOWN.map(({ name }) => name))('are the same of wrong use: %s', async (name) => {
    expect(await runCli([name, '--bogus'])).toMatchObject({ code: 2, asked: [] });
  });
});

it.each([
  ['stauts', 'status'],
  ['rev', 'revisions'],
  ['revision', 'revisions'],
  ['x', undefined],
])('%s is most similar to %s', (word, want) => {
  expect(mostSimilar(word, ['status', 'scale', 'revisions'])).toBe(want);
});

it('tables are aligned, and ages are short', () => {
  expect(
    tableOf([
      ['A', 'BB'],
      ['ccc', ''],
      ['', 'd'],
    ]),
  ).toEqual(['A    BB', 'ccc', '     d']);
  const now = Date.parse('2026-01-10T00:00:00Z');
  expect(ageOf('2026-01-01T00:00:00Z', now)).toBe('9d');
  expect(ageOf('2026-01-09T23:30:00Z', now)).toBe('30m');
  expect(ageOf('2026-01-10T00:00:05Z', now)).toBe('0s');
  expect(ageOf(undefined, now)).toBe('unknown');
});

describe('completion', () => {
  const names = async (cluster: readonly string[]): Promise<readonly string[]> =>
    cluster.includes('--namespace=other') ? ['elsewhere'] : ['shop', 'shelf', 'agent'];

  it.each<[string[], string[]]>([
    [['sca'], ['scale']],
    [['back'], ['backup', 'backups']],
    [
      ['backup', 'shop', '--a'],
      ['--archive', '--as'],
    ],
    [['re'], ['restart', 'revisions']],
    [
      ['scale', 'sh'],
      ['shop', 'shelf'],
    ],
    [['-n', 'other', 'scale', ''], ['elsewhere']],
    [['scale', '--namespace=other', ''], ['elsewhere']],
    [['scale', '--namespace', '=', 'other', ''], ['elsewhere']],
    [
      ['secrets', 'shop', ''],
      ['list', 'set', 'unset'],
    ],
    [['logs', 'shop', '--pre'], ['--previous']],
    [['logs', 'shop', '-c', 'q'], ['queue']],
    [['status', 'shop', '-o', ''], ['json']],
    [['status', '--output', '='], ['json']],
    [['status', '--output=j'], ['--output=json']],
    [['status', '--namespace='], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'kubectl'],
    ],
    [['restart', 'shop', 'x'], []],
    [['fly', ''], SHOWN.map(({ name }) => name).concat('help')],
  ])('of %j is %j', async (typed, candidates) => {
    expect(await complete(SHOWN, typed, names)).toEqual({ candidates });
  });

  it.each([
    [['deploy', '']],
    [['deploy', '.', '--file=d']],
    [['secrets', 'shop', 'set', 'K', '--from-file', 'k']],
    [['exec', 'shop', '--', 'l']],
  ])('of %j is a path', async (typed) => {
    expect(await complete(SHOWN, typed, names)).toEqual({ candidates: [], files: true });
  });

  it('answers as kubectl asks a plugin, and without a cluster too', async () => {
    const kubectl = async (): Promise<string> => 'shop shelf';
    expect(await runCli(['__complete', '--', 'wait', 'sho'], { kubectl })).toMatchObject({ code: 0, out: 'shop\n:4' });
    expect(await runCli(['__complete', '--', 'exec', 'shop', '--', 'l'])).toMatchObject({ code: 0, out: ':0' });
    expect(await runCli(['__complete', '--', 'wait', ''])).toMatchObject({ code: 0, out: ':4', err: '' });
  });

  it('asks the HTTP API at the address of the environment, in the namespace that is typed', async () => {
    const cli = makeOwnCli({ record: aRecord() });
    const environment = { DAVIT_SERVER: 'https://a', DAVIT_TOKEN: 'x' };
    const seen: (string | undefined)[] = [];
    const onConnect = ({ namespace }: { readonly namespace?: string | undefined }): void => void seen.push(namespace);
    const typed = ['__complete', '--', '-n', 'team', 'wait', 's'];
    expect(await cli.run(typed, { environment, onConnect })).toMatchObject({ code: 0, out: 'shop\n:4', asked: [] });
    expect(seen).toEqual(['team']);
    expect(await runCli(typed, { environment })).toMatchObject({ code: 0, out: ':4', err: '' });
  });

  it.each(['bash', 'zsh', 'kubectl'])('has a script for %s that asks the program', async (shell) => {
    expect((await runCli(['completion', shell])).out).toMatch(/__complete -- /);
  });
});

it('prints one document for programs, also where it fails after that', async () => {
  const out: string[] = [];
  const command: Command = {
    name: 'open',
    purpose: '',
    words: [],
    flags: [OUTPUT],
    async run({ report }) {
      report({ url: 'http://127.0.0.1:1' });
      throw new Failure('No pod is left.');
    },
  };
  const world = { environment: {}, kubectl: () => async () => '', onInterrupt: () => undefined };
  const say = (line: string): void => void out.push(line);
  const running = run([command], ['open', '-o', 'json'], { ...world, say, warn: () => undefined } as unknown as World);
  await expect(running).rejects.toThrow('No pod is left.');
  expect(out.map((line) => JSON.parse(line) as unknown)).toEqual([{ url: 'http://127.0.0.1:1' }]);
});
