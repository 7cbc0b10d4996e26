// The chart's objects without Helm, which would take minutes to build: as test/suites/hygiene/chart.test.ts has had Helm render
// them, with the custom resource definitions beside them.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

const definitions = join(import.meta.dirname, '../../crds');
const SETTINGS = 'settings.yaml';
/** For kubectl davit. */
const PUBLISHED = 'settings.json';

interface Manifest {
  readonly data?: Record<string, string>;
}

/** `images` take the places of the platform's own. */
export async function renderedChart(images: Readonly<Record<string, string>>): Promise<string> {
  const chart = await readFile(join(import.meta.dirname, 'chart.yaml'), 'utf8');
  const objects = parseAllDocuments(chart).map((document) => document.toJS() as Manifest);
  for (const { data } of objects) {
    for (const file of [SETTINGS, PUBLISHED]) {
      if (data?.[file] === undefined) continue;
      const settings = parse(data[file]) as { readonly images: object };
      const write = file === PUBLISHED ? JSON.stringify : stringify;
      data[file] = write({ ...settings, images: { ...settings.images, ...images } });
    }
  }
  const files = (await readdir(definitions)).toSorted();
  const kinds = await Promise.all(files.map((name) => readFile(join(definitions, name), 'utf8')));
  return [...kinds, ...objects.map((object) => stringify(object))].join('---\n');
}
