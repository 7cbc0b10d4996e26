// The agent's answers to requests for logs, with the hub's API server in memory.

import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AgentLogsOptions, makeLogReconciler, withoutPage } from '../../../src/clusters/agent/logs.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { LISTENER_LOGS, type ListenerLog } from '../../../src/kinds/listener-log.ts';
import type { ListenerWork } from '../../../src/kinds/listener-work.ts';
import { makeReflector } from '../../../src/runtime/controller/reflector.ts';
import { caughtUp } from '../../support/fake-kube/caught-up.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';

const HUB = 'davit-lsn-1';
const ID = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const log = pino({ level: 'silent' });

let hub: FakeKube;
beforeEach(() => {
  hub = makeFakeKube();
});

function ask(more: Partial<ListenerLog['spec']> = {}): void {
  hub.seed<ListenerLog>(LISTENER_LOGS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'ListenerLog',
    metadata: { name: 'one', namespace: HUB },
    spec: { clusterId: 'cluster-1', deployment: ID, query: { limit: 3 }, ...more },
  });
}
const request = (): ListenerLog | undefined => hub.objects<ListenerLog>(LISTENER_LOGS)[0];

/** The copy of the deployment `origin`. Returns what one reconcile does. */
async function anAgent(
  readPage: AgentLogsOptions['readPage'],
  origin = ID,
): Promise<() => Promise<{ readonly requeueAfterMs?: number }>> {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const requests = makeReflector<ListenerLog>({
    client: hub,
    resource: LISTENER_LOGS,
    namespace: HUB,
    transform: withoutPage,
    log,
  });
  void requests.run(stopping.signal);
  await requests.waitForSync();
  const work = { spec: { namespace: 'shops', name: 'shop' } } as ListenerWork;
  const copy = {
    metadata: { name: 'shop', namespace: 'shops', annotations: { 'davit.dev/origin-id': origin } },
  } as unknown as AppDeployment;
  const reconcile = makeLogReconciler({
    hub,
    caches: { works: { get: () => work }, copies: { get: () => copy } } as unknown as AgentLogsOptions['caches'],
    requests,
    namespace: HUB,
    clusterId: 'cluster-1',
    readPage,
  });
  return async () => {
    await caughtUp(hub, [requests]);
    return (await reconcile('one', stopping.signal, log)) as { requeueAfterMs?: number };
  };
}

describe('a request', () => {
  it('is answered once, with a page of the pods of the copy', async () => {
    ask({ revision: ID });
    const read: unknown[] = [];
    const reconcile = await anAgent(async (copy, revision, query) => {
      read.push([copy.metadata.name, revision, query]);
      return '{"logs":[]}';
    });
    expect(await reconcile()).toEqual({ requeueAfterMs: 60_000 });
    expect([read, request()?.status]).toEqual([[['shop', ID, { limit: 3 }]], { page: '{"logs":[]}' }]);
  });

  it('that nobody has fetched is deleted when its time is over', async () => {
    ask();
    const reconcile = await anAgent(async () => '{}');
    await reconcile();
    expect(request()).toBeDefined();
    await reconcile();
    expect(request()).toBeUndefined();
  });

  it('that an earlier agent has answered is not answered again, and deleted likewise', async () => {
    ask();
    await (await anAgent(async () => '{"first":true}'))();
    const reconcile = await anAgent(() => expect.unreachable());
    await reconcile();
    expect(request()?.status?.page).toBe('{"first":true}');
    await reconcile();
    expect(request()).toBeUndefined();
  });

  it.each<[string, AgentLogsOptions['readPage'], string, string]>([
    ['a deployment that it does not run', () => expect.unreachable(), 'another', 'does not run this deployment'],
    ['logs that it may not read', () => Promise.reject(new Error('pods is forbidden')), ID, 'pods is forbidden'],
    ['a page that is too long', async () => 'x'.repeat(1_200_001), ID, 'Request fewer lines'],
  ])('for %s is answered with the reason', async (_name, readPage, origin, reason) => {
    ask();
    await (await anAgent(readPage, origin))();
    expect(request()?.status).toEqual({ error: expect.stringContaining(reason) });
  });

  it('for another cluster is not answered', async () => {
    ask({ clusterId: 'cluster-2' });
    const reconcile = await anAgent(() => expect.unreachable());
    expect([await reconcile(), request()?.status]).toEqual([{}, undefined]);
  });
});
