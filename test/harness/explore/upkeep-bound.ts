// The bound of the registry's upkeep.

import type { Bound } from './bound.ts';
import * as happens from './upkeep-events.ts';
import { judgeUpkeepPass, judgeUpkeepRest } from './upkeep-properties.ts';
import { BUILT, beginUpkeep, DAYS, makeUpkeepPass, TEAM } from './upkeep-world.ts';

export const UPKEEP_BOUND: Bound = {
  name: 'upkeep',
  about:
    "The registry's upkeep: builds, shared images, pruned revisions, records that go and come again, a registry in trouble, crashes.",
  settings: BUILT,
  namespaces: [TEAM],
  begin: beginUpkeep,
  events: [
    happens.revisionsGo,
    happens.builds,
    happens.reuses,
    happens.prunes,
    happens.namesImage,
    happens.otherNames,
    happens.shopGone,
    happens.otherGone,
    happens.shopAgain,
    happens.uploads,
    happens.pushesTag,
    happens.tagsLost,
    happens.down,
    happens.full,
    happens.refusesOne,
    happens.unlistable,
    happens.wellAgain,
    ...happens.crashes,
  ],
  people: 3,
  troubles: 5,
  cast: {
    keys: () => Object.keys(DAYS).map((days) => ['upkeep', days]),
    make: makeUpkeepPass,
    judgePass: judgeUpkeepPass,
    judgeRest: judgeUpkeepRest,
    mend: happens.mendUpkeep,
    // The registry collects every day.
    writesAtRest: (words) => words.startsWith('delete Pod ') || words.endsWith(' ConfigMap davit-registry-collection'),
  },
};
