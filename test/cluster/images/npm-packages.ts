// The part of node_modules that some packages need at run time, found in package-lock.json.
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface LockedPackage {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface ProductionPackages {
  /** `node_modules/pg@8.23.1` and so on: changes whenever what is copied would. */
  readonly versions: readonly string[];
  copyInto(folder: string): Promise<void>;
}

export async function productionPackages(root: string, names: readonly string[]): Promise<ProductionPackages> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockedPackage>>;
  };
  const paths = closure(lock.packages, names);
  return {
    versions: paths.map((path) => `${path}@${lock.packages[path]?.version}`),
    async copyInto(folder) {
      await Promise.all(
        paths.map((path) =>
          cp(join(root, path), join(folder, path), {
            recursive: true,
            filter: (source) => isNeeded(source.slice(join(root, path).length)),
          }),
        ),
      );
    },
  };
}

export function closure(packages: Readonly<Record<string, LockedPackage>>, names: readonly string[]): string[] {
  const found = new Set<string>();
  const open = names.map((name) => ({ name, from: '' }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const path = resolve(packages, next.name, next.from);
    if (path === undefined) throw new Error(`package-lock.json has no ${next.name}`);
    if (found.has(path)) continue;
    found.add(path);
    // Optional ones (native speed-ups, other platforms) stay away: the sample is to be the same everywhere.
    for (const name of Object.keys(packages[path]?.dependencies ?? {})) open.push({ name, from: path });
  }
  return [...found].toSorted();
}

/** As Node looks it up: the nearest node_modules on the way to the root. */
function resolve(packages: Readonly<Record<string, LockedPackage>>, name: string, from: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (folder === '') return undefined;
  }
}

function isNeeded(path: string): boolean {
  if (path.startsWith('/node_modules')) return false;
  return !/\.(?:d\.[cm]?ts|map|md|markdown)$/.test(path);
}
