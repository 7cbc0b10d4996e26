// Logs that are read on: `position` says how far each container was read, and the next answer has what was written since.

import { beforeEach, describe, expect, it } from 'vitest';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { APP_LOGS, type AppLog } from '../../../src/kinds/app-log.ts';
import { DeployLogs } from '../../../src/logs/payloads.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';
import { type GrowingLogs, growLogs } from './growing-logs.ts';

let facade: Facade;
let id: string;
let logs: GrowingLogs;
let rest: string;
let position: string | undefined;

beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  logs = growLogs(facade);
  rest = '';
  position = undefined;
});

const ask = (body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  facade.call('POST', `/v1/projects/${id}${rest}/deploy_logs`, body, headers);
/** The messages of the next answer, oldest first. */
async function read(body: object = {}): Promise<string> {
  const answer = await ask({ ...body, ...(position !== undefined && { position }) });
  if (answer.status !== 200) return `${answer.status}`;
  expect(DeployLogs.parse(answer.body)).toEqual(answer.body);
  const lines: string[] = answer.body.logs.map(({ message }: { message: string }) => message);
  const isFirst = position === undefined;
  position = answer.body.position;
  return (isFirst ? lines.toReversed() : lines).join(' ');
}

it('is first of the newest lines, then of what was written since, oldest first', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  a.write(1, 'one');
  b.write(2, 'two');
  a.write(3, 'three', '.5');
  expect(await read({ limit: 2 })).toBe('two three');
  expect(await read()).toBe('');
  b.write(5, 'five');
  a.write(4, 'four');
  expect(await read()).toBe('four five');
  expect(await read()).toBe('');
  // With the caller's own token, one read of each container, from the second of its last line on.
  expect(new Set(logs.reads.map(({ token }) => token))).toEqual(new Set([TOKEN]));
  expect(
    logs.reads
      .slice(-2)
      .map(({ path }) => path.replace(/.*\/pods\//, ''))
      .toSorted(),
  ).toEqual([
    expect.stringMatching(/^shop-a\/log\?.*&sinceTime=2026-01-01T00%3A00%3A04Z$/),
    expect.stringMatching(/^shop-b\/log\?.*&sinceTime=2026-01-01T00%3A00%3A05Z$/),
  ]);
});

it('says nothing twice, and leaves nothing out that is older than what another container has written', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  a.write(1, 'a1');
  a.write(1, 'a1-again');
  b.write(1, 'b1');
  expect(await read()).toBe('a1 a1-again b1');
  a.write(2, 'a2');
  expect(await read()).toBe('a2');
  // By time alone it would be lost.
  b.write(1, 'b-late', '.7');
  a.write(2, 'a2-again');
  logs.start(id, 'shop-c').write(2, 'c-new', '.1');
  expect(await read()).toBe('b-late a2-again c-new');
});

it('begins with the last lines of each container, also where they do not fit on the first page', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  for (let n = 0; n < 5; n += 1) a.write(n, `a${n}`);
  for (let n = 0; n < 5; n += 1) b.write(n + 4, `b${n}`, '.5');
  const page = async (body: object): Promise<string> => {
    const answer = await ask({ limit: 2, ...body, ...(position !== undefined && { position }) });
    ({ position } = answer.body);
    return answer.body.logs.map(({ message }: { message: string }) => message).join(' ');
  };
  expect(await page({ order: 'asc', tail: 3 })).toBe('a2 a3');
  expect(await page({ tail: 3 })).toBe('a4 b2');
  expect(await page({ tail: 3 })).toBe('b3 b4');
  expect(await page({})).toBe('');
});

it('of more lines than fit is read on at once, in order', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  expect(await read()).toBe('');
  for (let n = 0; n < 10; n += 1) (n % 3 === 0 ? b : a).write(n, `${n}`);
  const answer = await ask({ position, limit: 4 });
  expect(answer.body.next_offset).not.toBeNull();
  expect(await read({ limit: 4 })).toBe('0 1 2 3');
  expect(await read({ limit: 4 })).toBe('4 5 6 7');
  expect(await read({ limit: 4 })).toBe('8 9');
  expect((await ask({ position })).body.next_offset).toBeNull();
});

it('goes on after a second of which the API server gives a part', async () => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  expect(await read()).toBe('one');
  for (let n = 0; n < 5000; n += 1) a.write(5, 'x'.repeat(1000));
  a.write(9, 'after');
  const seen: string[] = [];
  for (let n = 0; n < 7; n += 1) seen.push(...(await read({ limit: 1000 })).split(' '));
  expect([seen.length > 4000, seen.at(-1)]).toEqual([true, 'after']);
});

