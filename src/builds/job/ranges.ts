// Which range of addresses contains another, as rules of network policies need it.

interface Range {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly prefix: number;
}

/** Whether `inner` is a part of `outer` and smaller. Both are ranges in CIDR notation. False for ranges of two families. */
export function isWithin(inner: string, outer: string): boolean {
  const [small, large] = [rangeOf(inner), rangeOf(outer)];
  if (small.bits !== large.bits || small.prefix <= large.prefix) return false;
  const shift = BigInt(large.bits - large.prefix);
  return small.first >> shift === large.first >> shift;
}

function rangeOf(range: string): Range {
  const [address = '', prefix] = range.split('/');
  const isV6 = address.includes(':');
  const bits = isV6 ? 128 : 32;
  return { bits, prefix: Number(prefix ?? bits), first: isV6 ? v6(address) : v4(address) };
}

function v4(address: string): bigint {
  return BigInt(address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0));
}

function v6(address: string): bigint {
  // The URL parser writes eight groups of hexadecimal digits, of which `::` stands for zeros.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}
