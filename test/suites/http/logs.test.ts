// /v1/projects/{id}/deploy_logs over an in-memory API server.

import { beforeEach, describe, expect, it } from 'vitest';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_LOGS, type AppLog } from '../../../src/kinds/app-log.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { DeployLogs, type LogLine } from '../../../src/logs/payloads.ts';
import { listPods, podIdsIn, podsOf } from '../../../src/logs/pods.ts';
import { Forbidden, Invalid, NotFound } from '../../../src/runtime/errors.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let id: string;
const reads: { path: string; token: string | undefined }[] = [];

beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  reads.splice(0);
  facade.kube.failOn(({ verb, ref, token }) => void (verb === 'text' && reads.push({ path: ref.name, token })));
});

const revision = (n: number): string => serialRevisionId(id, n);
const call = (body?: unknown, rest = ''): Promise<Answer> =>
  facade.call('POST', `/v1/projects/${id}${rest}/deploy_logs`, body);
const messages = ({ body }: Answer): string => body.logs.map(({ message }: LogLine) => message).join(' ');

function pod(
  name: string,
  text: string | undefined,
  more: { uid?: string; component?: string; n?: number; restarts?: number; states?: object } = {},
): void {
  const { uid = id, component = 'server', n = 1, restarts = 0, states } = more;
  facade.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: TENANT.namespace,
      labels: {
        'davit.dev/deployment': 'shop',
        'davit.dev/deployment-uid': uid,
        'davit.dev/component': component,
        'davit.dev/revision': revision(n),
      },
    },
    status: {
      initContainerStatuses: [{ name: 'wait-for-database' }],
      containerStatuses: [
        { name: component, restartCount: restarts, ...states, ...(text !== undefined && { containerID: 'x' }) },
      ],
    },
  } as KubeObject);
  if (text !== undefined) facade.kube.texts.set(pathOf(name, component), text);
}
function pathOf(name: string, container: string, more = ''): string {
  return `/api/v1/namespaces/team-a/pods/${name}/log?container=${container}${more}`;
}
const at = (second: number, message: string, fraction = ''): string =>
  `2026-01-01T00:00:0${second}${fraction}Z ${message}\n`;

describe('the lines of all pods in one order', () => {
  beforeEach(() => {
    pod('shop-a', at(1, 'one') + at(3, 'three ERROR', '.1') + at(3, 'four', '.12'));
    pod('shop-b', at(2, 'two') + at(5, '{"level":50,"msg":"five"}'), { n: 2, component: 'queue' });
    pod('shop-db', at(1, 'of the database'), { component: 'postgres' });
    pod('shop-old', at(1, 'of an earlier record'), { uid: OTHER_TENANT.id });
    pod('shop-new', undefined);
  });

  it('each with its pod and container', async () => {
    const { body } = await call();
    expect(body.logs.map(({ pod: name, container }: LogLine) => `${name} ${container}`)).toEqual([
      'shop-b queue',
      'shop-a server',
      'shop-a server',
      'shop-b queue',
      'shop-a server',
    ]);
  });

  it.each<[string, object | undefined, string]>([
    ['newest first', undefined, '{"level":50,"msg":"five"} four three ERROR two one'],
    ['oldest first', { order: 'asc' }, 'one two three ERROR four {"level":50,"msg":"five"}'],
    ['so many', { order: 'asc', limit: 2 }, 'one two'],
    ['of a level', { level: 'error' }, '{"level":50,"msg":"five"} three ERROR'],
    ['with a text', { query: 'THREE' }, 'three ERROR'],
    ['of one part', { component: 'queue' }, '{"level":50,"msg":"five"} two'],
    ['of the database', { component: 'postgres' }, 'of the database'],
    ['the last of each container', { tail: 1 }, '{"level":50,"msg":"five"} four'],
    [
      'between two times',
      { start_time: '2026-01-01T01:00:02+01:00', end_time: '2026-01-01T00:00:03.1Z' },
      'three ERROR two',
    ],
    [
      'null for what is not asked',
      { limit: null, order: null, level: null, query: null, offset: null },
      '{"level":50,"msg":"five"} four three ERROR two one',
    ],
  ])('%s', async (_name, body, want) => {
    const answer = await call(body);
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    expect(messages(answer)).toBe(want);
    expect(DeployLogs.parse(answer.body)).toEqual(answer.body);
    expect(new Set(reads.map(({ token }) => token))).toEqual(new Set([TOKEN]));
    expect(facade.writes().filter(({ kind }) => kind === 'Pod')).toEqual([]);
  });

  it.each(['asc', 'desc'])('page by page, %s', async (order) => {
    const all = (await call({ order })).body.logs;
    const pages: LogLine[] = [];
    let offset: string | null = null;
    do {
      const { body }: Answer = await call({ order, limit: 2, offset });
      pages.push(...body.logs);
      offset = body.next_offset;
    } while (offset !== null);
    expect(pages).toEqual(all);
    expect(new Set(all.map((line: LogLine) => line.id)).size).toBe(5);
  });

  it('of one revision', async () => {
    facade.snapshot();
    await facade.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri: 'a:2' } });
    expect(messages(await call({}, `/revisions/${revision(2).toUpperCase()}`))).toBe('{"level":50,"msg":"five"} two');
    expect((await call({}, `/revisions/${revision(3)}`)).body).toEqual({
      detail: `Revision ID ${revision(3)} not found.`,
    });
  });

  it('of one revision that shares the pods of one part', async () => {
    const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
    const made = facade.snapshot();
    if (!record) throw new Error('no record');
    const resolved = { ...made.spec.resolved, podsOfParts: { server: revision(1) } };
    const second: AppRevision = { ...made, spec: { ...made.spec, id: revision(2), resolved } };
    pod('shop-c', undefined, { n: 2 });
    pod('shop-d', undefined, { component: 'queue' });
    const read = async (id?: string): Promise<string[]> => {
      const pods = podsOf(record, podIdsIn([second, made], id));
      const found = await listPods(facade.kube, pods, AbortSignal.timeout(9000));
      return found.map(({ metadata }) => metadata.name).toSorted();
    };
    expect(await read(revision(2).toUpperCase())).toEqual(['shop-a', 'shop-b', 'shop-new']);
    expect(await read(revision(1))).toEqual(['shop-a', 'shop-d', 'shop-new']);
    expect(await read()).toEqual(['shop-a', 'shop-b', 'shop-c', 'shop-d', 'shop-new']);
  });
});