describe('a container', () => {
  it('that ended is read once more, and no more', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    expect(await read()).toBe('one');
    a.write(2, 'last-words');
    a.end();
    expect(await read()).toBe('last-words');
    const { length } = logs.reads;
    expect([await read(), logs.reads.length]).toEqual(['', length]);
  });

  it('that ended without a line is not read again either', async () => {
    logs.start(id, 'shop-a').end();
    await read();
    const { length } = logs.reads;
    expect([await read(), logs.reads.length]).toEqual(['', length]);
  });

  it('that was restarted is read before and after, and what it wrote before only once', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    expect(await read()).toBe('one');
    a.write(2, 'unseen');
    a.restart();
    a.write(3, 'again');
    expect(await read()).toBe('unseen again');
    logs.reads.splice(0);
    a.write(4, 'more');
    expect(await read()).toBe('more');
    expect(logs.reads).toHaveLength(1);
  });

  it('that waits to be restarted is read once, and after it has started', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    expect(await read()).toBe('one');
    a.write(2, 'crash');
    a.wait();
    expect(await read()).toBe('crash');
    const { length } = logs.reads;
    expect([await read(), logs.reads.length]).toEqual(['', length]);
    a.restart();
    a.write(3, 'again');
    expect(await read()).toBe('again');
  });

  it('whose lines did not fit is not done with', async () => {
    const a = logs.start(id, 'shop-a');
    expect(await read()).toBe('');
    for (const n of [1, 2, 3]) a.write(n, `${n}`);
    a.end();
    expect(await read({ limit: 2 })).toBe('1 2');
    expect(await read({ limit: 2 })).toBe('3');
  });

  it('whose node does not answer keeps its position', async () => {
    const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
    a.write(1, 'a1');
    b.write(1, 'b1');
    expect(await read()).toBe('a1 b1');
    a.write(2, 'a2');
    b.write(3, 'b3');
    logs.onRead = (path) => {
      if (path.includes('shop-a')) throw new Unavailable('no route to host');
    };
    expect(await read()).toBe('b3');
    logs.onRead = () => undefined;
    expect(await read()).toBe('a2');
  });

  it('whose pod is gone leaves the position', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    await read();
    const { length } = position ?? '';
    a.remove();
    expect(await read()).toBe('');
    expect((position ?? '').length).toBeLessThan(length);
  });
});

it.each<[string, object, string]>([
  ['of a level', { level: 'ERROR' }, 'ERROR:later'],
  ['with a text', { query: 'LATER' }, 'ERROR:later later'],
])('only lines %s', async (_name, query, wanted) => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  await read(query);
  a.write(3, 'ERROR:later');
  a.write(4, 'later');
  a.write(5, 'two');
  expect(await read(query)).toBe(wanted);
  expect(await read(query)).toBe('');
});

it('from a time on', async () => {
  const a = logs.start(id, 'shop-a');
  for (let n = 0; n < 200; n += 1) a.write(n, `line-${n}`);
  const query = { start_time: '2026-01-01T01:01:40+01:00' };
  expect(await read({ ...query, order: 'asc', limit: 1000 })).toMatch(/^line-199 .* line-100$/);
  a.write(200, 'line-200');
  expect(await read(query)).toBe('line-200');
});

it('of one revision, with the last lines of pods that are gone', async () => {
  facade.snapshot();
  const revision = serialRevisionId(id, 1);
  const labels = {
    'davit.dev/deployment': 'shop',
    'davit.dev/deployment-uid': id,
    'davit.dev/component': 'server',
    'davit.dev/revision': revision,
  };
  logs.start(id, 'shop-old').write(1, 'old');
  const a = logs.start(id, 'shop-a', { labels });
  a.write(2, 'of-the-revision');
  rest = `/revisions/${revision.toUpperCase()}`;
  expect(await read()).toBe('of-the-revision');
  const log = '2026-01-01T00:00:02Z of-the-revision\n2026-01-01T00:00:03Z last-words\n';
  facade.kube.seed<AppLog>(APP_LOGS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppLog',
    metadata: { name: 'kept', namespace: TENANT.namespace, labels },
    spec: {
      deploymentName: 'shop',
      containers: [{ pod: 'shop-a', component: 'server', container: 'server', exitCode: 1, log }],
    },
  });
  a.remove();
  expect(await read()).toBe('last-words');
  expect(await read()).toBe('');
  rest = `/revisions/${id}`;
  expect((await ask()).status).toBe(404);
});

it('of pages after the first there is no position, nor of those that end at a time', async () => {
  const a = logs.start(id, 'shop-a');
  for (const n of [1, 2, 3]) a.write(n, `${n}`);
  const first = await ask({ limit: 1 });
  const next = await ask({ limit: 1, offset: first.body.next_offset });
  const past = await ask({ end_time: '2026-01-01T00:00:02Z' });
  expect([typeof first.body.position, next.body.position, past.body.position]).toEqual(['string', null, null]);
});

it.each<[object, string]>([
  [{ position: 'made up' }, 'position'],
  [{ position: 'v1~' }, 'position'],
  [{ position: 'v1', order: 'desc' }, 'order'],
  [{ position: 'v1', offset: 'MjAyNi0' }, 'offset'],
  [{ position: 'v1', end_time: '2026-01-01T00:00:00Z' }, 'end_time'],
])('%j is refused: 422', async (body, field) => {
  const { status, body: answer } = await ask(body);
  expect([status, answer.detail[0].loc]).toEqual([422, ['body', field]]);
  expect(logs.reads).toEqual([]);
});

it('needs the right to logs at each read', async () => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  expect(await read()).toBe('one');
  expect((await ask({ position }, { 'x-tenant-id': OTHER_TENANT.id })).status).toBe(404);
  facade.kube.allow(() => false);
  facade.clock.ms += 60_000;
  a.write(2, 'secret');
  expect(await read()).toBe('403');
});
