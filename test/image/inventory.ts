// The packages whose code is in a bundle: their bill of materials, as CycloneDX, and their licences.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Licences under which code may be bundled: each asks for its text, and nothing else. */
export const ALLOWED_LICENCES: readonly string[] = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX. */
  readonly licence: string;
  readonly author: string;
  readonly homepage: string;
  /** Absolute. */
  readonly folder: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly author?: string | { readonly name: string };
  readonly homepage?: string;
}

const root = join(import.meta.dirname, '../..');
const FOLDER = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

/** The packages of these files, sorted, each once for each version. */
export function packagesOf(files: Iterable<string>): Package[] {
  const folders = new Set([...files].flatMap((file) => FOLDER.exec(file)?.[0] ?? []));
  const found = new Map([...folders].toSorted().map((folder) => [keyOf(folder), folder]));
  return [...found.values()].map(packageIn).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function read<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

function keyOf(folder: string): string {
  const { name, version } = read<Manifest>(join(folder, 'package.json'));
  return `${name}@${version}`;
}

function packageIn(folder: string): Package {
  const { name, version, license, author, homepage = '' } = read<Manifest>(join(folder, 'package.json'));
  return {
    name,
    version,
    licence: typeof license === 'string' ? license : JSON.stringify(license ?? null),
    author: typeof author === 'object' ? author.name : (author ?? `the authors of ${name}`),
    homepage,
    folder,
  };
}

/** `packages` as CycloneDX 1.5 JSON, with the hashes of the lockfile. */
export function billOf(product: string, packages: readonly Package[]): object {
  const { version } = read<Manifest>(join(root, 'package.json'));
  const lockfile = read<{ readonly packages: Readonly<Record<string, { readonly integrity?: string }>> }>(
    join(root, 'package-lock.json'),
  );
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': `${product}@${version}`, name: product, version } },
    components: packages.map(({ name, version: one, licence, folder }) => {
      const [algorithm, hash = ''] = (lockfile.packages[relative(root, folder)]?.integrity ?? '').split('-');
      if (algorithm !== 'sha512') throw new Error(`package-lock.json has no SHA-512 of ${name} ${one}`);
      const purl = `pkg:npm/${name.replace('@', '%40')}@${one}`;
      return {
        type: 'library',
        'bom-ref': purl,
        name,
        version: one,
        purl,
        licenses: [{ license: { id: licence } }],
        hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
      };
    }),
  };
}

/** The licences of `packages`, to be given to whoever gets `product`. Throws an Error for one that is not allowed. */
export function noticesOf(product: string, packages: readonly Package[]): string {
  const parts = packages.map((one) => {
    const { name, version, licence, homepage } = one;
    if (!ALLOWED_LICENCES.includes(licence))
      throw new Error(`${name} ${version} has the licence ${licence}, which is not allowed (test/image/inventory.ts)`);
    const title = [`${name} ${version}`, licence, homepage].filter((word) => word !== '').join('\n');
    return `${'='.repeat(80)}\n${title}\n\n${licenceText(one)}\n`;
  });
  return [`${product} contains code of these ${packages.length} packages, under their own licences.\n`, ...parts].join(
    '\n',
  );
}

/** From the package's files; else from its README; else the licence's own text. */
function licenceText({ name, version, licence, author, folder }: Package): string {
  const files = readdirSync(folder);
  const texts = files
    .filter((file) => /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (texts.length > 0) return texts.join('\n\n');
  const readme = files.find((file) => /^readme\.md$/i.test(file));
  const text = readme && readFileSync(join(folder, readme), 'utf8');
  const [, section = ''] = text?.split(/^#+ *licen[cs]e$/im) ?? [];
  if (section.includes('Permission is hereby granted')) return section.trim();
  if (licence === 'MIT') return `Copyright (c) ${author}\n\n${MIT}`;
  throw new Error(`${name} ${version} has no text of its licence ${licence}`);
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;
