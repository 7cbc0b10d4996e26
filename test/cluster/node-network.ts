// The addresses of a cluster with real pods, and the link between its nodes and this machine.
//
// Each node lives in a network namespace of its own: kube-proxy in nftables mode has one table name for all, and kubelet
// and the pods' network want fixed ports and names, so two nodes in one namespace would fight. A pair of virtual
// Ethernet devices joins it to the machine, which gets two things only: the device, and a route to the cluster's
// addresses. Nothing of the machine's own network, firewall or forwarding changes, pods reach the machine's end of the
// link (where the API server listens) and nothing beyond it, and all of it goes when the namespace goes. Several nodes
// meet at a switch: a bridge in a namespace of its own, so that it goes in the same way.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface NodeNetwork {
  /** As the API server knows the node. */
  readonly node: string;
  readonly slot: number;
  /** The machine's end of the link. */
  readonly device: string;
  readonly cluster: string;
  readonly hostAddress: string;
  readonly nodeAddress: string;
  readonly podCidr: string;
  /** Of the pods of all nodes. */
  readonly podsCidr: string;
  readonly serviceCidr: string;
  /** The other nodes of the cluster. */
  readonly peers: readonly Pick<NodeNetwork, 'nodeAddress' | 'podCidr'>[];
}

export const nodeName = 'davit-node';

const firstOctet = 208;
/** So many clusters with real pods may run on one machine. */
export const slots: readonly number[] = Array.from({ length: 24 }, (_, slot) => slot);

/** So many nodes have room in the addresses of a cluster. */
const MOST_NODES = 4;

/** The networks of the nodes of one cluster. Each has a slot of its own; the addresses are those of the first. */
export function networksOf(taken: readonly number[]): readonly [NodeNetwork, ...NodeNetwork[]] {
  const [first, ...others] = taken;
  if (first === undefined || taken.length > MOST_NODES)
    throw new Error(`a cluster has 1 to ${MOST_NODES} nodes, not ${taken.length}`);
  const start = `10.${firstOctet + first}`;
  const podsCidr = `${start}.64.0/18`;
  const addresses = taken.map((_, index) => ({
    nodeAddress: `${start}.0.${2 + index}`,
    podCidr: others.length === 0 ? podsCidr : `${start}.${64 + 16 * index}.0/20`,
  }));
  const networks = taken.map(
    (slot, index): NodeNetwork => ({
      node: index === 0 ? nodeName : `${nodeName}-${index + 1}`,
      slot,
      device: `davit${first}`,
      cluster: `${start}.0.0/16`,
      hostAddress: `${start}.0.1`,
      nodeAddress: addresses[index]?.nodeAddress ?? '',
      podCidr: addresses[index]?.podCidr ?? '',
      podsCidr,
      serviceCidr: `${start}.128.0/17`,
      peers: addresses.filter((_, other) => other !== index),
    }),
  );
  return networks as [NodeNetwork, ...NodeNetwork[]];
}

/** The slots whose addresses this machine does not use for something else. */
export async function freeSlots(): Promise<number[]> {
  const { stdout } = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const routes = stdout.split('\n');
  return slots.filter((slot) => {
    const device = `davit${slot}`;
    const ours = new RegExp(`\\b10\\.${firstOctet + slot}\\.`);
    return !routes.some(
      (route) => (ours.test(route) || /\b10\.0\.0\.0\/8\b/.test(route)) && !route.includes(` ${device} `),
    );
  });
}

/** A bridge in the network namespace of process `pid`, to which nodes are linked. */
export interface Switch {
  readonly pid: number;
}

const BRIDGE = 'nodes';

async function ip(...args: string[]): Promise<void> {
  await run('ip', args);
}

/** In the switch's namespace. */
async function inSwitch({ pid }: Switch, ...args: string[]): Promise<void> {
  await run('nsenter', ['--target', String(pid), '--net', 'ip', ...args]);
}

async function plugIn(hub: Switch, port: string): Promise<void> {
  await inSwitch(hub, 'link', 'set', port, 'master', BRIDGE);
  await inSwitch(hub, 'link', 'set', port, 'up');
}

/** Links the switch to this machine. */
export async function linkSwitch({ device }: NodeNetwork, hub: Switch): Promise<void> {
  await inSwitch(hub, 'link', 'add', BRIDGE, 'type', 'bridge');
  await inSwitch(hub, 'link', 'set', BRIDGE, 'up');
  // Only a run whose keeper was killed can have left one; the slot is ours by now.
  await ip('link', 'del', device).catch(() => undefined);
  await ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'machine', 'netns', String(hub.pid));
  await plugIn(hub, 'machine');
}

/** Takes the node off the switch, or puts it back: what runs on it goes on, and reaches and hears nobody. */
export async function setLink({ node }: NodeNetwork, hub: Switch, state: 'up' | 'down'): Promise<void> {
  await inSwitch(hub, 'link', 'set', portOf(node), state);
}

/** Names of devices have at most 15 characters. */
function portOf(node: string): string {
  return node.replace('davit-', '');
}

/** `pid` is a process inside of the namespace; `inside` makes a command run in it. */
export async function linkNode(
  network: NodeNetwork,
  pid: number,
  inside: (command: string[]) => string[],
  hub?: Switch,
): Promise<void> {
  const { node, device, hostAddress, nodeAddress, cluster, podCidr, serviceCidr, peers } = network;
  async function inNode(...command: string[]): Promise<void> {
    const [program = '', ...args] = inside(command);
    await run(program, args);
  }
  const eth0 = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)];
  if (hub === undefined) {
    await ip('link', 'del', device).catch(() => undefined);
    await ip('link', 'add', device, ...eth0);
  } else {
    await inSwitch(hub, 'link', 'del', portOf(node)).catch(() => undefined);
    await inSwitch(hub, 'link', 'add', portOf(node), ...eth0);
    await plugIn(hub, portOf(node));
  }
  await inNode('ip', 'link', 'set', 'lo', 'up');
  await inNode('ip', 'addr', 'add', `${nodeAddress}/24`, 'dev', 'eth0');
  await inNode('ip', 'link', 'set', 'eth0', 'up');
  // Whatever runs on the node itself reaches Services too: kube-proxy turns their addresses into pods', but only of
  // packets that have a way to go.
  await inNode('ip', 'route', 'add', serviceCidr, 'via', hostAddress);
  for (const peer of peers) await inNode('ip', 'route', 'add', peer.podCidr, 'via', peer.nodeAddress);
  // Forwarding between pods and the link, in this namespace alone.
  await inNode('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  // There is no way out of the cluster. Without this a connection learns it only after seconds of trying again.
  await inNode('nft', rejectOutside(cluster)).catch(() => undefined);
  if (node !== nodeName) return ip('route', 'replace', podCidr, 'via', nodeAddress, 'dev', device, 'src', hostAddress);
  await ip('addr', 'add', `${hostAddress}/24`, 'dev', device);
  await ip('link', 'set', device, 'up');
  await ip('route', 'add', cluster, 'via', nodeAddress, 'dev', device, 'src', hostAddress);
}

function rejectOutside(cluster: string): string {
  return `table inet davit {
    chain outside {
      type filter hook prerouting priority raw;
      iifname != "lo" ip daddr != ${cluster} meta l4proto tcp reject with tcp reset
      iifname != "lo" ip daddr != ${cluster} reject
    }
  }`;
}
