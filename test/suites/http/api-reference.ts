// docs/openapi.json, as the facade serves it. `npm run generate` writes it; suites/hygiene/documents.test.ts fails if it is not
// current.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFacade } from './facade.ts';

const docs = join(import.meta.dirname, '../../../docs');

/** Content of the generated file by its path. */
export async function apiFiles(): Promise<ReadonlyMap<string, string>> {
  const facade = await makeFacade();
  const document = (await facade.app.inject('/openapi.json')).json<object>();
  await facade.app.close();
  return new Map([[join(docs, 'openapi.json'), `${JSON.stringify(document, null, 1)}\n`]]);
}

if (import.meta.main) {
  for (const [file, content] of await apiFiles()) {
    if (content === read(file)) continue;
    writeFileSync(file, content);
    process.stdout.write(`Written: ${file}\n`);
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
