// The commands that the documents tell people to type, and a shell that runs them as they stand there.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/start.md',
  'docs/install.md',
  'docs/tenants.md',
  'docs/upgrade.md',
  'docs/backup.md',
  'docs/monitoring.md',
  'docs/reasons.md',
  'docs/deploy.md',
  'docs/security.md',
  'docs/promises.md',
  'docs/api.md',
  'docs/builds.md',
  'docs/build-platform.md',
  'docs/listeners.md',
  'docs/plugin.md',
  'docs/databases.md',
  'docs/porting.md',
  'docs/air-gapped.md',
  'docs/troubleshooting.md',
  'docs/tasks.md',
  'docs/agents.md',
  'docs/sign-in.md',
  'docs/notices.md',
] as const;

/** Sections that are scripts: a test types each as a whole, in its order. */
export const TRANSCRIPTS = [
  { document: 'docs/api.md', heading: '## From nothing to a deployment, and back' },
  { document: 'docs/builds.md', heading: '## From a clean clone to READY' },
] as const;

/** What is in a fence of this language, without the indentation of the list that it stands in. */
export function fences(markdown: string, language: string): string[] {
  const found = markdown.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\``, 'gms'));
  return [...found].map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

export function textOf(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

/** A section with its heading, up to the next heading of its level or above. Throws if there is none. */
function sectionOf(text: string, heading: string): string {
  const begin = text.indexOf(`\n${heading}\n`);
  if (begin < 0) throw new Error(`There is no section ${heading}`);
  const [level = ''] = /^#+/.exec(heading) ?? [];
  // A comment of a script is no heading.
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, (fence) => ' '.repeat(fence.length));
  const end = prose.slice(begin + heading.length + 1).search(new RegExp(`\n#{1,${level.length}} `));
  return end < 0 ? text.slice(begin) : text.slice(begin, begin + heading.length + 1 + end);
}

/** The shell commands of a document's section, in their order. */
export function scriptsOf(document: string, heading: string): string[] {
  return fences(sectionOf(textOf(document), heading), 'sh');
}

/** The commands of all documents that stand for themselves: those of the transcripts are apart. */
export function documentedCommands(): string[] {
  const texts = DOCUMENTS.map((document) => {
    const text = textOf(document);
    const headings = TRANSCRIPTS.filter((one) => one.document === document).map(({ heading }) => heading);
    return headings.reduce((rest, heading) => rest.replace(sectionOf(text, heading), ''), text);
  });
  return [...new Set(texts.flatMap(commandsOf))];
}

/** Each once: of fences, of consoles, and in the midst of a sentence where it has arguments. */
export function commandsOf(markdown: string): string[] {
  const consoles = fences(markdown, 'console').flatMap((text) =>
    [...text.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command),
  );
  const inSentences = [...markdown.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`([^`]+)`/g)]
    .map(([, code = '']) => code.replaceAll(/\s+/g, ' '))
    .filter((code) => /^(kubectl|helm|curl|docker) \S+ \S|^npm (test|run \w)/.test(code));
  return [...new Set([...fences(markdown, 'sh').flatMap(statements), ...consoles, ...inSentences])];
}

/** Lines, put together where a backslash or an open quote goes on; without comments. */
function statements(script: string): string[] {
  const found: string[] = [];
  let open = '';
  for (const line of script.split('\n')) {
    open += open === '' ? line : `\n${line}`;
    const isOpen = line.endsWith('\\') || open.split("'").length % 2 === 0;
    if (isOpen) continue;
    const statement = open.replace(/\s+# .*$/, '').trim();
    if (statement !== '') found.push(statement);
    open = '';
  }
  return found;
}

export interface Shell {
  /** Where commands are run: `charts`, `crds` and `docs` are those of the repository. */
  readonly folder: string;
  /** Runs the commands one after another in one shell, and answers with what they print. Throws what they say when one fails. */
  run(commands: readonly string[], variables?: Readonly<Record<string, string>>): Promise<string>;
  close(): Promise<void>;
}

/** `programs`: by the name that people type, where each is. */
export async function openShell(
  kubeconfig: string,
  programs: Readonly<Record<string, string>>,
  withinMs = 150_000,
): Promise<Shell> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-documents-'));
  const links = {
    ...programs,
    ...Object.fromEntries(['charts', 'crds', 'docs'].map((name) => [name, join(root, name)])),
  };
  await Promise.all(Object.entries(links).map(([name, target]) => symlink(target, join(folder, name))));
  const PATH = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);

  async function run(commands: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = spawn('bash', ['-euo', 'pipefail', '-s'], {
      cwd: folder,
      env: { ...process.env, HOME: folder, NO_PROXY: '*', ...variables, KUBECONFIG: kubeconfig, PATH },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: withinMs,
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.stdin.end(`${commands.join('\n')}\n`);
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`exit code ${code} of\n${commands.join('\n')}\n${err}\n${out}`);
    return out;
  }

  return { folder, run, close: () => rm(folder, { recursive: true, force: true }) };
}
