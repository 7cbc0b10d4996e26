// `npm run sbom`: what runs in Davit's image besides our own code, as CycloneDX. npm is shown a lockfile that holds
// nothing else: told to leave development out (--omit=dev), npm 11 leaves out too what both need, zod among them.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Package {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, Package>>;
}

const root = join(import.meta.dirname, '../..');

function read<T>(file: string): T {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as T;
}

function withoutDevelopment(manifest: object): object {
  return { ...manifest, devDependencies: {}, optionalDependencies: {} };
}

const lockfile = read<Lockfile>('package-lock.json');
const running = Object.entries(lockfile.packages)
  .filter(([, { dev, optional, devOptional }]) => !dev && !optional && !devOptional)
  .map(([path, entry]) => [path, path === '' ? withoutDevelopment(entry) : entry]);

const work = mkdtempSync(join(tmpdir(), 'davit-sbom-'));
// npm names the product after its folder.
const folder = join(work, 'davit');
mkdirSync(folder);
writeFileSync(join(folder, 'package.json'), JSON.stringify(withoutDevelopment(read('package.json'))));
writeFileSync(
  join(folder, 'package-lock.json'),
  JSON.stringify({ ...lockfile, packages: Object.fromEntries(running) }),
);
try {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  process.stdout.write(execFileSync('npm', args, { cwd: folder, maxBuffer: 64 << 20 }));
} finally {
  rmSync(work, { recursive: true, force: true });
}
