// Davit on a cluster, as the demo, the tests and the benchmarks want it: the chart's objects applied as `helm template`
// gives them (the demo has them as a file), and the two processes run from source under the chart's own ServiceAccounts and rights.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { documentsOf } from './rendered-chart.ts';

export const DAVIT_NAMESPACE = 'davit-system';
export const ORGANIZATION_NAMESPACE = 'davit-org';

const root = join(import.meta.dirname, '../..');

/** What the platform needs of a cluster; the embedded one and one's own both have it. */
export type Target = Pick<Cluster, 'server' | 'caData' | 'runDir' | 'logsDir' | 'kubectl' | 'tokenFor'>;
type Helm = Pick<Cluster, 'helm'>;
/** How a process gets to it. */
type Reached = Omit<Target, 'kubectl'>;

/** `--set-json`-like values of the chart, by dotted path. */
export type Values = Readonly<Record<string, unknown>>;

export interface PlatformOptions {
  /** More environment of both processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Which processes to start; both by default. */
  readonly parts?: readonly Part[];
  /** Folder of the source and the chart; this repository, if not given. */
  readonly source?: string;
  readonly progress?: (line: string) => void;
}

export type Part = 'controller' | 'api';

export interface Tenant {
  readonly namespace: string;
  readonly id: string;
  /** May do all that the API serves in this namespace and for OAuth providers. */
  readonly token: string;
}

/** One supervised process: started again when it dies, as a Deployment's pod would be. */
export interface Supervised {
  readonly pid: () => number | undefined;
  /** How often it was started. */
  readonly starts: () => number;
  /** Ends this run of it; the supervisor starts the next. */
  kill(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export interface Platform {
  readonly apiUrl: string;
  /** Of the controller as it was started; a later run of it has another port. Undefined where it was not started. */
  readonly metricsUrl: string | undefined;
  readonly processes: Readonly<Partial<Record<Part, Supervised>>>;
  makeTenant(namespace: string): Promise<Tenant>;
  /** Ends Davit's processes; the cluster keeps what they made. */
  stop(): Promise<void>;
}

/** Applies the chart as Helm renders it and starts Davit. Resolves when the controller has started and the API can answer. */
export async function startPlatform(
  target: Target & Helm,
  { values = {}, ...options }: PlatformOptions & { readonly values?: Values } = {},
): Promise<Platform> {
  return startRendered(target, await renderChart(target, values, options.source ?? root), options);
}

/** The same with a chart that is rendered already. */
export async function startRendered(
  target: Target,
  rendered: string,
  options: PlatformOptions = {},
): Promise<Platform> {
  const progress = options.progress ?? (() => undefined);
  progress('Applying the chart');
  const { source = root } = options;
  const documents = await applyRendered(target, rendered);
  progress('Starting Davit');
  const parts = options.parts ?? (['controller', 'api'] as const);
  const started = await Promise.all(
    parts.map(
      async (part) => [part, await startPart(part, target, documents, { env: options.env ?? {}, source })] as const,
    ),
  );
  const startedOf = (part: Part): Started | undefined => started.find(([name]) => name === part)?.[1];
  const controller = startedOf('controller');
  return {
    apiUrl: startedOf('api')?.url ?? '',
    metricsUrl: controller && `http://127.0.0.1:${controller.healthPort}/metrics`,
    processes: Object.fromEntries(started.map(([part, { supervised }]) => [part, supervised])),
    makeTenant: (namespace) => makeTenant(target, namespace),
    stop: async () => {
      await Promise.all(started.map(([, { supervised }]) => supervised.stop()));
    },
  };
}

/** The files that both processes read, by name. */
export type Documents = Readonly<Record<string, string>>;

/** Returns what is in the chart's own ConfigMap. */
export async function applyChart(target: Target & Helm, values: Values): Promise<Documents> {
  return applyRendered(target, await renderChart(target, values, root));
}

function renderChart({ helm }: Helm, values: Values, source: string): Promise<string> {
  // What a test deletes leaves nothing. An earlier version of the chart does not know the setting.
  const all = { ...(source === root && { 'settings.database.deletionPolicy': 'Delete' }), ...values };
  const set = Object.entries(all).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
  return helm([
    'template',
    'davit',
    join(source, 'charts/davit'),
    '--namespace',
    DAVIT_NAMESPACE,
    '--set',
    'workloads.enabled=false',
    ...set,
  ]);
}

async function applyRendered(target: Target, rendered: string): Promise<Documents> {
  await target.kubectl(['apply', '--server-side', '-f', '-'], {
    input: [namespaceOf(DAVIT_NAMESPACE, {}), namespaceOf(ORGANIZATION_NAMESPACE, {})].join(''),
  });
  await target.kubectl(['apply', '--server-side', '-f', '-'], { input: rendered });
  // Of the definitions the name alone: to parse them takes as long as to apply them.
  const crds = ofKind(rendered, 'CustomResourceDefinition').map(
    (text) => `crd/${/^ {2}name: (\S+)$/m.exec(text)?.[1]}`,
  );
  await target.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...crds]);
  const config = ofKind(rendered, 'ConfigMap')
    .map((text) => parse(text) as { readonly data?: Documents })
    .find(({ data }) => data?.['settings.yaml'] !== undefined);
  if (!config) throw new Error('The chart renders no ConfigMap with settings.yaml.');
  return config.data ?? {};
}

