// Tells public addresses from others, such as loopback, the cluster's network and the cloud's metadata service.
// Connections to addresses that are not public are allowed only if the settings list them.

import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Source: the IANA IPv4 Special-Purpose Address Registry, and multicast (RFC 5771). */
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
/**
 * Special ranges within 2000::/3, the only range that IANA allocates for global unicast: protocol assignments,
 * documentation, 6to4, AS112. Source: the IANA IPv6 Special-Purpose Address Registry.
 */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'] as const;

const specialIpv4 = blockListOf(SPECIAL_IPV4);
const specialIpv6 = blockListOf(SPECIAL_IPV6);
const global = blockListOf(['2000::/3']);
/** Well-known prefix of IPv4-embedded addresses, for NAT64 (RFC 6052, section 2.1). */
const nat64 = blockListOf(['64:ff9b::/96']);

/** Creates a list of IP addresses and CIDR ranges. Throws an Error if an entry is neither. */
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

/** Whether an IP address is globally reachable. False for text that is not an IP address. */
export function isPublic(address: string): boolean {
  const family = familyOf(address);
  if (family === 'ipv4') return !specialIpv4.check(address, 'ipv4');
  // A zone belongs to an address that is not global (RFC 4007).
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

/** The IPv4 address in the last 32 bits of an IPv6 address. */
function embeddedIpv4(address: string): string | undefined {
  // The URL parser normalizes an IPv6 address to hexadecimal groups. The last two groups contain the IPv4 address.
  const { hostname } = new URL(`https://[${address}]`);
  const [high, low] = hostname.slice(1, -1).split(':').slice(-2);
  if (high === undefined || low === undefined) return undefined;
  const [a, b] = [Number.parseInt(high || '0', 16), Number.parseInt(low || '0', 16)];
  return [a >> 8, a & 0xff, b >> 8, b & 0xff].join('.');
}

/** Resolves a name to all its addresses. */
export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The system's resolver. */
export const allAddresses: ResolveName = (hostname) => systemLookup(hostname, { all: true });

/**
 * The lookup of a connection. It fails with `rejection` unless the name has addresses and all of them are allowed: an attacker
 * could influence which address is used.
 */
export function lookupAllowed(
  resolve: ResolveName,
  isAllowed: (address: string) => boolean,
  rejection: (hostname: string) => Error,
): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname).then(
      (found) => {
        if (found.length === 0 || !found.every(({ address }) => isAllowed(address))) callback(rejection(hostname), '');
        else if (all === true) callback(null, [...found]);
        else callback(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}