it("contains the log before a container's restart", async () => {
  pod('shop-a', at(2, 'again'), { restarts: 1 });
  facade.kube.texts.set(pathOf('shop-a', 'server', '&previous=true'), at(1, 'and died'));
  expect(messages(await call())).toBe('again and died');
  expect(messages(await call({ previous: true }))).toBe('and died');
});

it('has the lines of the container of a part alone, where the part is named', async () => {
  pod('shop-a', at(1, 'calm'));
  const [made] = facade.kube.objects<KubeObject & { status: { containerStatuses: object[] } }>(PODS);
  made?.status.containerStatuses.push({ name: 'proxy', containerID: 'x' });
  facade.kube.seed(PODS, made as KubeObject);
  facade.kube.texts.set(pathOf('shop-a', 'proxy'), at(2, 'noise'));
  expect(messages(await call())).toBe('noise calm');
  expect(messages(await call({ component: 'server' }))).toBe('calm');
});

it('has no escape sequences of terminals, unless they are asked for', async () => {
  pod('shop-a', at(1, '\u001B[31mERROR\u001B[0m red'));
  const read = async (body: object): Promise<unknown> => {
    const [line] = (await call(body)).body.logs;
    return [line.message, line.level];
  };
  expect(await read({})).toEqual(['ERROR red', 'ERROR']);
  expect(await read({ escapes: true })).toEqual(['\u001B[31mERROR\u001B[0m red', 'ERROR']);
});

it('of a part that the deployment does not have is 404', async () => {
  const { status, body } = await call({ component: 'beta' });
  expect([status, body.detail]).toEqual([404, '"beta" is not a part of shop. It has server, postgres, redis.']);
});

it('contains the log of a container that waits to be restarted once, for which the node gives it twice', async () => {
  const states = { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 1 } } };
  pod('shop-a', at(1, 'and died'), { restarts: 4, states });
  facade.kube.texts.set(pathOf('shop-a', 'server', '&previous=true'), at(1, 'and died'));
  expect(messages(await call())).toBe('and died');
});

it('an empty page is valid', async () => {
  expect((await call()).body).toEqual({ logs: [], next_offset: null, position: 'v1', truncated: false });
});

