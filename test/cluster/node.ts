// A node on which pods really run: containerd, kubelet, kube-proxy and a DNS server in PID, mount and network namespaces of
// their own, as a node of `kind` lives in its container. The end of the namespaces' first process ends everything in
// them, mounts and devices included, so nothing has to be cleaned up one by one, and two nodes never meet.
//
// What stays is containerd's store with the images given at start, in the cache: importing them takes longer than
// starting a cluster. There is one store for each slot, and a slot belongs to one cluster at a time.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from './api-client.ts';
import { type ControlPlane, writeKubeconfig } from './control-plane.ts';
import { cacheRoot } from './images/cache.ts';
import type { Keeper } from './keeper-client.ts';
import { cgroupControllers, type RealPods } from './machine.ts';
import { linkNode, type NodeNetwork, nodeName, type Switch } from './node-network.ts';
import { cgroupFolders } from './run-folder.ts';
import { prepareSandboxImage, sandboxImage } from './sandbox-image.ts';
import { type Tools, toolPath } from './tools.ts';

const run = promisify(execFile);

export interface NodeImage {
  /** With its tag, as pods name it. */
  readonly name: string;
  /** A file: an OCI archive, or one of `docker save`. */
  readonly archive: string;
  /** More names that pods may use. They are not in the archive. */
  readonly alsoNamed?: readonly string[];
}

export interface LoadedImage {
  readonly name: string;
  /** `repository@sha256:…`, which pods may use just as well. */
  readonly digestRef: string;
}

/** A registry that the node may pull from. */
export interface TrustedRegistry {
  /** As it stands in names of images, with its port. */
  readonly host: string;
  /** Where the node finds it: names of the cluster mean nothing to a container runtime. */
  readonly server: string;
  /** PEM; what its certificate is verified by, and that of its tokens' issuer. Absent: it speaks HTTP. */
  readonly ca?: string;
}

export interface NodeOptions {
  readonly runFolder: string;
  readonly keeper: Keeper;
  readonly tools: Tools;
  readonly machine: Extract<RealPods, { ok: true }>;
  readonly network: NodeNetwork;
  /** What it is linked to, if not to this machine alone. */
  readonly hub?: Switch | undefined;
  /** Whether NetworkPolicies are enforced, by kube-router. */
  readonly networkPolicies: boolean;
  readonly progress: (line: string) => void;
}

/** The node before there is an API server to join. */
export interface NodeGround {
  /** Starts the container runtime with these images, imported if the store does not have them yet. */
  startRuntime(images: readonly NodeImage[]): Promise<void>;
  loadImage(archive: string, name: string): Promise<LoadedImage>;
  trustRegistry(registry: TrustedRegistry): Promise<void>;
  /** Ends the container runtime and starts it again; containers go on without it. */
  restartRuntime(): Promise<void>;
  /** Joins the cluster; resolves when the node is Ready. */
  join(controlPlane: ControlPlane): Promise<void>;
  /** Ends everything on it, as a loss of power does. */
  lose(): Promise<void>;
}

const socket = '/run/containerd/containerd.sock';

// Paths that the programs have built in, and the run's folders that take their places inside the node. Outside they
// stay empty.
const ownFolders = {
  '/run/containerd': 'containerd-state',
  '/var/lib/cni': 'cni',
  '/var/lib/kubelet': 'kubelet',
  '/var/log/containers': 'container-logs',
} as const;

// kubelet sets these for the whole machine, unless they are so already. It sees files instead, that say they are.
const kernelSettings = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
} as const;

