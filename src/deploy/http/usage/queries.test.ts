import { describe, expect, it } from 'vitest';
import { MEASURES, podsOfParts, queriesFor, seriesIn, stepsOf, WINDOWS, type Window } from './queries.ts';

const PARTS = ['server', 'queue', 'jobs', 'postgres', 'redis'];
const pods = podsOfParts('shop', PARTS);
const steps = stepsOf('1h', 1_800_000_007);

describe('the steps', () => {
  it.each(Object.keys(WINDOWS) as Window[])('of %s are 240, on multiples of one step, and end now', (window) => {
    const { start, end, step } = stepsOf(window, 1_800_000_007);
    expect([(end - start) / step + 1, start % step, end % step]).toEqual([240, 0, 0]);
    expect(1_800_000_007 - end).toBeLessThan(step);
  });
});

describe('the pods of a part', () => {
  const partOf = (pod: string, of = pods): string | undefined =>
    [...of].find(([, expression]) => new RegExp(`^(?:${expression})$`).test(pod))?.[0];

  it.each([
    ['shop-5f4d7c9b8-x2x7k', 'server'],
    ['shop-0', 'server'],
    ['shop--queue-5f4d7c9b8-x2x7k', 'queue'],
    ['shop--jobs-0', 'jobs'],
    ['shop--postgres-0', 'postgres'],
    ['shop---pg12-3', 'postgres'],
    ['shop--redis-0', 'redis'],
  ])('%s is one of %s', (pod, part) => {
    expect(partOf(pod)).toBe(part);
  });

  it.each([
    'shop-front-5f4d7c9b8-x2x7k',
    'shop-front-0',
    'workshop-5f4d7c9b8-x2x7k',
    'shop--postgres-1-initdb-x2x7k',
    'shop--run-r4nd0m-x2x7k',
    'shop--migrate-7f9a2a3e-x2x7k',
    'shop---backup-29455222-x2x7k',
    'shop',
    'shop-a-b-c',
  ])('%s is none', (pod) => {
    expect(partOf(pod)).toBeUndefined();
  });

  it('with a long name lack a part of the hash, and the hyphen', () => {
    const worker = 'w'.repeat(44);
    expect(partOf(`shop--${worker}-5f4d7cx2x7k`, podsOfParts('shop', [worker]))).toBe(worker);
  });
});

it('a query names one namespace and the pods of one deployment, and gives series by part', () => {
  const { cpu, memory_mb, ready, restarts } = queriesFor('team-a', podsOfParts('shop', ['redis']), '6h');
  const own = 'namespace="team-a",pod=~"shop--redis-[0-9]{1,4}"';
  const part = ',"part","redis","pod","shop--redis-[0-9]{1,4}"))';
  const containers = `${own},container!="",container!="POD"`;
  expect(cpu).toBe(
    `sum by (namespace,part) (label_replace(max by (namespace,pod,container) (rate(container_cpu_usage_seconds_total{${containers}}[5m]))${part}`,
  );
  expect(memory_mb).toBe(
    `max by (namespace,part) (label_replace(sum by (namespace,pod) (max by (namespace,pod,container) (max_over_time(container_memory_working_set_bytes{${containers}}[90s])))${part}`,
  );
  expect(ready).toBe(
    `sum by (namespace,part) (label_replace(max by (namespace,pod) (kube_pod_status_ready{${own},condition="true"})${part}`,
  );
  expect(restarts).toBe(
    `sum by (namespace,part) (label_replace(max by (namespace,pod,container) (kube_pod_container_status_restarts_total{${own}})${part}`,
  );
});

