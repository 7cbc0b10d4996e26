// Bundles the pages at `/` and `/docs` of the HTTP API: `npm run bundle:page` writes it to dist/page, or to
// another folder that is its argument.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { isAdvice } from '../kinds/app-deployment-conditions.ts';

const source = join(import.meta.dirname, '../web');

const TEXT = String.raw`(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`;
const MEANINGS = new RegExp(String.raw`\bmeaning:\s*${TEXT},\s*`, 'g');
const TODOS = new RegExp(String.raw`\btodo:\s*(${TEXT}),?\s*`, 'g');

/** The page shows what to do about a reason where that is advice. The other texts it has from messages. */
const withoutUnshownTexts: Plugin = {
  name: 'without-unshown-texts',
  transform: (code, id) =>
    id.endsWith('/app-deployment-conditions.ts')
      ? code
          .replaceAll(MEANINGS, '')
          .replaceAll(TODOS, (todo, text: string) => (isAdvice(text.slice(1, -1)) ? todo : ''))
      : undefined,
};

/** By name. The second and third are loaded when they are wanted, at the addresses that the document has; the last is for `/docs`. */
const SCRIPTS = [
  ['page.js', 'main.tsx'],
  ['create.js', 'create.tsx'],
  ['oidc.js', 'oidc.ts'],
  ['docs.js', 'docs.tsx'],
] as const;

/** One script, which shares no module with another: the browser would load it a second time, under a URL without its hash. */
async function bundled(entry: string, plugins: readonly Plugin[]): Promise<string> {
  const bundle = await rolldown({
    input: join(source, entry),
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    logLevel: 'silent',
    plugins: [withoutUnshownTexts, ...plugins],
  });
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    comments: { annotation: false, jsdoc: false },
  });
  await bundle.close();
  return output[0].code;
}

/** The page's files by name. */
export async function bundlePage(plugins: readonly Plugin[] = []): Promise<ReadonlyMap<string, string>> {
  const assets = await Promise.all(
    ['page.css', 'icon.svg'].map(async (name) => [name, await readFile(join(source, name), 'utf8')] as const),
  );
  const scripts = await Promise.all(
    SCRIPTS.map(async ([name, entry]) => [name, await bundled(entry, plugins)] as const),
  );
  return new Map([...scripts, ...assets]);
}

/** Bundles the pages into `folder`. */
export async function writePage(folder: string, plugins: readonly Plugin[] = []): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = [...(await bundlePage(plugins))];
  // Renamed into place, because another process may read them.
  await Promise.all(
    files.map(async ([name, text]) => {
      const made = join(folder, `.${process.pid}-${name}`);
      await writeFile(made, text);
      await rename(made, join(folder, name));
    }),
  );
}

if (import.meta.main) await writePage(process.argv[2] ?? join(import.meta.dirname, '../../dist/page'));
