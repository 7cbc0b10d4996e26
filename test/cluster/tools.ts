// The programs of the embedded cluster, built from the pinned Go modules of ./go into a cache outside the repository.
// A build costs minutes, once per machine and version; every later start finds the finished folder.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheRoot, whileWaiting, withLock } from './images/cache.ts';
import { compilerNeeds, ensurePackages } from './machine.ts';
import { needsPrepared, type Progress, refuseWithinTests } from './prepared.ts';

const run = promisify(execFile);

export type ToolModule =
  | 'kubernetes'
  | 'containerd'
  | 'helm'
  | 'lua'
  | 'prometheus'
  | BuildToolModule
  | ScalingToolModule
  | 'cosign'
  | 'versitygw'
  | 'kube-router'
  | 'cloudnative-pg'
  | 'plugin-barman-cloud';
/**
 * What builds need, and nothing else does: they are compiled when they are first asked for. On two cores, in this
 * order, for what they share is compiled once: the registry 47 s, rootlesskit 8 s, runc 7 s, BuildKit 63 s, Gitea 3.5 min
 * and SQLite, which is C.
 */
export type BuildToolModule = 'buildkit' | 'rootlesskit' | 'runc' | 'registry' | 'gitea';
/** What scaling by real metrics needs: KEDA takes ten minutes on two cores. */
export type ScalingToolModule = 'keda' | 'metrics-server';

/** For each asked module, the folder that holds its programs. */
export type Tools = Readonly<Partial<Record<ToolModule, string>>>;

/** The Kubernetes that the tests run on, and the oldest that Davit supports: `npm run compat` asks for that. */
const kubernetesReleases = {
  current: {
    folder: 'kubernetes',
    version: 'v1.37.2',
    programs: [
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-proxy',
      'kube-scheduler',
      'kubectl',
      'kubelet',
    ],
  },
  // No pods run on it.
  oldest: {
    folder: 'kubernetes-1.34',
    version: 'v1.34.4',
    programs: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'],
  },
} as const;
// Where Go's own installation instructions put it; a non-login shell often lacks it on its PATH.
const usualGo = '/usr/local/go/bin/go';
const progressEveryMs = 15_000;

/** Which Kubernetes the embedded cluster is of: `DAVIT_KUBERNETES=oldest` in the environment, else the current one. */
export function kubernetesRelease(): (typeof kubernetesReleases)[keyof typeof kubernetesReleases] {
  const asked = process.env['DAVIT_KUBERNETES'] ?? 'current';
  if (asked !== 'current' && asked !== 'oldest')
    throw new Error(`DAVIT_KUBERNETES must be "current" or "oldest", not "${asked}"`);
  return kubernetesReleases[asked];
}

/** Helm 4, or with `DAVIT_HELM=3` in the environment the one before, which many still have. */
export function helmFolder(): string {
  const asked = process.env['DAVIT_HELM'] ?? '4';
  if (asked !== '3' && asked !== '4') throw new Error(`DAVIT_HELM must be "3" or "4", not "${asked}"`);
  return asked === '3' ? 'helm3' : 'helm';
}

function folderOf(module: ToolModule): string {
  if (module === 'helm') return helmFolder();
  return module === 'kubernetes' ? kubernetesRelease().folder : module;
}

// Without the version the API server calls itself v0.0.0, and some clients balk. Helm 3 takes a cluster that it does not
// ask for v1.20; by its own releases it is the one whose client it was built with.
function linkerFlags(module: ToolModule): string {
  if (module === 'kubernetes')
    return `-s -w -X k8s.io/component-base/version.gitVersion=${kubernetesRelease().version}`;
  if (module === 'runc') return '-s -w -linkmode external -extldflags -static';
  if (folderOf(module) !== 'helm3') return '-s -w';
  const settings = ['chartutil', 'lint/rules'].map((room) => `helm.sh/helm/v3/pkg/${room}.k8sVersion`);
  return ['-s -w', ...settings.flatMap((name) => [`-X ${name}Major=1`, `-X ${name}Minor=37`])].join(' ');
}