export async function prepareNode(options: NodeOptions): Promise<NodeGround> {
  const { runFolder, keeper, tools, machine, network, progress } = options;
  const own = network.node.replace(nodeName, '');
  const folder = join(runFolder, `node${own}`);
  const store = join(cacheRoot(), 'nodes', String(network.slot), 'containerd');
  const cgroup = `davit-${network.slot}`;
  const namespace = await holdNamespaces(options, folder);
  const inside = (command: readonly string[]): string[] => [
    'nsenter',
    '--target',
    String(namespace),
    '--net',
    '--mount',
    '--pid',
    ...command,
  ];
  await Promise.all([
    linkNode(network, namespace, inside, options.hub),
    makeCgroups(cgroup),
    mkdir(store, { recursive: true }),
  ]);
  const started = new Set<string>();

  async function startInside(name: string, ...command: string[]): Promise<void> {
    const [program = '', ...args] = inside(command);
    started.add(`${name}${own}`);
    await keeper.start({ name: `${name}${own}`, command: program, args });
  }

  const program = (name: string): string => toolPath(tools, 'containerd', name);
  const snapshotter = await snapshotterFor(store);
  const configuration = await writeRuntimeConfig({ folder, store, snapshotter, machine, network });

  async function ctr(...args: string[]): Promise<string> {
    const [command = '', ...rest] = inside([program('ctr'), '--address', socket, '--namespace', 'k8s.io', ...args]);
    const { stdout } = await run(command, rest, { maxBuffer: 16 << 20 });
    return stdout;
  }

  const pidFile = join(folder, 'containerd.pid');

  async function startContainerd(): Promise<void> {
    // The shim is looked for on the PATH. The number is the one that counts inside, where only a shell knows it.
    const script = `echo $$ > ${quoted(pidFile)}
      PATH=${quoted(tools.containerd ?? '')}:$PATH
      exec ${quoted(program('containerd'))} --config ${quoted(configuration)}`;
    await startInside('containerd', 'sh', '-c', script);
    await keeper.whileAlive(
      `containerd${own}`,
      until('containerd', () => ctr('version')),
    );
  }

  /** Ends it inside; a signal from here would reach only the nsenter that waits for it. */
  async function stopContainerd(): Promise<void> {
    const ended = keeper.expectEnd(`containerd${own}`);
    const [command = '', ...args] = inside(['sh', '-c', `kill -TERM $(cat ${quoted(pidFile)})`]);
    await run(command, args);
    await ended;
  }

  async function load(archive: string, name: string): Promise<LoadedImage> {
    await ctr('images', 'import', '--local', '--snapshotter', snapshotter, archive);
    const listed = await ctr('images', 'ls', `name==${name}`);
    const digest = /sha256:[0-9a-f]{64}/.exec(listed)?.[0];
    if (digest === undefined) throw new Error(`${archive} holds no image called ${name}`);
    const digestRef = `${name.replace(/:[^:/]*$/, '')}@${digest}`;
    await ctr('images', 'tag', '--force', name, digestRef);
    return { name, digestRef };
  }

  /** The store would grow with each new build of an image: its tag moves on, its name by digest stays behind. */
  async function dropReplaced(): Promise<void> {
    const lines = (await ctr('images', 'ls')).trim().split('\n').slice(1);
    const listed = lines.map((line) => {
      const [ref = '', , digest = ''] = line.split(/\s+/);
      return { ref, digest };
    });
    const tagged = new Set(listed.filter(({ ref }) => !ref.includes('@')).map(({ digest }) => digest));
    const replaced = listed.filter(({ ref, digest }) => ref.includes('@') && !tagged.has(digest)).map(({ ref }) => ref);
    if (replaced.length > 0) await ctr('images', 'rm', ...replaced);
  }

  async function startWith(images: readonly NodeImage[]): Promise<void> {
    const sandbox = { name: sandboxImage, archive: await prepareSandboxImage() };
    const kept = keptImages(store, snapshotter);
    const missing = await kept.restore([sandbox, ...images]);
    await startContainerd();
    if (missing.length === 0) return;
    for (const image of missing) {
      progress(`node: importing ${image.name}`);
      await load(image.archive, image.name);
    }
    await dropReplaced();
    // Saved while nothing runs: the next cluster must not inherit this one's containers.
    await stopContainerd();
    await kept.save([sandbox, ...images]);
    await startContainerd();
  }

  return {
    async startRuntime(images) {
      await startWith(images);
      // Given at each start, so that the kept store has none that an earlier run gave.
      for (const { name, alsoNamed = [] } of images) {
        for (const other of alsoNamed) await ctr('images', 'tag', '--force', name, other);
      }
    },
    loadImage: load,
    async restartRuntime() {
      await stopContainerd();
      await startContainerd();
    },
    async trustRegistry({ host, server, ca }) {
      // Read at each pull.
      const own = join(registriesOf(folder), host);
      await mkdir(own, { recursive: true });
      if (ca !== undefined) await writeFile(join(own, 'ca.crt'), ca);
      const text = [
        `server = ${JSON.stringify(server)}`,
        `[host.${JSON.stringify(server)}]`,
        '  capabilities = ["pull", "resolve"]',
        ...(ca === undefined ? [] : [`  ca = ${JSON.stringify(join(own, 'ca.crt'))}`]),
      ];
      await writeFile(join(own, 'hosts.toml'), `${text.join('\n')}\n`);
    },
    async join(controlPlane) {
      await Promise.all([
        startProxy(options, folder, controlPlane, startInside),
        startDns(options, folder, controlPlane, startInside),
        startKubelet(options, folder, cgroup, controlPlane, startInside),
      ]);
      await keeper.whileAlive(
        `kubelet${own}`,
        until('the node to be Ready', async () => {
          const node = await controlPlane.masters.call<{ status: { conditions: { type: string; status: string }[] } }>(
            'GET',
            `/api/v1/nodes/${network.node}`,
          );
          if (!node.status.conditions.some((c) => c.type === 'Ready' && c.status === 'True'))
            throw new Error('not Ready');
        }),
      );
      // It looks for its Node when it starts.
      if (options.networkPolicies) await startPolicies(options, folder, controlPlane, startInside);
    },
    async lose() {
      const ended = [...started].map((name) => keeper.expectEnd(name));
      await keeper.stop(`node${own}`);
      await Promise.all(ended);
    },
  };
}

