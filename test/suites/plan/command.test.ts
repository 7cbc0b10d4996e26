// `davit plan` as a build's pod runs it: a process of its own, on a workspace that somebody else has filled.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const VALID = JSON.stringify({ dependencies: ['.'], graphs: { agent: './agent.py:graph' } });
const MB = 1024 * 1024;

let place: string;
let workspace: string;
let output: string;
let termination: string;

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'davit-plan-'));
  workspace = join(place, 'shop');
  output = join(place, 'out');
  termination = join(place, 'termination-log');
  await mkdir(output);
  await files({ 'workflow.json': VALID, 'agent.py': '', 'setup.py': '' });
});
afterEach(() => rm(place, { recursive: true, force: true }));

async function files(given: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, content] of Object.entries(given)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
  }
}

interface Ended {
  readonly code: number;
  readonly result: unknown;
  readonly stderr: string;
}

/** Without any environment, and allowed to read its own code and the workspace, and to write where it is told. */
function davitPlan(args: readonly string[] = [], config = 'workflow.json'): Promise<Ended> {
  const allowed = [
    '--permission',
    `--allow-fs-read=${join(root, 'src')}`,
    `--allow-fs-read=${join(root, 'node_modules')}`,
    `--allow-fs-read=${join(root, 'package.json')}`,
    `--allow-fs-read=${workspace}`,
    `--allow-fs-read=${output}`,
    `--allow-fs-write=${output}`,
    `--allow-fs-write=${termination}`,
  ];
  const told = [
    '--workspace',
    workspace,
    '--config',
    config,
    '--output',
    output,
    '--termination-log',
    termination,
    '--python-base',
    'base/python:1',
  ];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...allowed, join(root, 'src/main.ts'), 'plan', ...told, ...args],
      { env: {}, timeout: 60_000 },
      (error, stdout, stderr) =>
        resolve({
          code: error === null ? 0 : Number(error.code ?? -1),
          result: stdout === '' ? undefined : (JSON.parse(stdout) as unknown),
          stderr,
        }),
    );
  });
}