/** Builds what is missing, one module after another: the Go compiler fills the machine's cores on its own. */
export async function ensureTools(
  modules: readonly ToolModule[],
  progress: Progress,
  goBesidesPath = usualGo,
): Promise<Tools> {
  const go = await findGo(goBesidesPath);
  const tools: Partial<Record<ToolModule, string>> = {};
  for (const module of modules) {
    tools[module] = await ensureModule(module, go, progress);
  }
  return tools;
}

export function toolPath(tools: Tools, module: ToolModule, name: string): string {
  const folder = tools[module];
  if (folder === undefined) throw new Error(`the programs of ${module} were not asked for`);
  return join(folder, name);
}

/** The folder of the Gateway API's files, of the version that ./go/gateway-api pins, in the cache of Go itself. */
export function gatewayApi(goBesidesPath = usualGo): Promise<string> {
  return moduleFolder('gateway-api', 'sigs.k8s.io/gateway-api', goBesidesPath);
}

/** The folder of a Go module's own files, of the version that ./go/`pinnedIn` pins, in the cache of Go itself. */
export async function moduleFolder(pinnedIn: string, module: string, goBesidesPath = usualGo): Promise<string> {
  const cwd = fileURLToPath(new URL(`./go/${pinnedIn}/`, import.meta.url));
  const go = await findGo(goBesidesPath);
  needsPrepared(pinnedIn);
  const download = (env: NodeJS.ProcessEnv): Promise<{ stdout: string }> =>
    run(go, ['mod', 'download', '-json', module], { cwd, env: { ...goEnvironment(), ...env } });
  const { stdout } = await download({ GOPROXY: 'off' }).catch(() => {
    refuseWithinTests(pinnedIn);
    return download({});
  });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}

const buildTags: Partial<Record<ToolModule, string>> = {
  buildkit: 'osusergo,netgo,static_build,seccomp',
  runc: 'osusergo,netgo,seccomp',
  gitea: 'osusergo,netgo,sqlite,sqlite_unlock_notify',
  // Without service discovery, which is most of it: ./go/prometheus pins only what is left.
  prometheus: 'remove_all_sd',
};

/** The demo's: the compiler writes down nothing for a debugger, which is a tenth of its work. */
const withoutDwarf: readonly ToolModule[] = ['kubernetes', 'containerd'];

/** For libseccomp and SQLite. Everything else is static, without a C compiler. */
const needsC: readonly ToolModule[] = ['runc', 'gitea'];

async function ensureModule(module: ToolModule, go: string, progress: Progress): Promise<string> {
  const tags = buildTags[module];
  const names = module === 'kubernetes' ? kubernetesRelease().programs : [];
  const recipe = [
    'install',
    '-trimpath',
    ...(withoutDwarf.includes(module) ? ['-gcflags=all=-dwarf=false'] : []),
    ...(tags === undefined ? [] : ['-tags', tags]),
    '-ldflags',
    linkerFlags(module),
    names.length > 0 ? '.' : 'tool',
  ];
  const source = fileURLToPath(new URL(`./go/${folderOf(module)}/`, import.meta.url));
  return ensureBuilt({ name: folderOf(module), source, recipe, needsC: needsC.includes(module), names }, go, progress);
}

/** The folder with the program of a Go module of the project's own, rebuilt whenever a file of it changes. */
export async function ensureProgram(name: string, source: string, progress: Progress): Promise<string> {
  const recipe = ['install', '-ldflags', '-s -w', '.'];
  return ensureBuilt({ name, source, recipe }, await findGo(usualGo), progress);
}

interface GoBuild {
  /** Of the folder in the cache, before the key. */
  readonly name: string;
  /** Folder with go.mod. */
  readonly source: string;
  /** Arguments of `go`. */
  readonly recipe: readonly string[];
  /** Whether a C compiler takes part; without one everything is static anyway. */
  readonly needsC?: boolean;
  /** Of the one program, which does what it is called: each a link to it. */
  readonly names?: readonly string[];
}

