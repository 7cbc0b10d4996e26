// What a server has been asked so far, by its own metrics.

/** `verb resource[/subresource]` → how often. SSA is `APPLY`, other patches `PATCH`. */
export type Tally = ReadonlyMap<string, number>;

export interface Requests {
  /** Everything that changed something or tried to: the server's leases and those of leaders aside. */
  readonly writes: Tally;
  /** Asked with dryRun: nothing was written. */
  readonly dryRuns: Tally;
  /** GET and LIST; leases aside. */
  readonly reads: Tally;
  /** All of `writes` together. */
  readonly written: number;
  /** Answers 429. */
  readonly throttled: number;
}

const WRITING = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);
const READING = new Set(['GET', 'LIST']);
/** What processes write about themselves, and what the API server itself writes for each Service. */
const ASIDE = new Set([
  'leases',
  'subjectaccessreviews',
  'selfsubjectaccessreviews',
  'selfsubjectreviews',
  'tokenreviews',
  'endpoints',
  'endpointslices',
  'ipaddresses',
]);

/** Reads the text of `/metrics`. */
export function requestsIn(metrics: string): Requests {
  const writes = new Map<string, number>();
  const dryRuns = new Map<string, number>();
  const reads = new Map<string, number>();
  let throttled = 0;
  for (const [, labelText = '', value = ''] of metrics.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const labels = Object.fromEntries(
      [...labelText.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text]),
    );
    const {
      verb = '',
      resource = '',
      subresource = '',
      dry_run: dryRun = '',
      code = '',
    } = labels as Record<string, string>;
    // A token is what the benchmark mounts for a process, as a kubelet would.
    if (resource === '' || ASIDE.has(resource) || subresource === 'token') continue;
    const count = Number(value);
    if (code === '429') throttled += count;
    const into = READING.has(verb) ? reads : !WRITING.has(verb) ? undefined : dryRun === '' ? writes : dryRuns;
    if (into === undefined) continue;
    const key = `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
    into.set(key, (into.get(key) ?? 0) + count);
  }
  return { writes, dryRuns, reads, throttled, written: total(writes) };
}

/** What was asked between two looks. */
export function since(before: Requests, after: Requests): Requests {
  return {
    writes: difference(before.writes, after.writes),
    written: after.written - before.written,
    dryRuns: difference(before.dryRuns, after.dryRuns),
    reads: difference(before.reads, after.reads),
    throttled: after.throttled - before.throttled,
  };
}

/** What was counted, a record, the most frequent first. */
export function eachOf(tally: Tally, records: number): string {
  return [...tally]
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what} ${Math.round((count / records) * 100) / 100}`)
    .join(', ');
}

export function total(tally: Tally): number {
  return [...tally.values()].reduce((sum, count) => sum + count, 0);
}

function difference(before: Tally, after: Tally): Tally {
  const changed = [...after].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  return new Map(changed.filter(([, count]) => count !== 0));
}