it.each([
  ['gone meanwhile', new NotFound('x')],
  ['not started yet', new Invalid('x')],
])('a pod that is %s has no lines', async (_name, error) => {
  pod('shop-a', at(1, 'a'));
  pod('shop-b', at(2, 'b'));
  facade.kube.failOn(({ verb, ref }) => (verb === 'text' && ref.name.includes('shop-a') ? error : undefined));
  expect(messages(await call())).toBe('b');
});

it.each(['list', 'text'])("a caller who may not %s gets the API server's message", async (what) => {
  pod('shop-a', at(1, 'a'));
  facade.kube.failOn(({ verb }) =>
    verb === what ? new Forbidden('x', { serverMessage: 'User "u" cannot' }) : undefined,
  );
  const { status, body } = await call();
  expect([status, body]).toEqual([403, { detail: 'User "u" cannot' }]);
});

it('a caller without a right to logs is told which role has it', async () => {
  pod('shop-a', at(1, 'a'));
  facade.kube.failOn(({ verb }) =>
    verb === 'list' ? new Forbidden('x', { serverMessage: 'pods is forbidden' }) : undefined,
  );
  facade.kube.allow(({ subresource }) => subresource !== 'log');
  const { status, body } = await call();
  expect([status, body.detail]).toEqual([403, expect.stringContaining('which the role davit-editor has')]);
});

const LABEL = 'must be lower-case letters, digits and -, beginning and ending with a letter or digit';
it.each<[string, unknown, string, string]>([
  ['a list', [], 'body', 'must be an object'],
  ['limit 0', { limit: 0 }, 'body.limit', 'must be at least 1'],
  ['a large limit', { limit: 1001 }, 'body.limit', 'must be at most 1000'],
  ['an order that is none', { order: 'up' }, 'body.order', 'must be one of asc, desc'],
  ['a level that is none', { level: 'loud' }, 'body.level', 'must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL'],
  [
    'a time that is none',
    { start_time: 'yesterday' },
    'body.start_time',
    'must be a time such as 2026-01-01T00:00:00Z',
  ],
  ['no last line', { tail: 0 }, 'body.tail', 'must be at least 1'],
  ['a part that none can be', { component: 'a=b' }, 'body.component', LABEL],
  ['a task that none can be', { task: 'a=b' }, 'body.task', LABEL],
  ['an offset that nobody gave', { offset: 'x' }, 'body.offset', 'must be the next_offset of an earlier answer'],
])('refuses %s', async (_name, body, where, msg) => {
  const answer = await call(body);
  expect([
    answer.status,
    answer.body.detail.map((one: { loc: string[]; msg: string }) => [one.loc.join('.'), one.msg]),
  ]).toEqual([422, [[where, msg]]]);
  expect(reads).toEqual([]);
});

describe('what is kept of pods that are gone', () => {
  function keep(name: string, text: string, task?: string): void {
    const component = task === undefined ? 'server' : 'task';
    facade.kube.seed(APP_LOGS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppLog',
      metadata: {
        name,
        namespace: TENANT.namespace,
        labels: {
          'davit.dev/deployment': 'shop',
          'davit.dev/deployment-uid': id,
          'davit.dev/revision': revision(1),
          ...(task !== undefined && { 'davit.dev/task': task }),
        },
      },
      spec: {
        deploymentName: 'shop',
        revisionId: revision(1),
        ...(task !== undefined && { task }),
        containers: [{ pod: `${name}-pod`, component, container: component, exitCode: 1, log: text }],
      },
    } as AppLog);
  }
  beforeEach(() => {
    facade.snapshot();
    pod('shop-a', at(3, 'alive'));
    keep('shop-1', at(1, 'one ERROR') + at(2, 'bye'));
    keep('shop--clean-1', at(1, 'cleaning'), 'clean');
    keep('shop--mail-1', at(1, 'mailing'), 'mail');
  });

  it('is in the logs of its revision, in the order of time', async () => {
    const { body } = await call({ order: 'asc' }, `/revisions/${revision(1)}`);
    expect(body.logs.map(({ pod: by, message, level }: LogLine) => [by, level, message])).toEqual([
      ['shop-1-pod', 'ERROR', 'one ERROR'],
      ['shop-1-pod', null, 'bye'],
      ['shop-a', null, 'alive'],
    ]);
    expect(messages(await call())).toBe('alive');
  });

  it('is in the logs of its task, with those of runs that are there', async () => {
    facade.kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'shop--clean-2-pod',
        namespace: TENANT.namespace,
        labels: {
          'davit.dev/deployment': 'shop',
          'davit.dev/deployment-uid': id,
          'davit.dev/component': 'task',
          'davit.dev/task': 'clean',
        },
      },
      status: { containerStatuses: [{ name: 'davit-task', containerID: 'x' }] },
    } as KubeObject);
    facade.kube.texts.set(pathOf('shop--clean-2-pod', 'davit-task'), at(4, 'cleaner'));
    expect(messages(await call({ task: 'clean' }))).toBe('cleaner cleaning');
    expect(messages(await call({ task: 'mail' }, `/revisions/${revision(1)}`))).toBe('mailing');
  });

  it('is in the log of its run alone', async () => {
    expect(messages(await call({ run: 'shop--clean-1' }))).toBe('cleaning');
    expect(messages(await call({ task: 'clean', run: 'shop--clean-1' }))).toBe('cleaning');
    expect(messages(await call({ run: 'shop--clean-2' }))).toBe('');
  });

  it('is read where the pod goes after it was listed, and not where it is there', async () => {
    pod('shop-1-pod', at(2, 'bye'));
    const read = async (): Promise<string> => messages(await call({ order: 'asc' }, `/revisions/${revision(1)}`));
    expect(await read()).toBe('bye alive');
    facade.kube.texts.delete(pathOf('shop-1-pod', 'server'));
    expect(await read()).toBe('one ERROR bye alive');
  });

  it('is read with the right of the caller, and is left out without it', async () => {
    facade.kube.failOn(({ kind }) => (kind === 'AppLog' ? new Forbidden('no') : undefined));
    expect(messages(await call({}, `/revisions/${revision(1)}`))).toBe('alive');
  });
});