it('no name leaves its quotes: selectors of every query are those of the namespace and of the pods', () => {
  const hostile = 'a"} or vector(1) or x{namespace="team-b",y=~".*\\"';
  for (const query of Object.values(queriesFor(hostile, podsOfParts(hostile, ['server', hostile]), '1h'))) {
    const outside = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    expect(outside).not.toMatch(/vector|team-b|\.\*/);
    expect(outside.match(/namespace=""/g)?.length).toBe(outside.match(/\{/g)?.length);
  }
  const [expression = ''] = podsOfParts('a.*', ['server']).values();
  expect([new RegExp(`^${expression}$`).test('a.*-0'), new RegExp(`^${expression}$`).test('abc-0')]).toEqual([
    true,
    false,
  ]);
});

describe('an answer', () => {
  const asked = { namespace: 'team-a', pods, steps };
  const series = (metric: object, values: unknown): object => ({ metric, values });
  const body = (result: unknown, more: object = {}): string =>
    JSON.stringify({ status: 'success', data: { resultType: 'matrix', result }, ...more });
  const own = { namespace: 'team-a', part: 'server' };
  const good = series(own, [
    [steps.start, '0.41231'],
    [steps.end, '1e0'],
  ]);
  const read = (first: string): unknown => seriesIn([first, body([]), body([]), body([])], asked);

  it('gives points of each part', () => {
    const memory = body([series({ ...own, part: 'redis' }, [[steps.end, '23068672']])]);
    const found = seriesIn([body([good], { warnings: ['x'] }), memory, body([]), body([])], asked);
    expect(found.get('server')?.cpu).toEqual([
      [steps.start, 0.412],
      [steps.end, 1],
    ]);
    expect(found.get('redis')?.memory_mb).toEqual([[steps.end, 22]]);
    expect([...found.keys()]).toEqual(PARTS);
    expect(MEASURES.map((measure) => found.get('queue')?.[measure])).toEqual([[], [], [], []]);
  });

  it('without any measurement is none', () => {
    expect(() => read(body([]))).toThrow('Prometheus has no measurement of these pods');
  });

  const at = (value: unknown, time: unknown = steps.end): string => body([series(own, [[time, value]])]);
  it.each([
    ['HTML', '<html>', 'an answer that is not valid'],
    ['nothing', '', 'an answer that is not valid'],
    ['an error', '{"status":"error","error":"bad"}', 'an answer that is not valid'],
    ['a vector', body([], { data: { resultType: 'vector', result: [] } }), 'an answer that is not valid'],
    ['null', 'null', 'an answer that is not valid'],
    ['a number as a value', at(1), 'an answer that is not valid'],
    [
      'more points than asked for',
      body([
        series(
          own,
          Array.from({ length: 241 }, () => [steps.end, '1']),
        ),
      ]),
      'not valid',
    ],
    ['NaN', at('NaN'), 'is not valid'],
    ['infinity', at('+Inf'), 'is not valid'],
    ['a negative value', at('-1'), 'is not valid'],
    ['a huge value', at('1e300'), 'is not valid'],
    ['a word', at('many'), 'is not valid'],
    ['a time before the window', at('1', steps.start - steps.step), 'is not valid'],
    ['a time of the future', at('1', steps.end + steps.step), 'is not valid'],
    ['a time between steps', at('1', steps.end - 1), 'is not valid'],
    [
      'another namespace',
      body([good, series({ ...own, namespace: 'team-b', part: 'redis' }, [])]),
      'measurements of other pods',
    ],
    ['no namespace', body([series({ part: 'server' }, [])]), 'measurements of other pods'],
    ['a part that there is not', body([series({ ...own, part: 'secret' }, [])]), 'measurements of other pods'],
    ['a part twice', body([good, good]), 'measurements of other pods'],
    ['single pods', body([series({ ...own, pod: 'shop-0' }, [])]), 'measurements of other pods'],
    [
      '__proto__ as a part',
      body([series({ namespace: 'team-a', part: '__proto__' }, [])]),
      'measurements of other pods',
    ],
  ])('with %s is not believed', (_what, text, sentence) => {
    expect(() => read(text)).toThrow(sentence);
  });
});