/**
 * What kubelet is started with: a mount namespace of its own, in which /proc shows the settings that it wants. The kernel
 * lets nobody mount a new /proc in a user namespace while parts of the one there are covered, so a pod with one could
 * have no /proc if the container runtime saw them covered too.
 */
async function writeKubeletStart(folder: string): Promise<readonly string[]> {
  const settings = join(folder, 'settings');
  await mkdir(settings, { recursive: true });
  const lines = ['set -e', 'mount --make-private /proc'];
  for (const [path, value] of Object.entries(kernelSettings)) {
    const file = join(settings, path.replaceAll('/', '.'));
    await writeFile(file, `${value}\n`);
    lines.push(`[ ! -e /proc/sys/${path} ] || mount --bind ${quoted(file)} /proc/sys/${path}`);
  }
  lines.push('exec "$@"');
  const script = join(settings, 'kubelet.sh');
  await writeFile(script, lines.join('\n'));
  return ['unshare', '--mount', '--propagation', 'unchanged', 'sh', script];
}

/** The PID, as this machine sees it, of the first process in the node's namespaces. */
async function holdNamespaces({ runFolder, keeper, network }: NodeOptions, folder: string): Promise<number> {
  const name = network.node.replace(nodeName, 'node');
  await mkdir(folder, { recursive: true });
  const lines = ['set -e'];
  for (const [path, name] of Object.entries(ownFolders)) {
    const own = quoted(join(folder, name));
    lines.push(`mkdir -p ${path} ${own}`, `mount --bind ${own} ${path}`);
  }
  // Volumes that kubelet mounts in its own mount namespace have to be seen here, where containers are made.
  lines.push('mount --make-shared /var/lib/kubelet');
  const ready = join(folder, 'namespaces-ready');
  lines.push(`: > ${quoted(ready)}`, 'exec sleep 2147483647');
  const { pid } = await keeper.start({
    name,
    // Should the keeper itself be killed, the kernel ends the holder, and the holder's end its namespaces.
    command: 'setpriv',
    args: [
      '--pdeathsig',
      'KILL',
      'unshare',
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child=KILL',
      '--mount-proc',
      'sh',
      '-c',
      lines.join('\n'),
    ],
    env: { HOME: join(runFolder, 'home') },
    holdsNamespace: true,
  });
  await keeper.whileAlive(
    name,
    until("the node's namespaces", () => stat(ready)),
  );
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A group of its own for each node: kubelet ends whatever it finds below its group and does not know. */
async function makeCgroups(name: string): Promise<void> {
  const folders = await cgroupFolders(name);
  await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true })));
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) {
    const controllers = (await cgroupControllers()).map((controller) => `+${controller}`).join(' ');
    await writeFile('/sys/fs/cgroup/cgroup.subtree_control', controllers);
    return;
  }
  // A new cpuset of version 1 is empty, and no process may enter it so.
  for (const folder of folders.filter((path) => path.includes('cpuset'))) {
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      await writeFile(join(folder, file), await readFile(join(folder, '..', file)));
    }
  }
}

