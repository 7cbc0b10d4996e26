// P17: few records, and a process that has just begun. Most installations have tens of records: what a runtime costs
// before it has compiled what it repeats is then most of what it costs.

import { davit } from '../contenders/davit.ts';
import { type Figure, type Goal, median, quantile, ratios, rounded } from '../figures.ts';
import type { Arm, Bench, Measure } from '../measure.ts';
import { checkPeer } from '../peers/check.ts';
import { controllerRuntime } from '../peers/controller-runtime.ts';
import { latenciesOf } from './changes.ts';
import { type Restarted, restarted } from './restart.ts';

const RECORDS = 60;
/** Of changes: after a minute of them the process would no longer be cold. */
const SECONDS = 10;
const asFast: Goal = { atMost: 1.1 };
const memoryMiB: Goal = { atMost: 100 };
const readyS: Goal = { atMost: 0.4 };

export const small: Measure = { key: 'P17', goal: asFast, run };

interface Taken {
  readonly runs: readonly Restarted[];
  /** 99th percentile of each repeat. */
  readonly p99Ms: readonly number[];
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const peer = controllerRuntime({ workers: bench.workers });
  await checkPeer(bench, peer);
  const [us, them] = [davit(bench), peer];
  const taken = new Map<Arm, { readonly runs: Restarted[]; readonly p99Ms: number[] }>(
    [us, them].map((arm) => [arm, { runs: [], p99Ms: [] }]),
  );
  for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
    for (const arm of repeat % 2 === 0 ? [us, them] : [them, us]) {
      taken.get(arm)?.runs.push(await restarted(bench, arm, RECORDS));
      const { samples } = await latenciesOf(bench, arm, RECORDS, SECONDS);
      taken.get(arm)?.p99Ms.push(quantile(samples, 0.99));
    }
  }
  const none: Taken = { runs: [], p99Ms: [] };
  return figuresOf(taken.get(us) ?? none, taken.get(them) ?? none, them.name);
}

function figuresOf(ours: Taken, theirs: Taken, peer: string): Figure[] {
  const both = (name: string, of: (taken: Taken) => readonly number[]): Record<string, number> => ({
    [`davit${name}`]: rounded(median(of(ours))),
    [`${peer}${name}`]: rounded(median(of(theirs))),
  });
  const walls = ({ runs }: Taken): number[] => runs.map(({ filled }) => filled.wallMs / 1000);
  const afterFilling = ({ runs }: Taken): number[] => runs.map(({ filled }) => filled.rssMiB);
  const afterRestart = ({ runs }: Taken): number[] => runs.map(({ rssMiB }) => rssMiB);
  const ready = ({ runs }: Taken): number[] => runs.map(({ readyMs }) => readyMs / 1000);
  const readyCpu = ({ runs }: Taken): number[] => runs.map(({ readyCpuMs }) => readyCpuMs / 1000);
  const p99 = ({ p99Ms }: Taken): readonly number[] => p99Ms;
  const records = RECORDS;
  return [
    {
      key: 'P17.fill',
      goal: asFast,
      samples: ratios(walls(ours), walls(theirs)),
      absolutes: { records, ...both('WallS', walls) },
    },
    {
      key: 'P17.change',
      goal: asFast,
      samples: ratios(p99(ours), p99(theirs)),
      absolutes: { records, ...both('P99Ms', p99) },
    },
    {
      key: 'P17.memory',
      goal: memoryMiB,
      samples: afterFilling(ours),
      absolutes: { records, unit: 'MiB', ...both('RssMiB', afterFilling), ...both('RssMiBAfterRestart', afterRestart) },
    },
    {
      key: 'P17.ready',
      goal: readyS,
      samples: ready(ours),
      absolutes: { records, unit: 's', ...both('ReadyS', ready), ...both('ReadyCpuS', readyCpu) },
    },
  ];
}