function ofKind(manifests: string, kind: string): string[] {
  return documentsOf(manifests).filter((text) => new RegExp(`^kind: ${kind}$`, 'm').test(text));
}

/**
 * Starts `davit listener` with the rights that the chart grants it; Secret davit-listener-hub exists. Resolves when it has started.
 * `main`: the file to start, if not the source.
 */
export async function startAgent(target: Target, namespaces: readonly string[], main?: string): Promise<Supervised> {
  const env = { DAVIT_LISTENER_NAMESPACES: namespaces.join(',') };
  return (await startPart('listener', target, {}, { env, source: root, main })).supervised;
}

/** Starts one more `davit api` with these settings, in YAML. Resolves when it can answer. */
export async function startApi(target: Reached, settings: string): Promise<{ url: string; supervised: Supervised }> {
  const { url = '', supervised } = await startPart(
    'api',
    target,
    { 'settings.yaml': settings },
    { env: {}, source: root },
  );
  return { url, supervised };
}

interface Started {
  readonly supervised: Supervised;
  readonly url: string | undefined;
  readonly healthPort: number | undefined;
}

async function startPart(
  part: Part | 'listener',
  target: Reached,
  documents: Documents,
  {
    env,
    source,
    main = join(source, 'src/main.ts'),
  }: { readonly env: Readonly<Record<string, string>>; readonly source: string; readonly main?: string | undefined },
): Promise<Started> {
  const directory = join(target.runDir, 'davit');
  await mkdir(directory, { recursive: true });
  const path = (name: string): string => join(directory, `${part}-${name}`);
  await Promise.all(Object.entries(documents).map(([name, text]) => writeFile(path(name), text)));
  const kubeconfig = join(directory, `${part}.kubeconfig`);
  await writeFile(kubeconfig, await kubeconfigFor(target, DAVIT_NAMESPACE, `davit-${part}`), { mode: 0o600 });
  let url: string | undefined;
  let healthPort: number | undefined;
  let isReady: (value?: unknown) => void = () => undefined;
  const ready = new Promise((resolve) => {
    isReady = resolve;
  });
  const supervised = supervise({
    args: [main, part],
    env: {
      DAVIT_KUBECONFIG: kubeconfig,
      ...('settings.yaml' in documents && { DAVIT_SETTINGS: path('settings.yaml') }),
      ...('requirements.yaml' in documents && { DAVIT_REQUIREMENTS: path('requirements.yaml') }),
      DAVIT_NAMESPACE,
      DAVIT_HTTP_PORT: '0',
      DAVIT_HEALTH_PORT: '0',
      // A controller that was killed must not hold the lease for the usual 15 s: people watch.
      DAVIT_LEASE_MS: '3000',
      ...env,
    },
    log: join(target.logsDir, `davit-${part}.log`),
    onLine: (line) => {
      const said = messageOf(line);
      // Later runs of the process keep the address that callers know.
      if (said?.msg === 'Serving the HTTP API') url = said.url;
      if (said?.msg === 'Started') {
        healthPort = said.health;
        isReady();
      }
      return url === undefined ? {} : { DAVIT_HTTP_PORT: new URL(url).port };
    },
  });
  const failed = sleep(150_000, undefined, { ref: false }).then(() => {
    throw new Error(`davit ${part} did not start; see ${target.logsDir}/davit-${part}.log`);
  });
  await Promise.race([ready, failed]);
  if (part === 'api') await Promise.race([untilItAnswers(healthPort), failed]);
  return { supervised, url, healthPort };
}