describe('davit plan', () => {
  it('writes a Dockerfile, and says in one line of JSON where it is and what to build', async () => {
    const { code, result } = await davitPlan(['--user', '65532:65532', '--install-command', '', '--name', 'my shop']);
    expect({ code, result }).toEqual({
      code: 0,
      result: { dockerfile: join(output, 'Dockerfile'), context: workspace },
    });
    const dockerfile = await readFile(join(output, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain('\nFROM base/python:1\nUSER root\n');
    expect(dockerfile).toContain('\nCOPY --chown=65532:65532 . /deps/my-shop\n');
    expect(await readFile(join(output, 'Dockerfile.dockerignore'), 'utf8')).toContain('.git\n');
    expect(existsSync(termination)).toBe(false);
    expect((await readdir(workspace)).toSorted()).toEqual(['agent.py', 'setup.py', 'workflow.json']);
  });

  it('writes the warnings next to the Dockerfile, one a line, and as the termination message', async () => {
    await files({ 'workflow.json': JSON.stringify({ ...JSON.parse(VALID), grphs: 1, evn: 2 }) });
    expect((await davitPlan()).code).toBe(0);
    const warnings = await readFile(join(output, 'warnings'), 'utf8');
    expect(warnings).toMatch(/^workflow\.json: the key "grphs" is not known.*\nworkflow\.json: the key "evn" .*\n$/);
    expect(await readFile(termination, 'utf8')).toBe(warnings.trim());
  });

  it('takes a Dockerfile byte for byte', async () => {
    const text = '\ufeff# syntax=x\r\nFROM scratch\n\tRUN "é"';
    await files({ Dockerfile: text });
    expect((await davitPlan([], './Dockerfile')).code).toBe(0);
    expect(await readFile(join(output, 'Dockerfile'), 'utf8')).toBe(text);
  });

  it('ends a failure with 1, and with its sentence as the termination message', async () => {
    await files({ 'workflow.json': '{"graphs": {},\n}' });
    const message =
      'workflow.json is not valid JSON at line 2, column 1: "}" is not expected here. JSON has no comments and no comma after the last item. A Dockerfile must have "Dockerfile" in its name.';
    const { code, result } = await davitPlan();
    expect({ code, result }).toEqual({ code: 1, result: { reason: 'ConfigurationNotJson', message } });
    expect(await readFile(termination, 'utf8')).toBe(`ConfigurationNotJson: ${message}`);
    expect(existsSync(join(output, 'Dockerfile'))).toBe(false);
  });

  it.each<[string, () => Promise<unknown>, string, string]>([
    [
      'a file of 10 MB',
      () => files({ 'workflow.json': `${VALID}${' '.repeat(10 * MB)}` }),
      'ConfigurationTooLarge',
      'workflow.json has 104858',
    ],
    [
      'a Dockerfile of 10 MB',
      () => files({ 'workflow.json': '', Dockerfile: '#'.repeat(10 * MB) }),
      'ConfigurationNotJson',
      'line 1',
    ],
    [
      'nesting without end',
      () => files({ 'workflow.json': '['.repeat(MB) }),
      'ConfigurationInvalid',
      'nested more than 64 deep',
    ],
    [
      'bytes that are no text',
      () => files({ 'workflow.json': new Uint8Array([0x7b, 0xff, 0x7d]) }),
      'ConfigurationNotJson',
      'workflow.json is not UTF-8 text',
    ],
    [
      'no such file',
      () => rm(join(workspace, 'workflow.json')),
      'ConfigurationMissing',
      'workflow_config_path is "workflow.json"',
    ],
    [
      'a link to a file outside',
      () => linkTo('workflow.json', '/etc/passwd'),
      'PathIsLink',
      'workflow_config_path goes through the symbolic link "workflow.json"',
    ],
    ['a link to a file inside', () => linkTo('agent.py', 'setup.py'), 'PathIsLink', 'graphs.agent goes through'],
    [
      'a graph that is a pipe',
      () => pipe('agent.py'),
      'ConfigurationInvalid',
      'graphs.agent names "agent.py", which is not a file',
    ],
    [
      'a configuration that is a pipe',
      () => pipe('workflow.json'),
      'ConfigurationInvalid',
      'workflow_config_path names "workflow.json", which is not a file',
    ],
  ])('%s: a failure that says which', async (_, prepare, reason, words) => {
    await prepare();
    expect(await davitPlan()).toEqual({
      code: 1,
      stderr: '',
      result: { reason, message: expect.stringContaining(words) as string },
    });
  });

  it('neither follows a folder that is a link, nor waits for a pipe that it might read', async () => {
    await symlink('/', join(workspace, 'everything'));
    await pipe('package.json');
    await pipe('requirements.txt');
    await files({ '.git/requirements.txt': 'x' });
    expect((await davitPlan()).code).toBe(0);
    await files({ 'workflow.json': JSON.stringify({ dependencies: ['./everything/etc'], graphs: { a: 'x:y' } }) });
    expect((await davitPlan()).result).toMatchObject({ reason: 'PathIsLink' });
  });

  it('says what is wrong with its own arguments', async () => {
    const { code, stderr } = await davitPlan(['--user', 'root\nRUN x']);
    expect(code).toBe(2);
    expect(stderr).toContain('--user must be UID:GID');
    expect((await davitPlan(['--colour', 'red'])).code).toBe(2);
  });

  it('ends with 1 where it cannot write', async () => {
    await mkdir(join(output, 'Dockerfile'));
    expect(await davitPlan()).toMatchObject({ code: 1, result: { reason: 'PlanFailed' } });
  });
});

async function linkTo(path: string, target: string): Promise<void> {
  await rm(join(workspace, path), { force: true });
  await symlink(target, join(workspace, path));
}

async function pipe(path: string): Promise<void> {
  await rm(join(workspace, path), { force: true });
  execFileSync('mkfifo', [join(workspace, path)]);
}
