// One real Kubernetes cluster for a demo, a test file or a benchmark: started in seconds, gone without a trace.
//
//   const cluster = await startCluster({ pods: 'off' });
//   await cluster.kubectl(['get', 'namespaces']);
//   await cluster.stop();
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type ApiClient, connectApi } from './api-client.ts';
import { startControlPlane, writeKubeconfig } from './control-plane.ts';
import { forkKeeper } from './keeper-client.ts';
import { makeRun, removeDeadRuns } from './run-folder.ts';
import { ensureTools, type Progress, toolPath, type ToolModule } from './tools.ts';

export interface ClusterOptions {
  /** Take real pods, the stand-in, or what the machine allows. The environment's DAVIT_PODS wins over 'auto'. */
  readonly pods?: 'on' | 'off' | 'auto';
  /** Every request at Metadata level, into `Cluster.auditLog`. */
  readonly auditLog?: boolean;
  /** Also when all went well, in `Cluster.logsDir`. */
  readonly keepLogs?: boolean;
  /** More flags of kube-apiserver, for tests that need a feature or a limit. */
  readonly apiServerArgs?: readonly string[];
  readonly progress?: Progress;
}

export interface CommandOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface TokenOptions {
  readonly audience?: string;
  /** The API server allows no less than 600. */
  readonly seconds?: number;
}

export interface Cluster {
  readonly server: string;
  /** The authority's certificate: PEM, and the same in base64 as kubeconfigs want it. */
  readonly ca: string;
  readonly caData: string;
  /** Path of a kubeconfig with the admin's token. */
  readonly kubeconfig: string;
  /** cluster-admin by RBAC, not system:masters. */
  readonly adminToken: string;
  readonly runDir: string;
  readonly logsDir: string;
  readonly auditLog: string | undefined;
  /** Whether pods really run, or `stand-in.ts` only writes the status that a kubelet would. */
  readonly node: 'real' | 'stand-in';
  /** Small client with the admin's token. */
  readonly api: ApiClient;
  /** Standard output; throws with standard error when it fails. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  helm(args: readonly string[], options?: CommandOptions): Promise<string>;
  tokenFor(namespace: string, serviceAccount: string, options?: TokenOptions): Promise<string>;
  stop(): Promise<void>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const progress = options.progress ?? (() => undefined);
  const modules: ToolModule[] = ['kubernetes', 'helm'];
  const tools = await ensureTools(modules, progress);
  await removeDeadRuns();
  const runFolder = await makeRun();
  const logsDir = join(runFolder, 'logs');
  let broken = false;
  const keeper = await forkKeeper(runFolder, (message) => {
    broken = true;
    process.stderr.write(`cluster: ${message}\n`);
  });
  try {
    const adminToken = randomBytes(24).toString('base64url');
    const controlPlane = await startControlPlane({
      runFolder,
      keeper,
      tools,
      address: '127.0.0.1',
      serviceCidr: '10.96.0.0/16',
      adminToken,
      auditLog: options.auditLog ?? false,
      apiServerArgs: options.apiServerArgs ?? [],
    });
    const { server, ca } = controlPlane;
    await controlPlane.controllers;
    const kubeconfig = await writeKubeconfig(join(runFolder, 'kubeconfig'), server, ca, { token: adminToken });
    const api = connectApi({ server, ca, token: adminToken });
    keeper.release();
    let stopping: Promise<void> | undefined;

    async function command(module: ToolModule, name: string, args: readonly string[], more: CommandOptions = {}) {
      // The caches of these programs belong to the run, and the caller's own kubeconfig must never be touched.
      const home = join(runFolder, 'home');
      return execute(toolPath(tools, module, name), args, more.input, {
        ...process.env,
        ...more.env,
        HOME: home,
        KUBECACHEDIR: join(home, 'kube-cache'),
        HELM_CACHE_HOME: join(home, 'helm-cache'),
        HELM_CONFIG_HOME: join(home, 'helm-config'),
        HELM_DATA_HOME: join(home, 'helm-data'),
        KUBECONFIG: kubeconfig,
      });
    }

    return {
      server,
      ca,
      caData: Buffer.from(ca).toString('base64'),
      kubeconfig,
      adminToken,
      runDir: runFolder,
      logsDir,
      auditLog: controlPlane.auditLog,
      node: 'stand-in',
      api,
      kubectl: (args, more) => command('kubernetes', 'kubectl', args, more),
      helm: (args, more) => command('helm', 'helm', args, more),
      async tokenFor(namespace, serviceAccount, { audience, seconds = 3600 } = {}) {
        const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
        const answer = await api.call<{ status: { token: string } }>('POST', path, {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: seconds, ...(audience !== undefined && { audiences: [audience] }) },
        });
        return answer.status.token;
      },
      stop() {
        stopping ??= (async () => {
          api.close();
          controlPlane.masters.close();
          await keeper.end(broken || (options.keepLogs ?? false));
        })();
        return stopping;
      },
    };
  } catch (error) {
    await keeper.end(true);
    throw new Error(`the cluster did not start (logs: ${logsDir})`, { cause: error });
  }
}

function execute(
  file: string,
  args: readonly string[],
  input: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { env, maxBuffer: 256 << 20 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      reject(new Error(`${file.split('/').at(-1)} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
    // A program that reads nothing may be gone before all is written.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}
