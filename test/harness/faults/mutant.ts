// Loaded with --import into a controller that is to have a known bug: rewrites the text of its source as it is read.
// Production code carries no switch for this.

import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { EXPLORER_SEEDS } from '../explore/seeds.ts';
import { SEEDS } from './mutants.ts';
import { VERIFICATION_SEEDS } from './verification-seeds.ts';

const wanted = (process.env['SEEDED_BUGS'] ?? '').split(',').filter((name) => name !== '');
const replacements = wanted.flatMap((name) => {
  const seed = SEEDS[name] ?? EXPLORER_SEEDS[name] ?? VERIFICATION_SEEDS[name];
  if (!seed) throw new Error(`no seeded bug is called ${name}`);
  return seed.replacements;
});

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const mine = replacements.filter(({ file }) => url.endsWith(file.replaceAll(sep, '/')));
    if (mine.length === 0 || loaded.source === undefined || loaded.source === null) return loaded;
    let source =
      typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString();
    for (const { file, from, to } of mine) {
      if (source.split(from).length !== 2) throw new Error(`seeded bug: ${file} no longer has exactly once: ${from}`);
      source = source.replace(from, () => to);
    }
    return { ...loaded, source };
  },
});