async function ensureBuilt(what: GoBuild, go: string, progress: Progress): Promise<string> {
  const { name, source, recipe, names = [] } = what;
  needsPrepared(name);
  const key = await keyOf(source, [...recipe, ...names], go);
  const parent = join(cacheRoot(), 'tools');
  const folder = join(parent, `${name}-${key}`);
  if (existsSync(folder)) return folder;

  refuseWithinTests(name);
  await mkdir(parent, { recursive: true });
  await withLock(folder, whileWaiting(progress, `${name}: another process is building it`), async () => {
    if (existsSync(folder)) return;
    await removeHalfBuilt(parent, name);
    const making = join(parent, `.${name}~${process.pid}`);
    await mkdir(making);
    if (what.needsC === true) await ensurePackages(compilerNeeds, progress);
    await build(what, go, making, progress);
    await Promise.all(names.map((link) => symlink(name, join(making, link))));
    // The rename makes it whole or absent: a folder under its final name is never half built.
    await rename(making, folder);
  });
  return folder;
}

async function keyOf(source: string, recipe: readonly string[], go: string): Promise<string> {
  const programs = (await readdir(source)).filter((name) => name.endsWith('.go')).toSorted();
  const files = ['go.mod', 'go.sum', ...programs].map((name) => readFile(join(source, name)));
  const env = await run(go, ['env', 'GOVERSION', 'GOOS', 'GOARCH'], { cwd: source, env: goEnvironment() });
  const hash = createHash('sha256');
  for (const file of await Promise.all(files)) hash.update(file);
  return hash.update(JSON.stringify(recipe)).update(env.stdout).digest('hex').slice(0, 16);
}

async function build(
  { name, source, recipe, needsC: withC = false }: GoBuild,
  go: string,
  folder: string,
  progress: Progress,
): Promise<void> {
  const started = Date.now();
  progress(`${name}: building (once per machine and version; some minutes when nothing is cached)`);
  const child = spawn(go, recipe, {
    cwd: source,
    env: { ...goEnvironment(), ...(withC && { CGO_ENABLED: '1' }), GOBIN: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  function keep(chunk: Buffer): void {
    output = (output + chunk.toString()).slice(-20_000);
  }
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ticker = setInterval(() => progress(`${name}: still building, ${seconds(started)}`), progressEveryMs);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    if (code !== 0) throw new Error(`building ${name} in ${source} failed:\n${lastLines(output, 20)}`);
  } finally {
    clearInterval(ticker);
    child.kill();
  }
  // Kept for whoever wonders where the folder comes from.
  await writeFile(join(folder, 'BUILD'), `${go} ${recipe.join(' ')}\n`);
  progress(`${name}: built in ${seconds(started)}`);
}

/** What a crashed build left behind; called while holding the lock, so nobody else is at it. */
async function removeHalfBuilt(parent: string, folder: string): Promise<void> {
  const names = await readdir(parent);
  const old = names.filter((name) => name.startsWith(`.${folder}~`));
  await Promise.all(old.map((name) => rm(join(parent, name), { recursive: true, force: true })));
}

async function findGo(besidesPath: string): Promise<string> {
  const version = await neededGo();
  try {
    await run('go', ['version']);
    return 'go';
  } catch (cause) {
    if (existsSync(besidesPath)) return besidesPath;
    throw new Error(
      `Go is missing. The embedded cluster is built from Go modules and needs Go ${version} or newer ` +
        `(an older one from 1.21 on fetches it automatically). Get it from your distribution or from go.dev/doc/install, ` +
        `and put its bin folder on the PATH.`,
      { cause },
    );
  }
}

async function neededGo(): Promise<string> {
  const mod = await readFile(new URL('./go/containerd/go.mod', import.meta.url), 'utf8');
  return /^go (\S+)$/m.exec(mod)?.[1] ?? '1.26';
}

function goEnvironment(): NodeJS.ProcessEnv {
  // Static programs, and no workspace of the caller that would change the module graph.
  return { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' };
}

export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

function seconds(since: number): string {
  return `${Math.round((Date.now() - since) / 1000)} s`;
}
