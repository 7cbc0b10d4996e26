// One host, one owner: whose a host is, among all who claim it.

/** What is known of one record's claims. */
export interface HostClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly createdAt: string;
  /** Hosts that it has: by its address object, by the address it reported, or because one is being made just now. */
  readonly holds: ReadonlySet<string>;
  /** What it reported to claim. */
  readonly reported?: { readonly host: string; readonly since: string };
}

/**
 * Who has it keeps it. A free host goes to whoever reported the claim first; of those who reported together to the one
 * that was created first, then by uid. One who asks and has not reported yet comes after all who wait.
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
  // After every time there is.
  const since = reported?.host === host ? reported.since : '~';
  return [since, createdAt, uid];
}

function isBefore(a: readonly string[], b: readonly string[]): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && (a[at] ?? '') < (b[at] ?? '');
}