/** It serves before its caches are filled, and a Service sends it no requests until then. */
export async function untilItAnswers(healthPort: number | undefined): Promise<void> {
  while ((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status !== 200) await sleep(50);
}

interface LogLine {
  readonly msg?: string;
  readonly url?: string;
  readonly health?: number;
}

function messageOf(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}

export interface SuperviseOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
  /** Looks at a line of output; what it returns is added to the environment of later starts. */
  readonly onLine: (line: string) => Readonly<Record<string, string>>;
}

export function supervise({ args, env, log, onLine }: SuperviseOptions): Supervised {
  const file = createWriteStream(log, { flags: 'a' });
  let more: Readonly<Record<string, string>> = {};
  let child: ChildProcess | undefined;
  let starts = 0;
  let stopping = false;
  // A process's output can come after its exit.
  let closed: Promise<unknown> = Promise.resolve();

  function start(): void {
    if (stopping) return;
    starts += 1;
    // Of the caller's environment only what programs need: no DAVIT_* of a developer's shell.
    const base = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('DAVIT_') && !name.startsWith('KUBE')),
    );
    child = spawn(process.execPath, [...args], {
      env: { ...base, ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    closed = once(child, 'close');
    child.stderr?.pipe(file, { end: false });
    if (child.stdout) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        file.write(`${line}\n`);
        more = { ...more, ...onLine(line) };
      });
    }
    child.on('exit', () => setTimeout(start, 200).unref());
  }
  // However this process ends, its children end too.
  const killNow = (): void => void child?.kill('SIGKILL');
  process.once('exit', killNow);
  start();

  return {
    pid: () => child?.pid,
    starts: () => starts,
    kill: (signal) => void child?.kill(signal),
    stop: async () => {
      stopping = true;
      process.removeListener('exit', killNow);
      child?.kill('SIGTERM');
      const impatient = setTimeout(() => child?.kill('SIGKILL'), 15_000);
      await closed;
      clearTimeout(impatient);
      file.end();
    },
  };
}

/** A kubeconfig that is this ServiceAccount and nobody else. */
export async function kubeconfigFor(
  target: Pick<Target, 'server' | 'caData' | 'tokenFor'>,
  namespace: string,
  serviceAccount: string,
): Promise<string> {
  const token = await target.tokenFor(namespace, serviceAccount, { seconds: 12 * 3600 });
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: target.server, 'certificate-authority-data': target.caData } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
    'current-context': 'c',
  });
}

function namespaceOf(name: string, labels: Readonly<Record<string, string>>): string {
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })}\n`;
}

/** The ServiceAccount of a tenant. */
export const TEAM_ACCOUNT = 'team';

/** A tenant: a labelled namespace, and a ServiceAccount in it with the rights of a team. */
export async function makeTenant(target: Target, namespace: string): Promise<Tenant> {
  const account = TEAM_ACCOUNT;
  const subject = { kind: 'ServiceAccount', name: account, namespace };
  const binding = (where: string, name: string, role: string, kind = 'ClusterRole'): object => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace: where },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects: [subject],
  });
  const objects = [
    JSON.parse(namespaceOf(namespace, { 'davit.dev/tenant': 'true' })) as object,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } },
    // `edit` brings the team's own Secrets and logs; davit-editor aggregates into it, and is named for the reader.
    binding(namespace, `${account}-edit`, 'edit'),
    binding(namespace, `${account}-davit-editor`, 'davit-editor'),
    binding(ORGANIZATION_NAMESPACE, `${namespace}-${account}-davit-editor`, 'davit-editor'),
  ];
  await target.kubectl(['apply', '--server-side', '-f', '-'], {
    input: objects.map((object) => JSON.stringify(object)).join('\n'),
  });
  const id = await target.kubectl(['get', 'namespace', namespace, '-o', 'jsonpath={.metadata.uid}']);
  return { namespace, id: id.trim(), token: await target.tokenFor(namespace, account, { seconds: 24 * 3600 }) };
}
