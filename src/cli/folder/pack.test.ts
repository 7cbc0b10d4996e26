// What is uploaded of a folder, and what is not.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ignoreRules, verdictOn } from '../../kinds/ignore-rules.ts';
import { bytesText } from '../../kinds/text.ts';
import { Failure, tidyUp } from '../transport/kubectl.ts';
import { builtFrom, listSource, pack } from './pack.ts';

const MEBIBYTE = 1024 * 1024;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-pack-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string | Buffer>>, under = folder): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(under, path)), { recursive: true });
    await writeFile(join(under, path), text);
  }
}

async function listed(config = 'langgraph.json'): Promise<string[]> {
  return (await listSource(folder, config)).entries.map(({ path }) => path);
}

describe('an ignore file', () => {
  it.each<[rules: string, path: string, isIgnored: boolean]>([
    ['*.log', 'a.log', true],
    ['*.log', 'deep/down/a.log', true],
    ['*.log', 'a.logs', false],
    ['/a.log', 'deep/a.log', false],
    ['build', 'build/x', true],
    ['build/', 'build', false],
    ['build/', 'build/x', true],
    ['build/', 'deep/build/x', true],
    ['deep/build', 'other/deep/build', false],
    ['./data', 'data/x', true],
    ['**/x', 'x', true],
    ['**/x', 'a/b/x', true],
    ['a/**/x', 'a/x', true],
    ['a/**/x', 'a/b/c/x', true],
    ['a/**', 'a/b', true],
    ['a/**', 'a/', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['a[0-9]', 'a5', true],
    ['a[!0-9]', 'a5', false],
    ['a[]x]', 'a]', true],
    ['a[', 'a[', true],
    ['a[z-a]', 'az', false],
    [String.raw`\#x`, '#x', true],
    [String.raw`\!x`, '!x', true],
    ['# x', '# x', false],
    ['x  ', 'x', true],
    ['a.b+(c)', 'a.b+(c)', true],
    ['a.b', 'axb', false],
    ['*\n!keep', 'keep', false],
    ['*\n!keep', 'keep/deep/x', false],
    ['!keep\n*', 'keep', true],
    ['x\r\ny', 'x', true],
    ['\uFEFFx', 'x', true],
    ['', 'x', false],
    ['/', 'x', false],
  ])('with %j ignores %s: %s', (rules, path, isIgnored) => {
    expect(verdictOn(path, ignoreRules(rules)).isIgnored).toBe(isIgnored);
  });

  it('is read as git reads it', async () => {
    const paths = [
      'a.log',
      'keep.log',
      'src/a.log',
      'src/x/data.bin',
      'data/x',
      'build/a/b',
      'docs/a.txt',
      'ä.txt',
      'b c',
    ];
    const rules = '*.log\n!keep.log\n/data/\nbuild/**\nsrc/**/data.*\n[b] c\n';
    await write({
      ...Object.fromEntries(paths.map((path) => [path, ''])),
      'langgraph.json': '{}',
      '.gitignore': rules,
    });
    execFileSync('git', ['init', '-q'], { cwd: folder });
    const others = ['ls-files', '--others', '--exclude-standard', '-z'];
    const git = execFileSync('git', others, { cwd: folder, encoding: 'utf8' }).split('\0').filter(Boolean);
    expect(await listed()).toEqual(git.toSorted((a, b) => (a < b ? -1 : 1)));
  });
});

describe('what is packed', () => {
  it('is what neither .gitignore nor .dockerignore leaves out; .dockerignore decides', async () => {
    await write({
      'langgraph.json': '{}',
      'app.py': '',
      'dist/app.js': '',
      'notes.txt': '',
      'data/big.bin': '',
      '.gitignore': 'dist/\n*.bin\n',
      '.dockerignore': '*.txt\n!dist/\n',
    });
    expect(await listed()).toEqual(['.dockerignore', '.gitignore', 'app.py', 'dist/app.js', 'langgraph.json']);
  });

  it('has no credentials, no history and nothing that a build makes', async () => {
    const left = [
      '.git/config',
      'lib/.git/HEAD',
      '.env',
      'app/.env.local',
      '.venv/bin/python',
      'node_modules/x/index.js',
    ];
    await write({ 'langgraph.json': '{}', ...Object.fromEntries(left.map((path) => [path, 'secret'])) });
    await write({ 'app/__pycache__/a.pyc': '', '.environment': '' });
    expect(await listed()).toEqual(['.environment', 'langgraph.json']);
    await write({ '.dockerignore': '*\n!app\n!**/*\n!*.py\n' });
    expect((await listed()).filter((path) => /\.env$|\.env\.|\.git\/|node_modules|venv|pycache/.test(path))).toEqual(
      [],
    );
  });

  it('has them if a rule names them', async () => {
    await write({ 'langgraph.json': '{}', '.env': '', '.env.example': '', '.gitignore': '.env\n' });
    await write({ '.dockerignore': '!.env\n' });
    expect(await listed()).toEqual(['.dockerignore', '.env', '.gitignore', 'langgraph.json']);
  });

  it('has a file of an ignored folder that a later rule names', async () => {
    await write({ 'langgraph.json': '{}', 'src/a.py': '', 'src/b.py': '', '.dockerignore': '*\n!src/a.py\n' });
    expect(await listed()).toEqual(['.dockerignore', 'langgraph.json', 'src/a.py']);
  });

  it('has the configuration file and the .dockerignore in any case', async () => {
    await write({ 'deploy/app.json': '{}', 'app.py': '', '.dockerignore': 'deploy\n.dockerignore\n' });
    expect(await listed('./deploy/app.json')).toEqual(['.dockerignore', 'app.py', 'deploy/app.json']);
  });

  it('has links that stay in the folder, as links, and no socket or pipe', async () => {
    await write({ 'langgraph.json': '{}', 'lib/a.py': '' });
    await symlink('../lib/a.py', join(folder, 'lib/b.py'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    expect((await listSource(folder, 'langgraph.json')).entries).toEqual([
      { path: 'langgraph.json', isExecutable: false, size: 2 },
      { path: 'lib/a.py', isExecutable: false, size: 0 },
      { path: 'lib/b.py', isExecutable: false, size: 0, link: '../lib/a.py' },
    ]);
  });

  it.each([['/etc/passwd'], ['../outside'], ['lib/../../outside'], ['..']])('has no link to %s', async (target) => {
    await write({ 'langgraph.json': '{}' });
    await symlink(target, join(folder, 'link'));
    await expect(listed()).rejects.toThrow(`link is a symbolic link to ${target}, which is outside the folder.`);
    await write({ '.dockerignore': 'link' });
    expect(await listed()).toEqual(['.dockerignore', 'langgraph.json']);
  });
});

it.each([
  [['app.py'], 'langgraph.json'],
  [['package.json', 'requirements.txt'], 'requirements.txt'],
  [['package.json', 'Dockerfile'], 'Dockerfile'],
  [['Dockerfile', 'langgraph.json'], 'langgraph.json'],
])('of %s, %s is built', async (files, built) => {
  await write(Object.fromEntries(files.map((name) => [name, ''])));
  expect(await builtFrom(folder)).toBe(built);
});

describe('what is refused', () => {
  it('a folder that is not there', async () => {
    await expect(listSource(join(folder, 'nope'), 'langgraph.json')).rejects.toThrow(
      /^Folder .*nope does not exist\.$/,
    );
  });

  it('a file', async () => {
    await write({ file: '' });
    await expect(listSource(join(folder, 'file'), 'langgraph.json')).rejects.toThrow(/file is not a folder\.$/);
  });

  it('an empty folder, and one of which nothing is left', async () => {
    await expect(listed()).rejects.toThrow(/has no file to deploy/);
    await write({ '.env': 'A=1' });
    await expect(listed()).rejects.toThrow(/has no file to deploy/);
  });

  it('no configuration file', async () => {
    await write({ 'app.py': '' });
    await expect(listed()).rejects.toThrow(/ has no file langgraph\.json\. Name the .* with --config PATH\.$/);
  });

  it.each(['../langgraph.json', '/etc/passwd', 'a/../../b', '..'])('a configuration file at %s', async (config) => {
    await write({ 'app.py': '' });
    await expect(listed(config)).rejects.toThrow(`--config ${config} is not in ${folder}.`);
  });

  it('more than the platform takes, with the largest files named; nothing is left behind', async () => {
    const noise = Buffer.concat(Array.from({ length: 2000 }, (_, i) => createHash('sha512').update(`${i}`).digest()));
    await write({ 'langgraph.json': '{}', 'model.bin': noise, 'small.txt': 'x' });
    // A folder of its own: other processes of this machine pack as well.
    const temporary = await mkdtemp(join(tmpdir(), 'davit-pack-'));
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(temporary, { recursive: true });
    });
    await expect(pack(await listSource(folder, 'langgraph.json'), 10_000)).rejects.toThrow(
      /has more than 9\.8 KiB when packed, .* Largest: model\.bin \(125\.0 KiB\), langgraph\.json \(2 B\), small\.txt \(1 B\)\.$/,
    );
    expect(await readdir(temporary)).toEqual([]);
  });

  it.each([
    ['shorter', 'a'],
    ['longer', 'a'.repeat(100)],
  ])('a file that has become %s meanwhile', async (_name, text) => {
    await write({ 'langgraph.json': '{}', 'app.py': 'aaaaaaaa' });
    const source = await listSource(folder, 'langgraph.json');
    await write({ 'app.py': text });
    await expect(pack(source, MEBIBYTE)).rejects.toThrow('app.py changed while it was packed. Deploy again.');
  });

  it('a file that has gone meanwhile', async () => {
    await write({ 'langgraph.json': '{}', 'app.py': 'a' });
    const source = await listSource(folder, 'langgraph.json');
    await rm(join(folder, 'app.py'));
    await expect(pack(source, MEBIBYTE)).rejects.toThrow(/app\.py cannot be read: ENOENT/);
  });

  it('a file that can be opened and not be read, and a folder for the archive that is not there', async () => {
    const unreadable = {
      folder: '/proc/self',
      config: 'mem',
      entries: [{ path: 'mem', isExecutable: false, size: 8 }],
    };
    await expect(pack(unreadable, MEBIBYTE)).rejects.toThrow(/^\/proc\/self\/mem cannot be read: E/);
    vi.stubEnv('TMPDIR', join(folder, 'nowhere'));
    onTestFinished(() => void vi.unstubAllEnvs());
    await write({ 'langgraph.json': '{}' });
    const failing = pack(await listSource(folder, 'langgraph.json'), MEBIBYTE);
    await expect(failing).rejects.toThrow(/^The archive cannot be written to .*nowhere: ENOENT/);
    await expect(failing).rejects.toBeInstanceOf(Failure);
  });
});

describe('the archive', () => {
  const LONG = `${'long/'.repeat(40)}file.py`;

  it('is unpacked by tar to what it was', async () => {
    await write({
      'langgraph.json': '{}',
      'run.sh': 'echo',
      'ä/ö.txt': 'umlaut',
      [LONG]: 'deep',
      even: 'x'.repeat(512),
    });
    await chmod(join(folder, 'run.sh'), 0o700);
    await symlink('run.sh', join(folder, 'link'));
    await symlink(LONG, join(folder, 'long-link'));
    const { path, size, remove } = await pack(await listSource(folder, 'langgraph.json'), MEBIBYTE);
    const unpacked = await mkdtemp(join(tmpdir(), 'davit-unpacked-'));
    try {
      expect(readFileSync(path)).toHaveLength(size);
      execFileSync('tar', ['-xzf', path, '-C', unpacked]);
      execFileSync('diff', ['-r', '--no-dereference', folder, unpacked]);
      const names = execFileSync('tar', ['-tvzf', path], { encoding: 'utf8' });
      expect(names).toMatch(/^-rwxr-xr-x 0\/0 +4 1985-10-26 .* run\.sh$/m);
      expect(names).toMatch(/^-rw-r--r-- .* even$/m);
    } finally {
      await rm(unpacked, { recursive: true });
      remove();
    }
  });

  it('goes with the program, whatever ends it', async () => {
    await write({ 'langgraph.json': '{}' });
    const { path } = await pack(await listSource(folder, 'langgraph.json'), MEBIBYTE);
    tidyUp();
    expect(existsSync(dirname(path))).toBe(false);
  });

  it('depends on nothing but paths, contents and the right to execute', async () => {
    const digest = async (): Promise<string> => {
      const { path, remove } = await pack(await listSource(folder, 'langgraph.json'), MEBIBYTE);
      const found = createHash('sha256').update(readFileSync(path)).digest('hex');
      remove();
      return found;
    };
    await write({ 'langgraph.json': '{}', 'b.py': 'b', 'a.py': 'a' });
    const before = await digest();
    await rm(folder, { recursive: true });
    await write({ 'a.py': 'a', 'b.py': 'b', 'langgraph.json': '{}' });
    await utimes(join(folder, 'a.py'), 0, 0);
    await chmod(join(folder, 'b.py'), 0o600);
    expect(await digest()).toBe(before);
    await write({ 'b.py': 'c' });
    expect(await digest()).not.toBe(before);
  });
});

it.each([
  [0, '0 B'],
  [1536, '1.5 KiB'],
  [200 * MEBIBYTE, '200.0 MiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
