// A folder with neither a workflow configuration file nor a Dockerfile: what is installed there, and what starts. Pure.
// Imports no zod at run time.

import { jsonOf } from '../runtime/json-value.ts';

/** Files that name what a folder needs; the first that exists decides. */
export const MANIFESTS = ['requirements.txt', 'pyproject.toml', 'package.json'] as const;

/** Programs that start; the first that exists does. */
const PROGRAMS = { python3: ['main.py', 'app.py', 'server.py'], node: ['server.js', 'index.js'] };

export const NO_START = `Name the program main.py, app.py or server.py, add the script start to package.json, or write a Dockerfile`;

export function isManifest(path: string): boolean {
  return MANIFESTS.some((name) => path === name || path.endsWith(`/${name}`));
}

export function isOfNode(manifest: string): boolean {
  return manifest.endsWith('package.json');
}

/** Undefined if nothing says it. `has`: whether the folder of the manifest has a file. `packageJson`: its text there. */
export function startCommand(
  manifest: string,
  has: (name: string) => boolean,
  packageJson: string | undefined,
): readonly string[] | undefined {
  const content = jsonOf(packageJson ?? '') as { readonly scripts?: { readonly start?: unknown } } | null | undefined;
  if (isOfNode(manifest) && typeof content?.scripts?.start === 'string') return ['npm', 'start'];
  const program = isOfNode(manifest) ? 'node' : 'python3';
  const found = PROGRAMS[program].find(has);
  return found === undefined ? undefined : [program, found];
}
