// What must not be in a public repository: names of machines, and a lockfile that runs or fetches what it should not.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

describe('package-lock.json', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const locked = Object.entries(packages).filter(([path]) => path !== '');

  // The pinned Node's package copies its own program into place, and works without: .npmrc has ignore-scripts.
  const KNOWN_SCRIPTS: readonly string[] = [];
  it('has no package with an install script', () => {
    expect(
      locked
        .filter(([path, { hasInstallScript }]) => hasInstallScript && !KNOWN_SCRIPTS.includes(path))
        .map(([path]) => path),
    ).toEqual([]);
  });
  it('names no registry host, so that everybody installs from his own', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });
  it('has the hash of everything that Linux installs', () => {
    const foreign = ({ os, libc }: Locked): boolean =>
      (os !== undefined && !os.includes('linux')) || libc?.includes('musl') === true;
    // Platforms that hardly anybody develops on; ADR 7 says why their entries may lack one.
    const rare = ({ cpu }: Locked): boolean => cpu !== undefined && !cpu.includes('x64') && !cpu.includes('arm64');
    const missing = locked.filter(
      ([, entry]) => entry.integrity === undefined && !entry.link && !foreign(entry) && !rare(entry),
    );
    expect(missing.map(([path]) => path)).toEqual([]);
  });
  it('names the packages of every platform: npm ci refuses a lockfile that leaves some out', () => {
    const missing = locked.flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });
  it('npm runs no scripts of packages', () => {
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });
});

describe('tracked files', () => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 })
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)));
  // Spelt in parts, or this file would be the first finding.
  const MACHINE_PATHS = new RegExp(
    ['/work' + '/', '/tmp' + '/bin', '/ho' + 'me/(?!node\\b)', '/ro' + 'ot/', '/Us' + 'ers/']
      .map((start) => `(^|[\\s'"\`(=:])${start}[A-Za-z.]`)
      .join('|'),
  );

  /** What stands at the root. A newcomer reads this list first, so nothing is there by accident. */
  const ROOT_ENTRIES = [
    '.ci',
    '.dockerignore',
    '.github',
    '.gitignore',
    '.npmrc',
    '.oxlintrc.json',
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'Dockerfile',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'biome.json',
    'charts',
    'crds',
    'docs',
    'knip.json',
    'package-lock.json',
    'package.json',
    'renovate.json',
    'src',
    'test',
    'tsconfig.json',
    'vitest.config.ts',
  ];
  it('are at the root only where they belong', () => {
    const found = new Set(tracked.map((path) => path.split('/')[0] ?? ''));
    const stray = [...found]
      .filter((name) => !ROOT_ENTRIES.includes(name))
      .map((name) => `${name} is new at the root: git rm --cached it, or add it to ROOT_ENTRIES if it belongs there`);
    const gone = ROOT_ENTRIES.filter((name) => !found.has(name)).map(
      (name) => `${name} is no longer tracked at the root: restore it, or take it off ROOT_ENTRIES`,
    );
    expect([...stray, ...gone]).toEqual([]);
  });
  it("name no path of somebody's machine", () => {
    const found = tracked
      .filter((path) => !/\.(sum|png|svg|ico)$/.test(path))
      .flatMap((path) =>
        readFileSync(join(root, path), 'utf8')
          .split('\n')
          .flatMap((line, i) => (MACHINE_PATHS.test(line) ? [`${path}:${i + 1} ${line.trim().slice(0, 100)}`] : [])),
      );
    expect(found).toEqual([]);
  });
  it('name no place from which Python packages are to come', () => {
    const options = tracked
      .filter((path) => path.endsWith('requirements.txt'))
      .flatMap((path) => readFileSync(join(root, path), 'utf8').match(/^--(?!hash)\S+/gm) ?? []);
    expect(options).toEqual([]);
  });
  it('are no secrets of a machine', () => {
    expect(tracked.filter((path) => /(^|\/)(\.env|kubeconfig|id_rsa|.*\.(pem|key|p12))$/.test(path))).toEqual([]);
  });
});
