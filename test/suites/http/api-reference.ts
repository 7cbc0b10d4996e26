// docs/openapi.json, as the facade serves it, and the table of its requests in docs/api.md. `npm run generate` writes both;
// suites/hygiene/documents.test.ts fails if they are not current.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTable } from '../../../src/generate/sections.ts';
import { makeFacade } from './facade.ts';

const docs = join(import.meta.dirname, '../../../docs');

interface Operation {
  readonly tags?: readonly string[];
  readonly summary: string;
}

interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Content of each generated file by its path. Throws an Error if docs/api.md lacks a marker. */
export async function apiFiles(): Promise<ReadonlyMap<string, string>> {
  const facade = await makeFacade();
  const document = (await facade.app.inject('/openapi.json')).json<Document>();
  await facade.app.close();
  const page = join(docs, 'api.md');
  return new Map([
    [join(docs, 'openapi.json'), `${JSON.stringify(document, null, 1)}\n`],
    [page, withTable(readFileSync(page, 'utf8'), 'the OpenAPI document', reference(document))],
  ]);
}

function reference({ tags, paths }: Document): string {
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return tags
    .map(({ name, description }) => {
      const rows = requests
        .filter(({ operation }) => operation.tags?.includes(name))
        .map(({ method, path, operation }) => `| \`${method.toUpperCase()} ${path}\` | ${operation.summary} |`);
      return `**${name.charAt(0).toUpperCase()}${name.slice(1)}.** ${description}\n\n| request | |\n|---|---|\n${rows.join('\n')}\n`;
    })
    .join('\n');
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
