// GET /v2/deployments/{id}/usage over an in-memory API server, and over a Prometheus that answers, hangs, refuses and lies.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PartUsage, Usage } from '../../../src/deploy/http/usage/payloads.ts';
import { DATASTORE_OPERATIONS } from '../../../src/kinds/datastore-operation.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Forbidden, NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import { POD_METRICS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z') / 1000;
let facade: Facade;
let id: string;
async function begin(prometheus?: string): Promise<void> {
  const { http } = defaultSettings();
  facade = await makeFacade({ http: { ...http, ...(prometheus !== undefined && { prometheus }) } });
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  facade.snapshot({ state: 'DEPLOYED', message: 'It serves.' });
}
async function ask(query = ''): Promise<Usage> {
  const { status, body } = await facade.call('GET', `/v2/deployments/${id}/usage${query}`);
  expect(status).toBe(200);
  expect(Usage.parse(body)).toEqual(body);
  return body;
}
const partOf = ({ parts }: Usage, name: string): PartUsage | undefined => parts.find(({ part }) => part === name);

const iso = (secondsAgo: number): string => new Date((NOW - secondsAgo) * 1000).toISOString().replace('.000Z', 'Z');
const labels = (component: string): object => ({
  'davit.dev/deployment': 'shop',
  'davit.dev/deployment-uid': id,
  'davit.dev/component': component,
});
const resources = { requests: { cpu: '250m', memory: '256Mi' }, limits: { cpu: '500m', memory: '512Mi' } };
function pod(name: string, component: string, containerStatuses: readonly object[] = []): void {
  facade.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: TENANT.namespace, labels: labels(component) },
    spec: { containers: [{ name: component, resources }] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], containerStatuses },
  } as KubeObject);
}
function metrics(name: string, component: string, cpu: string, memory: string): void {
  facade.kube.seed(POD_METRICS, {
    apiVersion: 'metrics.k8s.io/v1',
    kind: 'PodMetrics',
    metadata: { name, namespace: TENANT.namespace, labels: labels(component) },
    containers: [{ name: component, usage: { cpu, memory } }],
  } as KubeObject);
}

