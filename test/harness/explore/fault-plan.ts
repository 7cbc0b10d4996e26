// A counterexample as a plan of `npm run faults`, which plays it with real processes, where each of its events exists there.

import type { Fault, Plan, WorkloadName } from '../faults/fault.ts';

/** What a person does to a record, as the workload that does the same. */
const WORKLOADS: readonly (readonly [event: RegExp, workload: WorkloadName])[] = [
  [/^somebody sets image \d+ of shop /, 'image'],
  [/^somebody sets an external database of shop /, 'external'],
  [/^somebody sets a larger volume of shop /, 'resize'],
  [/^somebody sets scale \d+ of shop /, 'scale'],
  [/^somebody deletes record shop /, 'delete'],
  [/^somebody makes record shop again /, 'recreate'],
  [/^Job shop--migrate-\S+ (succeeds|fails) /, 'migrated'],
];
/** The workload whose own phase begins with these. */
const PHASE: Partial<Record<WorkloadName, string>> = { recreate: 'recreate', delete: 'delete', image: 'image' };

const FAULTS: readonly (readonly [event: RegExp, fault: (found: RegExpExecArray, phase: string) => Fault])[] = [
  [
    /^somebody deletes (Deployment|StatefulSet|Service|PersistentVolumeClaim) (shop\S*) /,
    ([, kind, name]) => ({ kind: 'edit', child: `${kind} ${name}`, edit: 'delete' }),
  ],
  [/^the quota is full /, () => ({ kind: 'quota', of: 'pods' })],
  [/^a webhook refuses StatefulSets /, () => ({ kind: 'admission', of: 'statefulsets' })],
  [
    /^Davit may not write (\w+) any more /,
    ([, kinds = '']) => ({ kind: 'denied', resource: kinds.toLowerCase(), status: 403, ms: 6000 }),
  ],
  [/^the code host is down /, (_found, phase) => ({ kind: 'code-host', phase, says: 'down' })],
  [
    /^Davit reconciles records \S+, and crashes after \d+ writes?, the last of them (\w+) (\w+) (\S+?)(\/status)?$/,
    ([, verb, kind = '', name, status = ''], phase) => ({
      kind: 'crash-after',
      at: `${phase}/${verb} ${pluralOf(kind)}${status} ${name}#1`,
    }),
  ],
];
/** What the faults' world does on its own, or undoes. */
const BY_ITSELF = [
  /^everything automatic happens$/,
  /^Davit reconciles \w+ \S+$/,
  /^the (pods|image|controller) of /,
  /^the garbage collector /,
  /^volume \S+ has its size /,
  /^(the quota is freed|the webhook is gone|Davit has all its rights again|the code host is up) /,
  /^build Job \S+ succeeds /,
];

const pluralOf = (kind: string): string => (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();

/** Undefined if an event has no counterpart there, or if it takes more than one workload and one fault. */
export function faultPlanOf(events: readonly string[]): Plan | undefined {
  let workload: WorkloadName = 'create';
  let fault: ((phase: string) => Fault) | undefined;
  for (const event of events) {
    const does = WORKLOADS.find(([words]) => words.test(event));
    const found = FAULTS.map(([words, make]) => [words.exec(event), make] as const).find(([match]) => match);
    if (does) {
      // "recreate" deletes first.
      if (workload !== 'create' && !(workload === 'delete' && does[1] === 'recreate')) return undefined;
      workload = does[1];
    } else if (found?.[0]) {
      if (fault) return undefined;
      const [match, make] = found as [RegExpExecArray, (found: RegExpExecArray, phase: string) => Fault];
      fault = (phase) => make(match, phase);
    } else if (!BY_ITSELF.some((words) => words.test(event))) return undefined;
  }
  return { workload, fault: fault?.(PHASE[workload] ?? workload) ?? { kind: 'none' } };
}
