// Which addresses the outside world is at. Everything else — this machine, the node's network, the cloud's metadata —
// may be connected to only where the platform lists it.

import { BlockList, isIP } from 'node:net';

/** Source: IANA's registry of special-purpose IPv4 addresses, and multicast. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;
/** What of 2000::/3, the one range that is given out, is special: protocols, documentation, 6to4. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'] as const;

const specialIpv4 = blockListOf(SPECIAL_IPV4);
const specialIpv6 = blockListOf(SPECIAL_IPV6);
const global = blockListOf(['2000::/3']);
/** RFC 6052: an IPv4 address seen from a network that has only IPv6. */
const nat64 = blockListOf(['64:ff9b::/96']);

/** A set of addresses and CIDR ranges. Throws an Error for what is neither. */
export function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/', 2);
    const family = familyOf(address);
    const longest = family === 'ipv4' ? 32 : 128;
    if (family === undefined || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= longest)))
      throw new Error(`read the address range ${range}: it is not valid`);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether an address, as a resolver gives it, is one of the public Internet. */
export function isPublic(address: string): boolean {
  const family = familyOf(address);
  if (family === 'ipv4') return !specialIpv4.check(address, 'ipv4');
  // With a zone it is a link's own address.
  if (family !== 'ipv6' || address.includes('%')) return false;
  const embedded = nat64.check(address, 'ipv6') ? embeddedIpv4(address) : undefined;
  if (embedded !== undefined) return isPublic(embedded);
  return global.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6');
}

export function isIn(list: BlockList, address: string): boolean {
  const family = familyOf(address);
  return family !== undefined && !address.includes('%') && list.check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  if (version === 4) return 'ipv4';
  return version === 6 ? 'ipv6' : undefined;
}

/** The last 32 bits of an IPv6 address, however it is written. */
function embeddedIpv4(address: string): string | undefined {
  // A URL's parser writes an IPv6 address in one way: hexadecimal groups, the last two of which are wanted.
  const { hostname } = new URL(`https://[${address}]`);
  const [high, low] = hostname.slice(1, -1).split(':').slice(-2);
  if (high === undefined || low === undefined) return undefined;
  const [a, b] = [Number.parseInt(high || '0', 16), Number.parseInt(low || '0', 16)];
  return [a >> 8, a & 0xff, b >> 8, b & 0xff].join('.');
}
