// A short sample of the sequences that are driven by wakes, and sequences that once broke a property.

import { expect, it } from 'vitest';
import { WAKE_BOUNDS } from './bounds.ts';
import { DAY, REST } from './labels.ts';
import { rerun, walkAll } from './walk.ts';

const named = (name: string): (typeof WAKE_BOUNDS)[number] => {
  const bound = WAKE_BOUNDS.find((one) => one.name === name);
  if (!bound) throw new Error(`no bound is called ${name}`);
  return bound;
};

it.each([
  ['hub', 0, 4],
  ['whole', 0, 4],
  ['source', 0, 2],
  ['rollouts', 0, 3],
])('no property is broken in the first sequences of %s', async (name, from, walks) => {
  const { violations, passes } = await walkAll(named(name), { from, walks, first: true });
  expect(violations).toEqual([]);
  expect(passes).toBeGreaterThan(50);
});

it.each([
  {
    what: 'an autoscaler that is not wanted goes while a Service is refused',
    events: [
      'Davit may not write Services any more in team',
      'somebody deletes Service shop in team',
      'somebody sets a scale of 2 of shop in team',
    ],
  },
  { what: 'a revision whose containers exit is given up', events: ['somebody sets image crash of shop in team'] },
  {
    what: 'a lost password of a running Redis is not replaced',
    events: ['somebody deletes Secret shop--redis in team'],
  },
])('$what', async ({ events }) => {
  const all = [REST, ...events, REST];
  expect(await rerun(named('whole'), all)).toEqual({ broken: [], taken: all });
});

it('a restart writes nothing while the code host does not answer', async () => {
  const all = ['the code host is down in team', REST];
  expect(await rerun(named('source-files'), all)).toEqual({ broken: [], taken: all });
});

it('the same seed is the same sequence, and a day passes at its end', async () => {
  const walked = async (): Promise<readonly string[]> => {
    const said: string[] = [];
    await rerun(
      named('rollouts'),
      [REST, 'somebody sets image 2 of shop in team', 'Davit restarts', DAY],
      (line) => void said.push(line.replaceAll(/[0-9a-f]{8,}/g, '')),
    );
    return said;
  };
  const once = await walked();
  expect([once.length > 20, await walked()]).toEqual([true, once]);
});
