// `npm run audit`: fails if a vulnerability is known of a package whose code the image or the plugin contains, or of a Go program
// that was compiled here for demo and tests. Where the databases cannot be reached it says so, and does not fail.

import { execFile } from 'node:child_process';
import { globSync, lstatSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { cacheRoot } from '../cluster/images/cache.ts';

const root = join(import.meta.dirname, '../..');

/** `unread`: why nothing was checked. Otherwise a line for each vulnerability. */
export type Outcome = { readonly unread: string } | { readonly found: readonly string[] };

interface Audit {
  readonly what: string;
  readonly outcome: Outcome;
}

/** What a program has answered, however it ended. */
interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, args: readonly string[]): Promise<Answer> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: root, maxBuffer: 64 << 20 });
    return { status: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    return { status: typeof code === 'number' ? code : 1, stdout, stderr: stderr || String(error) };
  }
}

interface NpmReport {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<
    Record<
      string,
      {
        /** An advisory, or the name of the package whose advisory it is. */
        readonly via: readonly (string | { readonly title: string; readonly url: string; readonly severity: string })[];
        /** Paths in the lockfile. */
        readonly nodes: readonly string[];
      }
    >
  >;
}

/** What `npm audit --json` says of `shipped`, a set of NAME@VERSION. `versions` are those of the lockfile's paths. */
export function npmOutcome(
  { stdout, stderr }: Omit<Answer, 'status'>,
  shipped: ReadonlySet<string>,
  versions: Readonly<Record<string, { readonly version?: string }>>,
): Outcome {
  const { message, vulnerabilities }: NpmReport = stdout.startsWith('{') ? (JSON.parse(stdout) as NpmReport) : {};
  if (vulnerabilities === undefined) return { unread: message ?? stderr.trim() };
  const found = Object.entries(vulnerabilities).flatMap(([name, { via, nodes }]) => {
    const affected = [...new Set(nodes.map((path) => `${name}@${versions[path]?.version}`))];
    const advisories = via.filter((one) => typeof one === 'object');
    return affected
      .filter((one) => shipped.has(one))
      .flatMap((one) => advisories.map(({ severity, title, url }) => `${one}: ${severity}: ${title} (${url})`));
  });
  return { found };
}

/** What govulncheck says of a program. It ends with 3 where the program has vulnerable code, and with 1 where it failed. */
export function goOutcome(program: string, { status, stdout, stderr }: Answer): Outcome {
  if (status === 0) return { found: [] };
  if (status !== 3) return { unread: stderr.trim() };
  const parts = stdout.split(/^Vulnerability #\d+: /m).slice(1);
  return {
    found: parts.map((part) => {
      const [id = '', summary = ''] = part.split('\n').map((line) => line.trim());
      const [, where = ''] = /Found in: (\S+)/.exec(part) ?? [];
      const [, fixed = 'no version'] = /Fixed in: (\S+)/.exec(part) ?? [];
      return `${program}: ${id} in ${where}, fixed in ${fixed}: ${summary}`;
    }),
  };
}

/** The bills that test/image/bundle.ts writes, in `folder`. */
function shippedIn(folder: string): Set<string> {
  const bills = ['sbom.cdx.json', 'kubectl-davit.cdx.json'].map(
    (file) =>
      JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
        readonly components: readonly { readonly name: string; readonly version: string }[];
      },
  );
  return new Set(bills.flatMap(({ components }) => components.map(({ name, version }) => `${name}@${version}`)));
}

/** Asks npm's registry, or that of `args`, about the packages `shipped`. */
export async function auditShipped(shipped: ReadonlySet<string>, ...args: readonly string[]): Promise<Outcome> {
  const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const answer = await run('npm', ['audit', '--json', '--package-lock-only', '--fetch-retries=0', ...args]);
  return npmOutcome(answer, shipped, lockfile.packages);
}

async function auditPackages(): Promise<Audit> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-audit-'));
  try {
    const made = await run(process.execPath, ['test/image/bundle.ts', '--plugin', '--dir', folder]);
    if (made.status !== 0) throw new Error(made.stderr);
    const shipped = shippedIn(folder);
    return { what: `${shipped.size} packages in the image and the plugin`, outcome: await auditShipped(shipped) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The programs of the newest build of each tool. */
function compiledPrograms(): string[] {
  const builds = globSync(join(cacheRoot(), 'tools/*/BUILD')).map((file) => ({
    folder: dirname(file),
    tool: basename(dirname(file)).replace(/-[0-9a-f]{16}$/, ''),
    age: lstatSync(file).mtimeMs,
  }));
  const newest = new Map(builds.toSorted((a, b) => a.age - b.age).map(({ tool, folder }) => [tool, folder]));
  return [...newest.values()].flatMap((folder) =>
    globSync(join(folder, '*')).filter((file) => lstatSync(file).isFile() && (lstatSync(file).mode & 0o100) !== 0),
  );
}

async function auditPrograms(database: string | undefined): Promise<Audit> {
  const programs = compiledPrograms();
  const what = `${programs.length} Go programs that demo and tests have compiled`;
  const found: string[] = [];
  const tool = ['-C', join(root, 'test/cluster/go/govulncheck'), 'tool', 'govulncheck', '-mode=binary'];
  for (const program of programs) {
    const answer = await run('go', [...tool, ...(database === undefined ? [] : ['-db', database]), program]);
    const outcome = goOutcome(basename(program), answer);
    if ('unread' in outcome) return { what, outcome };
    found.push(...outcome.found);
  }
  return { what, outcome: { found } };
}

export function reportOf({ what, outcome }: Audit): string {
  if ('unread' in outcome)
    return `Not checked: ${what}. The database of vulnerabilities cannot be read: ${outcome.unread}\n`;
  const { found } = outcome;
  return [`Known vulnerabilities of ${what}: ${found.length}`, ...found.map((line) => `  ${line}`), ''].join('\n');
}

export function isFailure({ outcome }: Audit): boolean {
  return 'found' in outcome && outcome.found.length > 0;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'go-database': { type: 'string' } } });
  const audits = [await auditPackages(), await auditPrograms(values['go-database'])];
  for (const audit of audits) process.stdout.write(reportOf(audit));
  process.exitCode = audits.some(isFailure) ? 1 : 0;
}