it('of a deployment of another tenant is 404', async () => {
  const foreign = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } });
  id = foreign.metadata.uid ?? '';
  expect((await call()).body).toEqual({ detail: `Deployment ID ${id} not found.` });
});

describe('a GET', () => {
  const get = (path: string): Promise<Answer> => facade.call('GET', path);
  const of = (n: number, query: string): string => `/v2/deployments/${id}/revisions/${revision(n)}/logs?${query}`;
  beforeEach(() => {
    pod('a', '2026-01-01T00:00:01Z INFO one\n2026-01-01T00:00:02Z ERROR two\n');
    pod('b', '2026-01-01T00:00:03Z INFO three\n', { n: 2 });
  });

  it.each([
    ['', 'INFO one ERROR two'],
    ['&order=desc', 'ERROR two INFO one'],
    ['&limit=1', 'INFO one'],
    ['&level=error', 'ERROR two'],
    ['&query=ONE', 'INFO one'],
    ['&start_time=2026-01-01T00:00:02Z', 'ERROR two'],
  ])('reads a revision%s', async (query, text) => {
    expect(messages(await get(of(1, `type=deploy${query}`)))).toBe(text);
  });

  it('reads a deployment by cursors', async () => {
    const pages: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const more: string = cursor && `&cursor=${encodeURIComponent(cursor)}`;
      const { body }: Answer = await get(`/v2/deployment-logs?deployment_id=${id}&page_size=2${more}`);
      pages.push(body.items.map(({ message }: LogLine) => message).join(' '));
      cursor = body.next_cursor;
    }
    expect(pages).toEqual(['INFO one ERROR two', 'INFO three']);
    const ofOne = `/v2/deployment-logs?deployment_id=${id}&revision_id=${revision(1)}&sort_order=desc`;
    expect((await get(ofOne)).body.items).toHaveLength(2);
  });

  it.each([
    ['type=both', 'query.type', 'enum'],
    ['type=deploy&run_id=x', 'query.run_id', 'extra_forbidden'],
    ['type=deploy&limit=0', 'query.limit', 'greater_than_equal'],
    ['type=deploy&limit=1&limit=2', 'query.limit', 'value_error'],
  ])('refuses %s', async (query, where, type) => {
    const { status, body } = await get(of(1, query));
    expect([status, body.detail.map((one: { loc: string[]; type: string }) => [one.loc.join('.'), one.type])]).toEqual([
      422,
      [[where, type]],
    ]);
  });

  it('has no build of an image, and no revision that there is not', async () => {
    expect((await get(of(1, 'type=build'))).body.logs).toEqual([]);
    expect((await get(`/v2/deployment-logs?deployment_id=${id}&log_type=BUILD`)).body.items).toEqual([]);
    expect((await get(of(7, 'type=deploy'))).status).toBe(404);
  });
});
