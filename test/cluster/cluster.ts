// One real Kubernetes cluster for a demo, a test file or a benchmark: started in seconds, gone without a trace.
//
//   const cluster = await startCluster({ pods: 'off' });
//   await cluster.kubectl(['get', 'namespaces']);
//   await cluster.stop();
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, connectApi, until } from './api-client.ts';
import { startControlPlane, writeKubeconfig } from './control-plane.ts';
import type { ControlProcesses } from './control-processes.ts';
import { forkKeeper, type Keeper, type ProcessSpec } from './keeper-client.ts';
import { ensureProgram, type RealPods, realPods } from './machine.ts';
import {
  type LoadedImage,
  type NodeGround,
  type NodeImage,
  type NodeOptions,
  prepareNode,
  type TrustedRegistry,
} from './node.ts';
import { freeSlots, linkSwitch, type NodeNetwork, networksOf, nodeName, type Switch, setLink } from './node-network.ts';
import type { Progress } from './prepared.ts';
import { startProvisioner } from './provisioner.ts';
import { makeRun, removeDeadRuns } from './run-folder.ts';
import { standInNode, startStandIn } from './stand-in.ts';
import { ensureTools, toolPath } from './tools.ts';

export type PodsWanted = 'on' | 'off' | 'auto';

export interface ClusterOptions {
  /**
   * Real pods, the stand-in, or (as by default) what the machine allows. DAVIT_PODS in the environment wins over all
   * but 'off': who asks for no pods gets none.
   */
  readonly pods?: PodsWanted;
  /** Known to the node from the start, and kept for the next cluster; may still be in the making. */
  readonly images?: readonly NodeImage[] | Promise<readonly NodeImage[]>;
  /** Every request at Metadata level, into `Cluster.auditLog`. */
  readonly auditLog?: boolean;
  /** Also when all went well, in `Cluster.logsDir`. */
  readonly keepLogs?: boolean;
  /**
   * False: etcd and kube-apiserver alone. Objects are stored and nobody acts on them; there is no node either, so this
   * goes with `pods: 'off'`. A namespace has no ServiceAccount but what is made in it.
   */
  readonly controllers?: boolean;
  /**
   * True: real pods may have user namespaces (`hostUsers: false`). It takes a newer runc than a system may have, which is
   * compiled when it is first asked for.
   */
  readonly userNamespaces?: boolean;
  /** Of real pods; 1 by default. With more, volumes of class `standard` are on the node of their first pod, and those of class `shared` on all. */
  readonly nodes?: number;
  /** Whether NetworkPolicies are enforced; without, they are stored. It takes kube-router, which is compiled when it is first asked for. */
  readonly networkPolicies?: boolean;
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
  /** For who breaks it on purpose. */
  readonly controlPlane: ControlProcesses;
  /** Small client with the admin's token. */
  readonly api: ApiClient;
  /** Standard output; throws with standard error when it fails. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Builds Helm when it is first asked for: most clusters do without. */
  helm(args: readonly string[], options?: CommandOptions): Promise<string>;
  tokenFor(namespace: string, serviceAccount: string, options?: TokenOptions): Promise<string>;
  /** Gives the node one more image, for this cluster only. With the stand-in it fails: nothing would run it. */
  loadImage(archive: string, name: string): Promise<LoadedImage>;
  /** Lets the node pull from a registry. */
  trustRegistry(registry: TrustedRegistry): Promise<void>;
  /** Ends the node's container runtime and starts it again; containers go on without it. */
  restartRuntime(): Promise<void>;
  /** Ends everything on a node, as a loss of power does. Not for the first one, by which this machine reaches Services. */
  loseNode(name: string): Promise<void>;
  /** Takes a node off the network, or puts it back. */
  setNodeLink(name: string, state: 'up' | 'down'): Promise<void>;
  /** The machine's address as pods reach it, and the machine the cluster. */
  readonly hostAddress: string;
  /** A process on this machine that belongs to the cluster: it ends with it, however that ends. */
  startProcess(spec: ProcessSpec): Promise<void>;
  stop(): Promise<void>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const progress = options.progress ?? (() => undefined);
  if (options.images instanceof Promise) options.images.catch(() => undefined);
  const found = await machineFor(options.pods ?? 'auto', progress);
  const real = found !== undefined;
  const userNamespaces = real && (options.userNamespaces ?? false);
  const networkPolicies = real && (options.networkPolicies ?? false);
  if (networkPolicies) await ensureProgram('ipset', progress);
  const tools = await ensureTools(
    [
      'kubernetes',
      ...(real ? (['containerd'] as const) : []),
      ...(userNamespaces ? (['runc'] as const) : []),
      ...(networkPolicies ? (['kube-router'] as const) : []),
    ],
    progress,
  );
  const machine = found && (userNamespaces ? { ...found, runc: toolPath(tools, 'runc', 'runc') } : found);
  await removeDeadRuns();
  const runFolder = await makeRun();
  const logsDir = join(runFolder, 'logs');
  const ended = new AbortController();
  let broken = false;
  const keeper = await forkKeeper(runFolder, (message) => {
    broken = true;
    process.stderr.write(`cluster: ${message}\n`);
  });
  try {
    const networks: readonly NodeNetwork[] = real ? await claimNetworks(keeper, options.nodes ?? 1) : [];
    const [network] = networks;
    const nodes = machine
      ? await prepareNodes(networks, { runFolder, keeper, tools, machine, networkPolicies, progress })
      : undefined;
    // Beside the control plane: importing images takes the disk, starting servers the processor.
    const runtime = nodes && startRuntime(nodes.grounds, options.images, progress);
    // Awaited further down; until then a failure must not count as unhandled.
    runtime?.catch(() => undefined);
    const adminToken = randomBytes(24).toString('base64url');
    const controlPlane = await startControlPlane({
      runFolder,
      keeper,
      tools,
      address: network?.hostAddress ?? '127.0.0.1',
      serviceCidr: network?.serviceCidr ?? '10.96.0.0/16',
      adminToken,
      auditLog: options.auditLog ?? false,
      controllers: options.controllers ?? true,
      apiServerArgs: options.apiServerArgs ?? [],
    });
    controlPlane.controllers.catch(() => undefined);
    progress('control plane: the API server is ready');
    if (options.controllers ?? true) {
      await startProvisioner(
        controlPlane.masters,
        join(runFolder, 'volumes'),
        real ? networks.map(({ node }) => node) : [standInNode],
        ended.signal,
      );
      const nodeJoined = nodes
        ? Promise.resolve(runtime).then(() => Promise.all(nodes.grounds.map((ground) => ground.join(controlPlane))))
        : startStandIn(controlPlane.masters, ended.signal);
      await Promise.all([controlPlane.controllers, nodeJoined]);
      progress(real ? 'node: ready for pods' : 'node: the stand-in sets the status of pods, none of them runs');
    }
    const { server, ca } = controlPlane;
    const kubeconfig = await writeKubeconfig(join(runFolder, 'kubeconfig'), server, ca, { token: adminToken });
    const api = connectApi({ server, ca, token: adminToken });
    keeper.release();
    let stopping: Promise<void> | undefined;

    async function command(program: string, args: readonly string[], more: CommandOptions = {}): Promise<string> {
      // The caches of these programs belong to the run, and the caller's own kubeconfig must never be touched.
      const home = join(runFolder, 'home');
      return execute(program, args, more.input, {
        ...process.env,
        ...more.env,
        HOME: home,
        KUBECACHEDIR: join(home, 'kube-cache'),
        HELM_CACHE_HOME: join(home, 'helm-cache'),
        HELM_CONFIG_HOME: join(home, 'helm-config'),
        HELM_DATA_HOME: join(home, 'helm-data'),
        KUBECONFIG: kubeconfig,
        // The node's addresses are on this machine, whatever proxy the caller has for the rest of the world.
        NO_PROXY: '*',
      });
    }

    function grounds(): readonly NodeGround[] {
      if (nodes === undefined) throw new Error('no pods run here: this cluster has the stand-in');
      return nodes.grounds;
    }

    function networkOf(name: string): NodeNetwork {
      const found = networks.find(({ node }) => node === name);
      if (found === undefined) throw new Error(`no node ${name}: ${networks.map(({ node }) => node).join(', ')}`);
      return found;
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
      node: real ? 'real' : 'stand-in',
      controlPlane: controlPlane.processes,
      api,
      kubectl: (args, more) => command(toolPath(tools, 'kubernetes', 'kubectl'), args, more),
      helm: async (args, more) => command(toolPath(await ensureTools(['helm'], progress), 'helm', 'helm'), args, more),
      async tokenFor(namespace, serviceAccount, { audience, seconds = 3600 } = {}) {
        const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
        const answer = await api.call<{ status: { token: string } }>('POST', path, {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: seconds, ...(audience !== undefined && { audiences: [audience] }) },
        });
        return answer.status.token;
      },
      async loadImage(archive, name) {
        const [loaded] = await Promise.all(grounds().map((ground) => ground.loadImage(archive, name)));
        if (loaded === undefined) throw new Error(`no node that could run ${name}`);
        return loaded;
      },
      async trustRegistry(registry) {
        await Promise.all(grounds().map((ground) => ground.trustRegistry(registry)));
      },
      async restartRuntime() {
        await Promise.all(grounds().map((ground) => ground.restartRuntime()));
      },
      async loseNode(name) {
        if (name === nodeName) throw new Error(`${name} is how this machine reaches Services: lose another one`);
        await grounds()[networks.indexOf(networkOf(name))]?.lose();
      },
      async setNodeLink(name, state) {
        if (nodes?.hub === undefined) throw new Error('a cluster with one node has no switch');
        await setLink(networkOf(name), nodes.hub, state);
      },
      hostAddress: network?.hostAddress ?? '127.0.0.1',
      async startProcess(spec) {
        await keeper.start(spec);
      },
      stop() {
        stopping ??= (async () => {
          ended.abort();
          api.close();
          controlPlane.masters.close();
          await keeper.end(broken || (options.keepLogs ?? false));
        })();
        return stopping;
      },
    };
  } catch (error) {
    ended.abort();
    await keeper.end(true);
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the cluster did not start (logs: ${logsDir}): ${why}`, { cause: error });
  }
}

/** Undefined means the stand-in. */
async function machineFor(asked: PodsWanted, progress: Progress): Promise<Extract<RealPods, { ok: true }> | undefined> {
  const forced = process.env['DAVIT_PODS'];
  const wanted = asked !== 'off' && isPodsWanted(forced) ? forced : asked;
  if (wanted === 'off') return undefined;
  const machine = await realPods(progress);
  if (machine.ok) return machine;
  const advice = machine.install === '' ? '' : ` To have them: ${machine.install}`;
  if (wanted === 'on') throw new Error(`no real pods here: ${machine.reason}.${advice}`);
  progress(`no real pods here: ${machine.reason}.${advice}`);
  return undefined;
}

function isPodsWanted(text: string | undefined): text is PodsWanted {
  return text === 'on' || text === 'off' || text === 'auto';
}

async function claimNetworks(keeper: Keeper, count: number): Promise<readonly [NodeNetwork, ...NodeNetwork[]]> {
  const free = await freeSlots();
  const taken: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const slot = await keeper.claim(free.filter((one) => !taken.includes(one)));
    if (slot === undefined) throw new Error('no addresses left for one more cluster with real pods on this machine');
    taken.push(slot);
  }
  return networksOf(taken);
}

interface Nodes {
  readonly grounds: readonly NodeGround[];
  readonly hub: Switch | undefined;
}

/** The first is linked before the others, which are reached beside it. */
async function prepareNodes(
  networks: readonly NodeNetwork[],
  options: Omit<NodeOptions, 'network' | 'hub'>,
): Promise<Nodes> {
  const [first, ...others] = networks;
  if (first === undefined) throw new Error('a cluster with real pods has a node');
  const hub = others.length > 0 ? await startSwitch(first, options.keeper) : undefined;
  const ground = await prepareNode({ ...options, network: first, hub });
  const further = await Promise.all(others.map((network) => prepareNode({ ...options, network, hub })));
  return { grounds: [ground, ...further], hub };
}

async function startSwitch(network: NodeNetwork, keeper: Keeper): Promise<Switch> {
  const args = ['--pdeathsig', 'KILL', 'unshare', '--net', 'sleep', '2147483647'];
  const hub = await keeper.start({ name: 'switch', command: 'setpriv', args });
  const own = await readlink('/proc/self/ns/net');
  await keeper.whileAlive(
    'switch',
    until('the namespace of the switch', async () => {
      if ((await readlink(`/proc/${hub.pid}/ns/net`)) === own) throw new Error('not yet its own');
    }),
  );
  await linkSwitch(network, hub);
  return hub;
}

async function startRuntime(
  grounds: readonly NodeGround[],
  images: ClusterOptions['images'],
  progress: Progress,
): Promise<void> {
  const wanted = (await images) ?? [];
  await Promise.all(grounds.map((ground) => ground.startRuntime(wanted)));
  progress('node: the container runtime is ready');
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
