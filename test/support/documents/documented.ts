// The commands that the documents tell people to type, and a shell that runs them as they stand there.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** docs/api.md is apart: the commands of its first section are one script. */
export const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/operations.md',
  'docs/security.md',
  'docs/reliability.md',
] as const;

/** What is in a fence of this language, without the indentation of the list that it stands in. */
export function fences(markdown: string, language: string): string[] {
  const found = markdown.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\``, 'gms'));
  return [...found].map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

export function textOf(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

/** The shell commands of a document's section, in their order. */
export function scriptsOf(document: string, heading: string): string[] {
  const text = textOf(document);
  return fences(text.slice(text.indexOf(`\n${heading}\n`)).split(/\n## /)[1] ?? '', 'sh');
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
  /** Where commands are run: `charts` and `crds` are those of the repository. */
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
  const links = { ...programs, charts: join(root, 'charts'), crds: join(root, 'crds') };
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
