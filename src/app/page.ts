// The files of the pages, which `npm run bundle` writes to dist/page.

import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { PageFiles } from './page-routes.ts';

const NAMES = ['page.js', 'create.js', 'oidc.js', 'docs.js', 'page.css', 'icon.svg'];

/** Undefined where they have not been written, as in a start from source in a new clone. */
export async function readPage(): Promise<PageFiles | undefined> {
  // The same for the source and for its bundle.
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) return undefined;
  const folder = join(dirname(manifest), 'dist/page');
  try {
    return new Map(
      await Promise.all(NAMES.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
