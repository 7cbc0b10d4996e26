// kubectl-davit as one file: the program, and the parts that it loads later as texts. V8 reads a text much faster than code, and most
// commands need few of the parts.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { inAscii } from './in-ascii.ts';

const root = join(import.meta.dirname, '../..');
const ENTRY = 'kubectl-davit.js';

/** Makes a part of its text when it is asked for. */
const LOADER = `const given = createRequire(import.meta.url);
const made = new Map();
function require(name) {
  if (!Object.hasOwn(PARTS, name)) return given(name);
  if (!made.has(name)) {
    const part = { exports: {} };
    made.set(name, part);
    compileFunction(PARTS[name], ['require', 'module', 'exports'], { filename: name })(require, part, part.exports);
  }
  return made.get(name).exports;
}
require('./${ENTRY}');
`;

/** Writes the plugin to `path`. */
export async function writePluginFile(path: string, plugins: Plugin[] = []): Promise<void> {
  const bundle = await rolldown({
    input: 'src/cli/main.ts',
    cwd: root,
    platform: 'node',
    logLevel: 'silent',
    plugins: [...plugins, inAscii],
  });
  const { output } = await bundle.generate({
    format: 'cjs',
    minify: true,
    entryFileNames: ENTRY,
    chunkFileNames: '[name].js',
  });
  await bundle.close();
  const parts = output.flatMap((one) =>
    one.type === 'chunk' ? [[`./${one.fileName}`, one.code.replace(/^#!.*/, '')]] : [],
  );
  const head = `#!/usr/bin/env node
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
`;
  const texts = `const PARTS = ${JSON.stringify(Object.fromEntries(parts))};\n`;
  await writeFile(path, [head, texts, LOADER].join(''), { mode: 0o755 });
}