/** overlayfs shares layers; where the file system refuses it (one overlay on another), containerd copies instead. */
async function snapshotterFor(store: string): Promise<string> {
  const probe = join(store, '..', 'overlay-probe');
  const part = (name: string): string => join(probe, name);
  await Promise.all(['lower', 'upper', 'work', 'merged'].map((name) => mkdir(part(name), { recursive: true })));
  try {
    const folders = `lowerdir=${part('lower')},upperdir=${part('upper')},workdir=${part('work')}`;
    await run('unshare', ['--mount', 'mount', '-t', 'overlay', 'overlay', '-o', folders, part('merged')]);
    return 'overlayfs';
  } catch {
    return 'native';
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

interface KeptImages {
  /** Puts the store back as it was saved; answers with the images it lacks. */
  restore(images: readonly NodeImage[]): Promise<readonly NodeImage[]>;
  save(images: readonly NodeImage[]): Promise<void>;
}

/**
 * containerd knows images and containers by one database, and its snapshotter their layers by another. Copies of both,
 * from a time when there were images and no containers, put in their places at each start, make containerd forget a
 * former cluster's containers. Both must be of one time, and so must the folders of the layers: names and numbers are
 * assigned again, and one that is still there makes the next import fail.
 */
function keptImages(store: string, snapshotter: string): KeptImages {
  const layers = join(store, `io.containerd.snapshotter.v1.${snapshotter}`);
  const databases = [
    { live: join(store, 'io.containerd.metadata.v1.bolt', 'meta.db'), name: 'images.db' },
    { live: join(layers, 'metadata.db'), name: 'layers.db' },
  ];
  const saved = join(store, '..', 'saved');
  let known: readonly string[] = [];

  async function describe(image: NodeImage): Promise<string> {
    const { size, mtimeMs } = await stat(image.archive);
    return `${image.name} ${image.archive} ${size} ${mtimeMs}`;
  }

  return {
    async restore(images) {
      const kept = parseKept(await readFile(join(saved, 'kept.json'), 'utf8').catch(() => ''));
      if (kept?.snapshotter !== snapshotter) {
        await rm(store, { recursive: true, force: true });
        await mkdir(store, { recursive: true });
        return images;
      }
      known = kept.images;
      await rm(join(store, 'io.containerd.grpc.v1.cri'), { recursive: true, force: true });
      await Promise.all(databases.map(({ live, name }) => copyFile(join(saved, name), live)));
      const folders = await readdir(join(layers, 'snapshots'));
      const later = folders.filter((name) => !kept.layers.includes(name));
      await Promise.all(later.map((name) => rm(join(layers, 'snapshots', name), { recursive: true, force: true })));
      const described = await Promise.all(images.map(async (image) => ({ image, description: await describe(image) })));
      return described.filter(({ description }) => !known.includes(description)).map(({ image }) => image);
    },
    async save(images) {
      // The list goes first and comes last: a crash in between means importing again, never trusting half a store.
      await rm(saved, { recursive: true, force: true });
      await mkdir(saved);
      await Promise.all(databases.map(({ live, name }) => copyFile(live, join(saved, name))));
      // What other clusters have brought is still in there, and known as long as no image of that name came after it.
      const others = known.filter((entry) => !images.some((image) => entry.startsWith(`${image.name} `)));
      const kept: Kept = {
        snapshotter,
        layers: await readdir(join(layers, 'snapshots')),
        images: [...others, ...(await Promise.all(images.map(describe)))],
      };
      await writeFile(join(saved, 'kept.new'), JSON.stringify(kept));
      await rename(join(saved, 'kept.new'), join(saved, 'kept.json'));
    },
  };
}

interface Kept {
  readonly snapshotter: string;
  /** Names of the layers' folders. */
  readonly layers: readonly string[];
  readonly images: readonly string[];
}

/** Undefined for anything else than what was written. */
function parseKept(text: string): Kept | undefined {
  try {
    const kept: Partial<Kept> = JSON.parse(text);
    const { snapshotter, layers, images } = kept;
    if (typeof snapshotter !== 'string' || !Array.isArray(layers) || !Array.isArray(images)) return undefined;
    return { snapshotter, layers, images };
  } catch {
    return undefined;
  }
}

function registriesOf(folder: string): string {
  return join(folder, 'registries');
}

interface RuntimeConfig {
  readonly folder: string;
  readonly store: string;
  readonly snapshotter: string;
  readonly machine: Extract<RealPods, { ok: true }>;
  readonly network: NodeNetwork;
}

async function writeRuntimeConfig({ folder, store, snapshotter, machine, network }: RuntimeConfig): Promise<string> {
  const registries = registriesOf(folder);
  const cni = join(folder, 'cni-conf');
  await mkdir(join(registries, '_default'), { recursive: true });
  await mkdir(cni);
  // Nothing is pulled from a registry that is not trusted by name. A closed port of the node's own loopback says so at once.
  await writeFile(join(registries, '_default', 'hosts.toml'), 'server = "http://127.0.0.1:1"\n');
  await writeFile(
    join(cni, '10-davit.conflist'),
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'davit',
      plugins: [
        {
          // Not a bridge: pods on one bridge answer each other without passing the node, and then a Service's address
          // is not translated back unless the kernel has br_netfilter. With ptp every packet is routed.
          type: 'ptp',
          mtu: 1400,
          ipam: {
            type: 'host-local',
            ranges: [[{ subnet: network.podCidr }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
      ],
    }),
  );
  const file = join(folder, 'containerd.toml');
  const text = (value: string): string => JSON.stringify(value);
  await writeFile(
    file,
    `version = 3
root = ${text(store)}
state = "/run/containerd"
[grpc]
  address = ${text(socket)}
[plugins."io.containerd.cri.v1.images"]
  snapshotter = ${text(snapshotter)}
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = ${text(sandboxImage)}
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = ${text(registries)}
[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE, which virtual machines and containers may lack, no score can be lowered, and every sandbox
  # would fail with "can't get final child's PID from pipe".
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [${text(machine.cniPlugins)}]
    conf_dir = ${text(cni)}
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = ${text(machine.runc)}
      SystemdCgroup = false
`,
  );
  return file;
}

type StartInside = (name: string, ...command: string[]) => Promise<void>;

/** Processes and threads of one pod. */
export const POD_PIDS_LIMIT = 4096;

async function startKubelet(
  { runFolder, tools, network }: NodeOptions,
  folder: string,
  cgroup: string,
  { server, ca, authority }: ControlPlane,
  startInside: StartInside,
): Promise<void> {
  const path = (name: string): string => join(folder, name);
  const serving = authority.serving(`system:node:${network.node}`, [network.nodeAddress]);
  await Promise.all([
    writeFile(path('kubelet.crt'), serving.certificate),
    writeFile(path('kubelet.key'), serving.key, { mode: 0o600 }),
    writeFile(path('resolv.conf'), `nameserver ${network.nodeAddress}\n`),
    writeKubeconfig(path('kubelet.kubeconfig'), server, ca, {
      certificate: authority.client(`system:node:${network.node}`, ['system:nodes']),
    }),
    writeFile(
      path('kubelet.json'),
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        address: network.nodeAddress,
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: join(runFolder, 'pki', 'ca.crt') },
        },
        authorization: { mode: 'Webhook' },
        tlsCertFile: path('kubelet.crt'),
        tlsPrivateKeyFile: path('kubelet.key'),
        containerRuntimeEndpoint: `unix://${socket}`,
        clusterDomain: 'cluster.local',
        clusterDNS: [network.nodeAddress],
        resolvConf: path('resolv.conf'),
        cgroupRoot: `/${cgroup}`,
        cgroupDriver: 'cgroupfs',
        enforceNodeAllocatable: [],
        failSwapOn: false,
        failCgroupV1: false,
        podLogsDir: path('pod-logs'),
        volumePluginDir: path('volume-plugins'),
        maxPods: 250,
        podPidsLimit: POD_PIDS_LIMIT,
        serializeImagePulls: false,
        registryPullQPS: 0,
        eventRecordQPS: 0,
        kubeAPIQPS: 200,
        kubeAPIBurst: 400,
        // The machine's disk is not this node's to judge: a full one must not evict pods, nor remove images that
        // cannot be pulled again.
        evictionHard: {
          'memory.available': '0%',
          'nodefs.available': '0%',
          'imagefs.available': '0%',
          'nodefs.inodesFree': '0%',
        },
        imageGCHighThresholdPercent: 100,
        imageGCLowThresholdPercent: 99,
      }),
    ),
  ]);
  await startInside(
    'kubelet',
    ...(await writeKubeletStart(folder)),
    toolPath(tools, 'kubernetes', 'kubelet'),
    `--config=${path('kubelet.json')}`,
    `--kubeconfig=${path('kubelet.kubeconfig')}`,
    `--hostname-override=${network.node}`,
    `--node-ip=${network.nodeAddress}`,
  );
}

