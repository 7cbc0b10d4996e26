// `npm run bench`: what Davit costs and how fast it is, beside what is possible and what others do.
// Its options are in USAGE.
//
// The last line printed is one JSON object with a key for each figure, also of a run that is ended early (Ctrl-C).
// docs/performance.md explains them.

import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { ensureTools } from '../../cluster/tools.ts';
import { optionsOf } from '../../support/options.ts';
import { renderChildren } from './children.ts';
import { type Figure, median, rounded, summary, verdict } from './figures.ts';
import type { Bench, Measure } from './measure.ts';
import { MEASURES } from './measures.ts';
import { chosen, FULL, sizeOf } from './options.ts';
import { jsonOf, startServer } from './server.ts';

const USAGE = `npm run bench -- [options]

  --only P1,P4    these measures; P14 means all of P14.change, P14.rest
  --quick         small sizes, one repeat, ten minutes: goals are not judged, but those of zero
  --records N     instead of 1,000
  --repeats N     instead of 5
  --workers N     of every arm, instead of Davit's default
  --profile DIR   CPU profiles of Davit's processes into that folder
  --children FILE only writes what a record becomes, as peers read it
  --help
`;

const values = optionsOf(
  {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    records: { type: 'string' },
    repeats: { type: 'string' },
    workers: { type: 'string' },
    profile: { type: 'string' },
    children: { type: 'string' },
  },
  { command: 'npm run bench', usage: USAGE },
);
const begin = performance.now();

function say(line: string): void {
  process.stdout.write(`[${((performance.now() - begin) / 1000).toFixed(1).padStart(6)} s] ${line}\n`);
}

/** A measure that breaks off must not take the others' figures with it. */
async function take(measure: Measure, bench: Bench): Promise<readonly Figure[]> {
  say(`${measure.key} ...`);
  try {
    return await measure.run(bench);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ key: measure.key, goal: measure.goal, why }];
  }
}

function tell(figure: Figure, isSmall: boolean): void {
  const said = 'why' in figure ? `not taken: ${figure.why}` : `${rounded(median(figure.samples))}`;
  say(`${figure.key}: ${said} (goal ${JSON.stringify(figure.goal)}, ${verdict(figure, isSmall)})`);
}

/** Who ends a run before its end keeps what has been measured. */
function tellOnSignal(measures: readonly Measure[], taken: readonly Figure[], isSmall: boolean): void {
  const tellAndEnd = (signal: NodeJS.Signals): void => {
    const why = `the run was ended by ${signal}`;
    const left = measures.filter(({ key }) => !taken.some((figure) => figure.key.split('.')[0] === key));
    process.stdout.write(`${summary([...taken, ...left.map(({ key, goal }) => ({ key, goal, why }))], isSmall)}\n`);
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, tellAndEnd);
}

async function run(): Promise<void> {
  const measures = chosen(MEASURES, values.only);
  const bench: Bench = {
    ...sizeOf(values),
    taken: new Set(measures.map(({ key }) => key)),
    ...(values.profile !== undefined && { profileInto: resolve(values.profile) }),
    say,
    async onFreshServer(options, use) {
      const server = await startServer(options);
      try {
        return await use(server);
      } finally {
        await server.cluster.stop();
      }
    },
  };
  await ensureTools(['kubernetes', 'helm'], say);
  const figures: Figure[] = [];
  const isSmall = bench.records < FULL.records;
  tellOnSignal(measures, figures, isSmall);
  for (const measure of measures) {
    const taken = await take(measure, bench);
    for (const figure of taken) tell(figure, isSmall);
    figures.push(...taken);
  }
  process.stdout.write(`${summary(figures, isSmall)}\n`);
}

if (values.children !== undefined) await writeFile(values.children, jsonOf(renderChildren(defaultSettings())));
else await run();
