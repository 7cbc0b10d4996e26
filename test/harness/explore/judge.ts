// What is broken where a state comes to rest: as the world is, a day later, and when a careful person has mended it.

import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import type { Judged } from './bound.ts';
import type { Converges } from './convergence.ts';
import { mend } from './mending.ts';
import type { Rest, Rests } from './rest.ts';
import { judgeAt, wronglyStalled } from './rest-properties.ts';
import { LATER, type Scene } from './scene.ts';
import type { Ground, Steps } from './steps.ts';
import { NO_TURNS } from './turns-of-writers.ts';
import type { State } from './world.ts';

/** Judges the way from `state` to `rest`, and `rest` itself if nobody has judged it before. */
export type Judge = (state: State, rest: Rest, isNew: boolean) => Promise<readonly Judged[]>;

const MENDED_IS_NEW = 'a mended record becomes what a new one is';
const READY_IS_NEW = 'what is Ready is what a new record becomes';
/** What one mending brings to light may need another. */
const MENDINGS = 2;

export function makeJudge(ground: Ground, steps: Steps, rests: Rests, converges: Converges): Judge {
  const { bound, machine } = ground;

  async function muchLater(state: State): Promise<Rest> {
    return rests.settle(await machine.act('a day passes', state, (scene) => scene.setMark('', LATER, 'a day')));
  }
  async function mended(rest: Rest): Promise<Rest> {
    let { state } = rest;
    for (const namespace of bound.namespaces)
      state = await machine.act(`mend ${namespace}`, state, (scene) => (bound.cast?.mend ?? mend)(scene, namespace));
    return rests.settle(state);
  }

  return async (state, rest, isNew) => {
    // These are of this way alone, and not of where it ends.
    const turns = rest.broken.filter(({ property }) => property === NO_TURNS);
    // Where several act, one pass of a record does not see what the others have yet to do.
    if (bound.lags !== true && !bound.cast) turns.push(...(await wronglyStalled(ground, steps, state, rest.state)));
    if (!isNew) return turns.length > 0 ? [{ broken: turns, afterwards: [] }] : [];
    const later = await muchLater(rest.state);
    const broken = [
      ...(await judgeAt(ground, steps, rest)),
      ...(await converges(rest.state, READY_IS_NEW, isReadyAsMade)),
      ...(await judgeAt(ground, steps, later)),
      ...(await wronglyStalled(ground, steps, rest.state, later.state)),
      ...turns.filter(({ property }) => property !== NO_TURNS),
    ];
    const judged: Judged[] = broken.length > 0 ? [{ broken, afterwards: await rests.wayFrom(state) }] : [];
    let after = rest;
    for (let times = 0; times < MENDINGS; times += 1) after = await mended(after);
    const known = new Set(broken.map(({ message }) => message));
    const still = [
      ...(await judgeAt(ground, steps, after, true)),
      ...(await converges(after.state, MENDED_IS_NEW, () => true)),
    ].filter(({ message }) => !known.has(message));
    if (still.length > 0)
      judged.push({
        broken: still,
        afterwards: [...(await rests.wayFrom(state)), 'the world is mended, twice'],
      });
    return judged;
  };
}

function isReadyAsMade(record: AppDeployment, scene: Scene): boolean {
  return (
    conditionOf(record.status?.conditions, 'Ready')?.status === 'True' &&
    scene.mark(record.metadata.namespace ?? '', 'webhook') !== 'rewrites'
  );
}
