// Logs of a deployment that a listener's cluster runs, over an in-memory API server. The test answers in the place of the agent.

import { beforeEach, expect, it } from 'vitest';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { LISTENER_LOGS, type ListenerLog, LONGEST_LOG_PAGE } from '../../../src/kinds/listener-log.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { type Answer, aBody, type Facade, makeFacade, TENANT } from './facade.ts';
import { costOf } from './log-source.ts';

const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const PAGE = {
  logs: [
    {
      id: 'a',
      timestamp: '2026-01-01T00:00:00.5Z',
      level: 'INFO',
      message: 'from afar',
      pod: 'shop-x',
      container: 'server',
    },
  ],
  next_offset: null,
  position: 'v1',
  truncated: false,
};

let facade: Facade;
let id: string;
/** What was asked, as it was when the answer came. */
let asked: ListenerLog[];

beforeEach(async () => {
  facade = await makeFacade();
  asked = [];
  listen('True');
  const source_config = { listener_id: LISTENER, listener_config: { k8s_namespace: 'shops' } };
  id = (await facade.call('POST', '/v2/deployments', aBody({ source_config }))).body.id;
  answer({ page: JSON.stringify(PAGE) });
});

function listen(connected: 'True' | 'False'): void {
  facade.kube.seed<Listener>(LISTENERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: TENANT.namespace, uid: LISTENER },
    spec: { namespaces: ['shops'] },
    status: {
      clusterId: 'cluster-1',
      conditions: [
        {
          type: 'Connected',
          status: connected,
          reason: 'R',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  });
  facade.listeners.fill();
}
/** Undefined: the request disappears. */
function answer(status: ListenerLog['status']): void {
  facade.kube.failAfter(({ verb, kind }) => {
    if (verb !== 'create' || kind !== 'ListenerLog') return undefined;
    const [request] = facade.kube.objects<ListenerLog>(LISTENER_LOGS);
    if (request === undefined) return undefined;
    asked.push(request);
    const { namespace = '', name } = request.metadata;
    if (status === undefined) facade.kube.erase(LISTENER_LOGS, { namespace, name });
    else facade.kube.seed(LISTENER_LOGS, { ...request, status });
    return undefined;
  });
}
const call = (body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  facade.call('POST', `/v1/projects/${id}/deploy_logs`, body, headers);

it('are a page of the cluster, of which nothing is kept', async () => {
  const { status, body } = await call({ limit: 7, query: 'afar' });
  expect([status, body]).toEqual([200, PAGE]);
  expect(asked.map(({ metadata, spec }) => [metadata.namespace, spec])).toEqual([
    ['davit-lsn-4f1c1a52', { clusterId: 'cluster-1', deployment: id, query: { limit: 7, query: 'afar' } }],
  ]);
  expect(facade.kube.objects(LISTENER_LOGS)).toEqual([]);
});

it.each(['create', 'get'])("answer 500 where the facade's own account may not %s the question", async (forbidden) => {
  answer(undefined);
  facade.kube.failOn(({ verb, kind }) =>
    verb === forbidden && kind === 'ListenerLog' ? new Forbidden(forbidden) : undefined,
  );
  expect((await call()).status).toBe(500);
});

it('are of one revision', async () => {
  const { latest_revision_id: revision } = (await facade.call('GET', `/v2/deployments/${id}`)).body;
  await facade.call('POST', `/v1/projects/${id}/revisions/${revision}/deploy_logs`);
  expect(asked[0]?.spec.revision).toBe(revision);
});

it.each<[string, ListenerLog['status'], number, string]>([
  ['cannot', { error: 'The cluster does not run this deployment.' }, 502, 'does not run this deployment'],
  ['answers with something else', { page: '{"logs":1}' }, 502, 'is not valid'],
  ['does not', undefined, 504, 'did not answer'],
])('are refused if the cluster %s', async (_name, given, status, detail) => {
  answer(given);
  const refused = await call();
  expect([refused.status, refused.body.detail]).toEqual([status, expect.stringContaining(detail)]);
  expect(facade.kube.objects(LISTENER_LOGS)).toEqual([]);
});

// The cluster may be taken over.
it.each(['0', '{}', '{"id":1,"level":"X"}'])(
  'of many lines that are %s keep the event loop only briefly',
  async (line) => {
    const lines = Array.from({ length: LONGEST_LOG_PAGE / (line.length + 1) - 100 }, () => line).join(',');
    answer({ page: `{"logs":[${lines}],"next_offset":null,"position":null,"truncated":false}` });
    let refused: Answer | undefined;
    const { busyMs } = await costOf(async () => (refused = await call()));
    expect(refused?.status).toBe(502);
    // Ten times what it takes.
    expect(busyMs).toBeLessThan(400);
  },
);

it('are not asked for while the cluster is not connected', async () => {
  listen('False');
  const { status, body } = await call();
  expect([status, body.detail]).toEqual([504, expect.stringContaining('is not connected')]);
  expect(asked).toEqual([]);
});

it("need the caller's right to logs on the hub", async () => {
  facade.kube.allow(({ resource, subresource }) => !(resource === 'pods' && subresource === 'log'));
  expect((await call()).status).toBe(403);
  expect(asked).toEqual([]);
});

it('are read on from a position, which the cluster gives and takes', async () => {
  answer({ page: JSON.stringify({ ...PAGE, position: 'v1~q83vEjRW.1.0.' }) });
  const { body } = await call({ limit: 7 });
  expect((await call({ limit: 7, position: body.position })).status).toBe(200);
  expect(asked.map(({ spec }) => spec.query)).toEqual([{ limit: 7 }, { limit: 7, position: 'v1~q83vEjRW.1.0.' }]);
});
