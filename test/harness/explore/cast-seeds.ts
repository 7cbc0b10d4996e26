// Bugs of listeners and of the registry's upkeep that the explorer must see, as in seeds.ts.

import type { Seed } from '../faults/mutants.ts';

export interface Seeded extends Seed {
  readonly bound: string;
  /** Labels of a sequence that is driven by wakes and shows the bug, where a search rarely comes so far. */
  readonly way?: readonly string[];
}

function bug(bound: string, file: string, from: string, to: string): Seeded {
  return { bound, replacements: [{ file, from, to }] };
}

export const CAST_SEEDS: Readonly<Record<string, Seeded>> = {
  'values that change do not cross again': bug(
    'listeners',
    'src/clusters/hub/works.ts',
    'if (copied.get(name) !== version) await copySecret',
    'if (copied.get(name) === undefined) await copySecret',
  ),
  'a deleted Listener takes its works with it': {
    bound: 'hubs',
    replacements: [
      {
        file: 'src/clusters/hub/listeners.ts',
        from: 'const isUsed = works.length > 0 || records.length > 0;',
        to: 'const isUsed = false;',
      },
      {
        file: 'src/clusters/hub/listeners.ts',
        from: "if (works.items.length > 0) return 'used';",
        to: '',
      },
    ],
  },
  'of a deployment that the cluster lacks the last report stays': bug(
    'names',
    'src/clusters/hub/mirror.ts',
    'if (report?.absent === true) return undefined;',
    '',
  ),
  'a deletion that waits for a person is said to go on': bug(
    'hubs',
    'src/clusters/hub/mirror.ts',
    "if (isLeaving && paused === undefined && rejection?.reason === 'HubChanged')",
    'if (false)',
  ),
  'a deleted work deletes its copy': bug(
    'hubs',
    'src/clusters/agent/step.ts',
    'if (spec.removed === true) {',
    'if (spec.removed === true || metadata.deletionTimestamp !== undefined) {',
  ),
  'a record without its work is let go': bug(
    'names',
    'src/clusters/hub/finalize.ts',
    'const work = live ?? (await workAgain(record, { listener, isGivenUp }, home));',
    'const work = live;',
  ),
  'a rejection of a work that was made again counts as older': bug(
    'hubs',
    'src/clusters/hub/mirror.ts',
    'const { generation = used?.generation } = report;',
    'const { generation } = report;',
  ),
  'a Listener whose namespace goes keeps its last status': bug(
    'hubs',
    'src/clusters/hub/listeners.ts',
    'if (!isLeaving) return {};',
    'return {};',
  ),
  'an edited copy stays as it is': bug(
    'edges',
    'src/clusters/agent/works.ts',
    '!hasDrifted(wanted, existing);',
    'true;',
  ),
  'a namespace that refuses the hub is used': bug(
    'edges',
    'src/clusters/agent/step.ts',
    'const refused = consentMissing(seen) ?? unfit(work) ?? foreignBackup(seen);',
    'const refused = unfit(work) ?? foreignBackup(seen);',
  ),
  'how long a tag was unneeded is forgotten with the controller': bug(
    'upkeep',
    'src/build/registry/sweep.ts',
    "noted = Noted.safeParse(jsonOf(stored?.data?.[NOTED] ?? '')).data;",
    'noted = undefined;',
  ),
  'the log of a reused image goes with its own revision': bug(
    'upkeep',
    'src/build/registry/unneeded.ts',
    '...(status?.build?.builtBy === undefined ? [] : [logTag(status.build.builtBy)]),',
    '',
  ),
  'one refused image holds the collection up for ever': {
    bound: 'upkeep',
    replacements: [
      { file: 'src/build/registry/keep.ts', from: 'refused.delete(digest)', to: 'refused.has(digest)' },
      { file: 'src/build/registry/upkeep.ts', from: 'if (!isDue(!isSafe)) {', to: 'if (!isSafe) {' },
    ],
  },
  'images of another record are not kept': bug(
    'upkeep',
    'src/build/registry/unneeded.ts',
    'for (const { metadata, spec } of records) for (const { image } of imagesOf(spec)) add(metadata.namespace, image);',
    '',
  ),
  'the tag of a refused image goes': bug(
    'upkeep',
    'src/build/registry/keep.ts',
    'if (digest !== undefined && refused.delete(digest)) held.push(tag);',
    '',
  ),
};

/** Bugs of the fault harness. */
export const CAST_EXPRESSED: Readonly<Record<string, string>> = {
  'a work that is absent on the hub deletes its copy': 'names',
  'the copy of another record of the same name is taken over': 'names',
  'unused Secrets of a copy are not removed': 'listeners',
  'an older generation of a restored hub is applied': 'hubs',
  'a clone of the cluster is accepted': 'hubs',
  'the Secrets of a deleted copy stay': 'listeners',
  'silence is judged by the time in the Lease': 'listeners',
  'the last status is kept when the cluster is silent': 'listeners',
  'a record is released before its copy is deleted': 'listeners',
  'Secrets of the same name as referenced ones are copied': 'listeners',
  'a record that is given up leaves no tombstone': 'listeners',
  'a report of an earlier generation counts for the current one': 'listeners',
};