describe('without a Prometheus', () => {
  beforeEach(() => begin());

  it('are the CPU of all pods and the memory of the fullest of each part, sampled whenever somebody looks, every 15 s at most', async () => {
    pod('shop-a', 'server');
    pod('shop-b', 'server');
    pod('shop--redis-0', 'redis');
    metrics('shop-a', 'server', '100m', '100Mi');
    metrics('shop-b', 'server', '300m', '300Mi');
    metrics('shop--redis-0', 'redis', '10m', '22Mi');
    await ask();
    facade.clock.ms += 5000;
    await ask();
    metrics('shop-a', 'server', '400m', '50Mi');
    facade.clock.ms += 15_000;
    const usage = await ask();
    expect(usage).toMatchObject({ source: 'metrics-server', missing: null, step_seconds: 15, since: iso(0) });
    expect(partOf(usage, 'server')).toEqual({
      part: 'server',
      wanted: 1,
      now: { pods: 2, ready: 2, restarts: 0 },
      request: { cpu: 0.25, memory_mb: 256 },
      limit: { cpu: 0.5, memory_mb: 512 },
      cpu: [
        [NOW, 0.4],
        [NOW + 15, 0.7],
      ],
      memory_mb: [
        [NOW, 300],
        [NOW + 15, 300],
      ],
      ready: [
        [NOW, 2],
        [NOW + 15, 2],
      ],
      restarts: [
        [NOW, 0],
        [NOW + 15, 0],
      ],
    });
    expect(partOf(usage, 'redis')).toMatchObject({
      wanted: 1,
      cpu: [
        [NOW, 0.01],
        [NOW + 15, 0.01],
      ],
    });
    expect(usage.parts.map(({ part }) => part)).toEqual(['server', 'postgres', 'redis']);
  });

  it('lists revisions, crashes of its pods and operations of the window', async () => {
    const terminated = (secondsAgo: number, exitCode: number, reason: string): object => ({
      lastState: { terminated: { exitCode, reason, finishedAt: iso(secondsAgo) } },
      restartCount: 2,
    });
    pod('shop-a', 'server', [{ name: 'server', ...terminated(600, 137, 'OOMKilled') }]);
    pod('shop-b', 'server', [
      { name: 'server', ...terminated(300, 1, 'Error') },
      { name: 'proxy', ...terminated(200, 0, 'Completed') },
    ]);
    pod('shop-c', 'server', [{ name: 'server', ...terminated(4000, 1, 'Error') }]);
    const operation = (name: string, deployment: string): void => {
      facade.kube.seed(DATASTORE_OPERATIONS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { name, namespace: TENANT.namespace },
        spec: { deployment, action: 'Backup' },
        status: { startedAt: iso(120), endedAt: iso(60) },
      } as KubeObject);
    };
    operation('mine', 'shop');
    const usage = await ask();
    expect(usage.crashes).toEqual([
      { at: iso(300), part: 'server', pod: 'shop-b', container: 'server', reason: 'Error', exit_code: 1 },
      { at: iso(600), part: 'server', pod: 'shop-a', container: 'server', reason: 'OOMKilled', exit_code: 137 },
    ]);
    expect(usage.revisions).toEqual([{ id: expect.any(String), at: iso(0) }]);
    expect(usage.operations).toEqual([{ name: 'mine', action: 'Backup', at: iso(120), ended_at: iso(60) }]);
    expect((await ask('?window=6h')).crashes).toHaveLength(3);
  });

  it.each([
    [
      'no metrics server',
      new NotFound('list'),
      /^The cluster has no measurements of pods. Ask .* install metrics-server/,
    ],
    ['one that does not answer', new Unavailable('list'), "The cluster's metrics server does not answer."],
    ['no right to it', new Forbidden('list'), /^You may not list pods of metrics.k8s.io in namespace team-a/],
  ])('with %s, says what is missing', async (_what, error, sentence) => {
    pod('shop-a', 'server');
    metrics('shop-a', 'server', '100m', '100Mi');
    await ask();
    facade.kube.failOn(({ kind }) => (kind === 'PodMetrics' ? error : undefined));
    const usage = await ask();
    expect(usage).toMatchObject({ source: null, since: null });
    expect(usage.missing).toMatch(sentence);
    expect(partOf(usage, 'server')).toMatchObject({ now: { pods: 1 }, cpu: [], memory_mb: [], ready: [] });
  });

  it('without the right to pods has neither how they are nor what others have read of that', async () => {
    pod('shop-a', 'server', [
      { name: 'server', restartCount: 1, lastState: { terminated: { exitCode: 1, finishedAt: iso(9) } } },
    ]);
    metrics('shop-a', 'server', '100m', '100Mi');
    await ask();
    facade.kube.failOn(({ kind, verb }) => (kind === 'Pod' && verb === 'list' ? new Forbidden('list') : undefined));
    const usage = await ask();
    expect(usage.crashes).toEqual([]);
    expect(partOf(usage, 'server')).toMatchObject({ now: null, cpu: [[NOW, 0.1]], ready: [], restarts: [] });
  });

  it('of a deployment on the cluster of a listener is nothing of this cluster', async () => {
    const record = facade.seed({
      metadata: { name: 'far' },
      spec: { sourceConfig: { listenerId: '99999999-0000-4000-8000-000000000009' } } as never,
    });
    id = record.metadata.uid ?? '';
    expect(await ask()).toMatchObject({ source: null, missing: expect.stringContaining('cluster of a listener') });
  });

  it('takes no other window', async () => {
    const { status, body } = await facade.call('GET', `/v2/deployments/${id}/usage?window=1y`);
    expect([status, body.detail[0].loc]).toEqual([422, ['query', 'window']]);
  });

  it('of another tenant is not found', async () => {
    const { uid } = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata;
    expect((await facade.call('GET', `/v2/deployments/${uid}/usage`)).status).toBe(404);
  });
});

