import { expect, it } from 'vitest';
import { makeAllMetrics } from './metrics.ts';
import { type Census, censusOf } from './monitoring/census.ts';

async function values(metrics: ReturnType<typeof makeAllMetrics>, name: RegExp): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => name.test(line) && !line.startsWith('#'));
}

it('records are counted at each scrape, by the one who counts; without one there is no series', async () => {
  const metrics = makeAllMetrics();
  const ofRecords = /^davit_(databases|tenants|builds)/;
  expect(await values(metrics, ofRecords)).toEqual([]);
  let census: Census = { ...censusOf([], []), databases: [[{ reason: 'Answering' }, 4]] };
  const stop = metrics.countRecords(() => census);
  const unlabelled = [
    'davit_databases_unprotected 0',
    'davit_databases_retained 0',
    'davit_databases_retained_bytes 0',
  ];
  const tenants = ['davit_tenants{ready="True"} 0', 'davit_tenants{ready="False"} 0'];
  expect(await values(metrics, ofRecords)).toEqual([
    'davit_databases{reason="Answering"} 4',
    ...unlabelled,
    ...tenants,
  ]);
  census = censusOf([], []);
  expect(await values(metrics, ofRecords)).toEqual([...unlabelled, ...tenants]);
  const stopNext = metrics.countRecords(() => census);
  stop();
  expect(await values(metrics, ofRecords)).toHaveLength(5);
  stopNext();
  expect(await values(metrics, ofRecords)).toEqual([]);
});

it('the names follow the conventions of Prometheus: counters end in _total, times and durations in _seconds', () => {
  const all = makeAllMetrics().registry.getMetricsAsArray() as unknown as {
    name: string;
    type: string;
    help: string;
  }[];
  expect(all.length).toBeGreaterThan(20);
  const wrong = all.filter(({ name, type }) => {
    const isRight = { counter: /_total$/, histogram: /_seconds$/, gauge: /^(?!.*_total$)/ }[type] ?? /^$/;
    return !isRight.test(name) || !/^davit_[a-z_]+$/.test(name);
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
  expect(all.filter(({ help }) => help.length < 10)).toEqual([]);
});
