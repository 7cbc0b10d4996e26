// The chart as Helm renders it, without a cluster.

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { ensureTools, toolPath } from '../cluster/tools.ts';

const run = promisify(execFile);
const chart = join(import.meta.dirname, '../../charts/davit');
const WITHOUT_DEFINITIONS = ['--set', 'crds.install=false'];

export interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks wherever it likes into a manifest
  readonly [part: string]: any;
}

export interface ChartRenderer {
  /** A folder for values files, and Helm's home. */
  readonly home: string;
  /**
   * `helm template` with more arguments, but for the definitions; fails with Helm's message. They are nine tenths of the chart and take half
   * of a rendering, and depend on `commonLabels` alone.
   */
  render(...args: readonly string[]): Promise<Manifest[]>;
  /** The same with the definitions. */
  renderWhole(...args: readonly string[]): Promise<Manifest[]>;
  /** The notes that an installation with these values prints. Helm 3 prints them of an installation in a cluster alone. */
  notes(set: string): Promise<string>;
  /** Any other command of Helm; its output. */
  helm(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** Builds Helm where it is not there yet. */
export async function makeChartRenderer(): Promise<ChartRenderer> {
  const program = toolPath(await ensureTools(['helm'], () => undefined), 'helm', 'helm');
  const home = await mkdtemp(join(tmpdir(), 'davit-chart-'));
  async function helm(...args: readonly string[]): Promise<string> {
    const options = { maxBuffer: 64 << 20, env: { ...process.env, HOME: home } };
    return (await run(program, [...args], options)).stdout;
  }
  /** By the arguments: many tests ask for the same. Without those of values files, which tests overwrite. */
  const rendered = new Map<string, Promise<string>>();
  function template(folder: string, args: readonly string[]): Promise<string> {
    const all = ['template', 'davit', folder, '--namespace', 'davit-system', ...args];
    if (args.some((arg) => arg.startsWith('-f') || arg.startsWith('--values'))) return helm(...all);
    const text = rendered.get(all.join('\n')) ?? helm(...all);
    rendered.set(all.join('\n'), text);
    return text;
  }
  async function renderFrom(folder: string, args: readonly string[]): Promise<Manifest[]> {
    const text = await template(folder, args);
    return documentsOf(text)
      .map(parsed)
      .filter((manifest) => manifest !== null);
  }
  /** A chart of the notes alone, as a manifest: Helm renders no other template for them. */
  let notesAlone: Promise<string> | undefined;
  async function makeNotesAlone(): Promise<string> {
    const folder = join(home, 'notes/davit');
    const isForNotes = (path: string): boolean => !/\/files$|\.json$|\/templates\/(tests|[^_].*\.yaml)$/.test(path);
    await cp(chart, folder, { recursive: true, filter: isForNotes });
    const templates = join(folder, 'templates');
    const text = await readFile(join(templates, 'NOTES.txt'), 'utf8');
    await writeFile(join(templates, '_notes.tpl'), `{{- define "notes" }}${text}{{ end }}`);
    await writeFile(join(templates, 'notes.yaml'), 'text: {{ include "notes" . | quote }}\n');
    return folder;
  }
  return {
    home,
    helm,
    render: (...args) => renderFrom(chart, [...args, ...WITHOUT_DEFINITIONS]),
    renderWhole: (...args) => renderFrom(chart, args),
    async notes(set) {
      notesAlone ??= makeNotesAlone();
      const more = set ? ['--set', set] : [];
      const [notes] = await renderFrom(await notesAlone, more);
      return notes?.['text'] as string;
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}

export function documentsOf(manifests: string): string[] {
  return manifests.split(/^---$/m);
}

/** JSON by YAML: most objects are the same in many renderings, and YAML takes fifty times as long. */
const known = new Map<string, string>();

function parsed(document: string): Manifest | null {
  const json = known.get(document) ?? JSON.stringify(parse(document) ?? null);
  known.set(document, json);
  return JSON.parse(json) as Manifest | null;
}

export function manifestNamed(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (!found) throw new Error(`The chart renders no ${kind} ${name}.`);
  return found;
}