describe('with a Prometheus', () => {
  type Handler = (request: IncomingMessage, response: ServerResponse, form: URLSearchParams) => void;
  let server: Server;
  let handler: Handler;
  let asked: URLSearchParams[];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on('end', () => {
        const form = new URLSearchParams(text);
        asked.push(form);
        handler(request, response, form);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  beforeEach(async () => {
    asked = [];
    await begin(`http://127.0.0.1:${(server.address() as AddressInfo).port}/prom`);
    pod('shop-a', 'server');
    metrics('shop-a', 'server', '100m', '100Mi');
  });
  afterEach(() => facade.app.close());

  const matrix = (result: readonly object[]): string =>
    JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } });
  /** By the metric that a query names. */
  const believable: Handler = (_request, response, form) => {
    const query = form.get('query') ?? '';
    const value = query.includes('cpu_usage') ? '0.41' : query.includes('memory') ? String(410 * 2 ** 20) : '2';
    const values = [[Number(form.get('end')), value]];
    response.end(matrix([{ metric: { namespace: TENANT.namespace, part: 'server' }, values }]));
  };

  it('has its measurements, of four queries whose times are those of the window', async () => {
    handler = believable;
    const usage = await ask('?window=24h');
    expect(usage).toMatchObject({ source: 'prometheus', missing: null, step_seconds: 360, end: iso(0), since: iso(0) });
    expect(partOf(usage, 'server')).toMatchObject({
      cpu: [[NOW, 0.41]],
      memory_mb: [[NOW, 410]],
      ready: [[NOW, 2]],
      restarts: [[NOW, 2]],
      limit: { cpu: 0.5, memory_mb: 512 },
    });
    expect(asked).toHaveLength(4);
    for (const form of asked)
      expect([form.get('start'), form.get('end'), form.get('step')]).toEqual([
        String(NOW - 86_400 + 360),
        String(NOW),
        '360',
      ]);
  });

  const answers =
    (text: string): Handler =>
    (_request, response) =>
      void response.end(text);
  it.each<[string, Handler, RegExp]>([
    [
      'refuses',
      (_request, response) => void response.writeHead(503).end('no'),
      /^Prometheus refused a query with status 503/,
    ],
    [
      'wants a password',
      (_request, response) => void response.writeHead(401).end(),
      /^Prometheus refused a query with status 401/,
    ],
    [
      'leads elsewhere',
      (_request, response) => void response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
      /too many redirects/,
    ],
    ['hangs up', (request) => void request.socket.destroy(), /^The Prometheus server cannot be reached/],
    ['sends HTML', answers('<html>sign in</html>'), /^Prometheus sent an answer that is not valid/],
    ['sends more than a megabyte', answers(' '.repeat(1024 * 1024 + 1)), /larger than 1048576 bytes/],
    ['has nothing', answers(matrix([])), /^Prometheus has no measurement of these pods/],
    [
      'lies',
      answers(matrix([{ metric: { namespace: 'team-a', part: 'server' }, values: [[NOW, '-7']] }])),
      /is not valid/,
    ],
  ])('that %s, has a sentence and what metrics-server says', async (_what, misbehave, sentence) => {
    handler = misbehave;
    const usage = await ask();
    expect(usage.source).toBe('metrics-server');
    expect(usage.missing).toMatch(sentence);
    expect(usage.missing).toMatch(/The last hour from metrics-server is shown\.$/);
    expect(partOf(usage, 'server')?.cpu).toEqual([[NOW, 0.1]]);
  });

  it('that hangs, is waited for 4 s, and is not fatal without metrics-server either', async () => {
    handler = () => undefined;
    facade.kube.failOn(({ kind }) => (kind === 'PodMetrics' ? new NotFound('list') : undefined));
    const usage = await ask();
    expect(usage.source).toBeNull();
    expect(usage.missing).toMatch(
      /^The Prometheus server did not answer in time\. The cluster has no measurements of pods\./,
    );
  });

  describe('attempts to learn of another namespace or deployment', () => {
    const secret = '0.777';
    /** As a Prometheus that has measurements of every namespace: it answers what a query selects. */
    const everything: Handler = (_request, response, form) => {
      const query = form.get('query') ?? '';
      const outside = query.replaceAll(/namespace="team-a"/g, '');
      const isForeign = /team-b|namespace=~|namespace!=|namespace=""|pod=~"\.|or vector/.test(outside);
      const metric = { namespace: isForeign ? 'team-b' : 'team-a', part: 'server' };
      response.end(matrix([{ metric, values: [[Number(form.get('end')), isForeign ? secret : '0.1']] }]));
    };
    const foreign =
      (metric: object): Handler =>
      (_request, response, form) =>
        void response.end(matrix([{ metric, values: [[Number(form.get('end')), secret]] }]));

    const usageOf = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
      facade.call('GET', path, undefined, headers);
    const own = (query: string): string => `/v2/deployments/${id}/usage${query}`;

    it.each<[string, Handler, () => Promise<Answer>]>([
      [
        'the id of a deployment of another tenant',
        everything,
        () => {
          const { uid } = facade.seed({ metadata: { name: 'shop', namespace: OTHER_TENANT.namespace } }).metadata;
          return usageOf(`/v2/deployments/${uid}/usage`);
        },
      ],
      ['a tenant of others in the header', everything, () => usageOf(own(''), { 'x-tenant-id': OTHER_TENANT.id })],
      ['a namespace as a parameter', everything, () => usageOf(own('?namespace=team-b'))],
      [
        'a query as a parameter',
        everything,
        () => usageOf(own(`?query=${encodeURIComponent('up{namespace="team-b"}')}`)),
      ],
      [
        'a window that closes the brackets',
        everything,
        () => usageOf(own(`?window=${encodeURIComponent('1h]) or (up{namespace="team-b"}')}`)),
      ],
      ['two windows', everything, () => usageOf(own('?window=1h&window=7d%22%7D'))],
      ['a step and an end as parameters', everything, () => usageOf(own('?end=0&step=1%22&start=team-b'))],
      ['an id with a path behind it', everything, () => usageOf(`/v2/deployments/${id}%2F..%2F..%2Fteam-b/usage`)],
      [
        'an id that is a name of PromQL',
        everything,
        () => usageOf(`/v2/deployments/${encodeURIComponent('"} or up{"')}/usage`),
      ],
      [
        'a Prometheus that answers about another namespace',
        foreign({ namespace: 'team-b', part: 'server' }),
        () => usageOf(own('')),
      ],
      ['a Prometheus that leaves the namespace out', foreign({ part: 'server' }), () => usageOf(own(''))],
      [
        'a Prometheus that answers about other pods',
        foreign({ namespace: 'team-a', part: 'server', pod: 'other-0' }),
        () => usageOf(own('')),
      ],
      ['a Prometheus that invents a part', foreign({ namespace: 'team-a', part: 'other' }), () => usageOf(own(''))],
      [
        'a record of that name in a namespace of the same beginning',
        everything,
        () => {
          const { uid } = facade.seed({ metadata: { name: 'shop', namespace: 'team-a-b' } }).metadata;
          return usageOf(`/v2/deployments/${uid}/usage`);
        },
      ],
      [
        'a caller who may not get the deployment',
        everything,
        () => {
          facade.kube.allow(({ verb }) => verb !== 'get');
          return usageOf(own(''));
        },
      ],
    ])('%s: learns nothing', async (_what, misbehave, attempt) => {
      handler = misbehave;
      const { status, body } = await attempt();
      expect(JSON.stringify(body)).not.toContain(secret);
      expect([200, 400, 403, 404, 422]).toContain(status);
      for (const form of asked) {
        const query = form.get('query') ?? '';
        const selectors = query.match(/[a-z_]+\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/g) ?? [];
        expect(selectors.length).toBeGreaterThan(0);
        for (const one of selectors) expect(one).toMatch(/^\w+\{namespace="team-a",pod=~"shop-/);
      }
      if (status !== 200) expect(asked).toEqual([]);
    });
  });

  it('is not asked with the token of the caller', async () => {
    let seen = '';
    handler = (request, response, form) => {
      seen += JSON.stringify(request.headers) + form.toString();
      believable(request, response, form);
    };
    await ask();
    expect(seen).not.toContain(TOKEN);
  });
});
