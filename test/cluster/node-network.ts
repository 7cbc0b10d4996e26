// The addresses of a cluster with real pods, and the one link between its node and this machine.
//
// Each node lives in a network namespace of its own: kube-proxy in nftables mode has one table name for all, and kubelet
// and the pods' network want fixed ports and names, so two nodes in one namespace would fight. A pair of virtual
// Ethernet devices joins it to the machine, which gets two things only: the device, and a route to the cluster's
// addresses. Nothing of the machine's own network, firewall or forwarding changes, pods reach the machine's end of the
// link (where the API server listens) and nothing beyond it, and all of it goes when the namespace goes.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface NodeNetwork {
  readonly slot: number;
  /** The machine's end of the link. */
  readonly device: string;
  readonly cluster: string;
  readonly hostAddress: string;
  readonly nodeAddress: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
}

const firstOctet = 208;
/** So many clusters with real pods may run on one machine. */
export const slots: readonly number[] = Array.from({ length: 24 }, (_, slot) => slot);

export function networkOf(slot: number): NodeNetwork {
  const start = `10.${firstOctet + slot}`;
  return {
    slot,
    device: `davit${slot}`,
    cluster: `${start}.0.0/16`,
    hostAddress: `${start}.0.1`,
    nodeAddress: `${start}.0.2`,
    podCidr: `${start}.64.0/18`,
    serviceCidr: `${start}.128.0/17`,
  };
}

/** The slots whose addresses this machine does not use for something else. */
export async function freeSlots(): Promise<number[]> {
  const { stdout } = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const routes = stdout.split('\n');
  return slots.filter((slot) => {
    const { device } = networkOf(slot);
    const ours = new RegExp(`\\b10\\.${firstOctet + slot}\\.`);
    return !routes.some(
      (route) => (ours.test(route) || /\b10\.0\.0\.0\/8\b/.test(route)) && !route.includes(` ${device} `),
    );
  });
}

/** `pid` is a process inside of the namespace; `inside` makes a command run in it. */
export async function linkNode(
  network: NodeNetwork,
  pid: number,
  inside: (command: string[]) => string[],
): Promise<void> {
  const { device, hostAddress, nodeAddress, cluster, serviceCidr } = network;
  async function ip(...args: string[]): Promise<void> {
    await run('ip', args);
  }
  async function inNode(...command: string[]): Promise<void> {
    const [program = '', ...args] = inside(command);
    await run(program, args);
  }
  // Only a run whose keeper was killed can have left one; the slot is ours by now.
  await ip('link', 'del', device).catch(() => undefined);
  await ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
  await inNode('ip', 'link', 'set', 'lo', 'up');
  await inNode('ip', 'addr', 'add', `${nodeAddress}/24`, 'dev', 'eth0');
  await inNode('ip', 'link', 'set', 'eth0', 'up');
  // Whatever runs on the node itself reaches Services too: kube-proxy turns their addresses into pods', but only of
  // packets that have a way to go.
  await inNode('ip', 'route', 'add', serviceCidr, 'via', hostAddress);
  // Forwarding between pods and the link, in this namespace alone.
  await inNode('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  // There is no way out of the cluster. Without this a connection learns it only after seconds of trying again.
  await inNode('nft', rejectOutside(cluster)).catch(() => undefined);
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
