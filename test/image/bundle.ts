// `npm run bundle` writes what Davit's image runs to dist: the bundle of src/main.ts, the page, and the bill and licences of the
// packages whose code they contain. With --plugin it adds kubectl-davit and its own. `--dir FOLDER` writes to another folder.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from 'rolldown';
import { writePage } from '../../src/tools/page.ts';
import { inAscii } from './in-ascii.ts';
import { billOf, noticesOf, packagesOf } from './inventory.ts';
import { writePluginFile } from './plugin-file.ts';

const root = join(import.meta.dirname, '../..');

/** Not in the image: only a process outside of a cluster reads a kubeconfig, and such a process has the repository. */
const LEFT_OUT = '@kubernetes/client-node/dist/config.js';

/** Adds the files that end up in a bundle to `files`. */
function record(files: Set<string>): Plugin {
  return {
    name: 'record',
    generateBundle(_options, bundle) {
      for (const part of Object.values(bundle))
        if (part.type === 'chunk') for (const file of part.moduleIds) files.add(file);
    },
  };
}

async function bundle(input: InputOptions, output: OutputOptions): Promise<void> {
  const made = await rolldown({ ...input, cwd: root, platform: 'node', logLevel: 'silent' });
  await made.write({ ...output, format: 'esm', comments: { annotation: false, jsdoc: false } });
  await made.close();
}

/** Writes BILL.cdx.json and the notices. */
async function writeInventory(product: string, files: Set<string>, bill: string, notices: string): Promise<void> {
  const packages = packagesOf(files);
  await writeFile(bill, `${JSON.stringify(billOf(product, packages), null, 2)}\n`);
  await writeFile(notices, noticesOf(product, packages));
}

const { values } = parseArgs({ options: { dir: { type: 'string' }, plugin: { type: 'boolean' } } });
const dir = values.dir ?? join(root, 'dist');

const image = new Set<string>();
await bundle(
  { input: 'src/main.ts', external: [LEFT_OUT], plugins: [record(image), inAscii] },
  { dir, cleanDir: true },
);
await writePage(join(dir, 'page'), [record(image)]);
await writeInventory('davit', image, join(dir, 'sbom.cdx.json'), join(dir, 'THIRD-PARTY-NOTICES'));

if (values.plugin === true) {
  const plugin = new Set<string>();
  const file = join(dir, 'kubectl-davit');
  await writePluginFile(file, [record(plugin)]);
  await writeInventory('kubectl-davit', plugin, `${file}.cdx.json`, `${file}.THIRD-PARTY-NOTICES`);
}
