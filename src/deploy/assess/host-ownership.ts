// One host, one owner: which of several claims owns a host.

/** The claims of one record. */
export interface HostClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly createdAt: string;
  /** Hosts that it owns: by its address object, by its reported address, or because the address is being created. */
  readonly holds: ReadonlySet<string>;
  /** Its reported claim. */
  readonly reported?: { readonly host: string; readonly since: string };
}

/**
 * The owner keeps the host. A free host goes to the earliest reported claim, then to the oldest record, then by uid. A record
 * without a reported claim comes last.
 */
export function holderOf(host: string, asking: HostClaim, others: readonly HostClaim[]): HostClaim {
  const holding = [asking, ...others].filter(({ holds }) => holds.has(host));
  if (holding.length > 0) return first(host, holding);
  return first(host, [asking, ...others.filter(({ reported }) => reported?.host === host)]);
}

function first(host: string, claims: readonly HostClaim[]): HostClaim {
  return claims.reduce((a, b) => (isBefore(orderOf(host, b), orderOf(host, a)) ? b : a));
}

function orderOf(host: string, { reported, createdAt, uid }: HostClaim): readonly string[] {
  // Sorts after every timestamp.
  const since = reported?.host === host ? reported.since : '~';
  return [since, createdAt, uid];
}

function isBefore(a: readonly string[], b: readonly string[]): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && (a[at] ?? '') < (b[at] ?? '');
}