async function startProxy(
  { tools, network }: NodeOptions,
  folder: string,
  { server, ca, authority }: ControlPlane,
  startInside: StartInside,
): Promise<void> {
  const kubeconfig = await writeKubeconfig(join(folder, 'kube-proxy.kubeconfig'), server, ca, {
    certificate: authority.client('system:kube-proxy', []),
  });
  const file = join(folder, 'kube-proxy.json');
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'nftables',
      clientConnection: { kubeconfig },
      hostnameOverride: network.node,
      clusterCIDR: network.podsCidr,
      detectLocalMode: 'ClusterCIDR',
      // A second between changes is for clusters with thousands of Services.
      nftables: { minSyncPeriod: '100ms', syncPeriod: '30s' },
      // The machine's own limits, which a network namespace may not set.
      conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    }),
  );
  await startInside('kube-proxy', toolPath(tools, 'kubernetes', 'kube-proxy'), `--config=${file}`);
}

/** Its network policy controller alone: routes and Services are there already. It needs iptables and ipset, and the kernel's sets. */
async function startPolicies(
  { tools, network }: NodeOptions,
  folder: string,
  { server, ca, authority, masters }: ControlPlane,
  startInside: StartInside,
): Promise<void> {
  const name = 'system:network-policies';
  await grant(masters, name, {
    apiGroups: ['', 'networking.k8s.io', 'discovery.k8s.io'],
    resources: ['namespaces', 'pods', 'services', 'nodes', 'endpoints', 'endpointslices', 'networkpolicies'],
    verbs: ['get', 'list', 'watch'],
  });
  const kubeconfig = await writeKubeconfig(join(folder, 'kube-router.kubeconfig'), server, ca, {
    certificate: authority.client(name, []),
  });
  await startInside(
    'kube-router',
    toolPath(tools, 'kube-router', 'kube-router'),
    '--run-firewall=true',
    '--run-router=false',
    '--run-service-proxy=false',
    '--run-loadbalancer=false',
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${network.node}`,
    `--service-cluster-ip-range=${network.serviceCidr}`,
    '--health-port=0',
  );
}

/** On the node, not in a pod: there is no image of it, and names work before the first pod runs. */
async function startDns(
  { network }: NodeOptions,
  folder: string,
  { server, ca, authority, masters }: ControlPlane,
  startInside: StartInside,
): Promise<void> {
  const name = 'system:dns';
  await grant(masters, name, { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] });
  const credentials = join(folder, 'dns.json');
  await writeFile(credentials, JSON.stringify({ server, ca, ...authority.client(name, []) }), { mode: 0o600 });
  await startInside('dns', process.execPath, join(import.meta.dirname, 'dns.ts'), network.nodeAddress, credentials);
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Gives the user of this name a role of this name. */
async function grant(masters: ControlPlane['masters'], name: string, rule: Rule): Promise<void> {
  await masters.ensure('/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name }, rules: [rule] });
  await masters.ensure('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  });
}
