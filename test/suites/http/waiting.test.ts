// GET /v2/deployments/{id}?wait=: an answer when it is so.

import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { MOST_WAITING } from '../../../src/deploy/http/waiting.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { serve } from '../../../src/main/server.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let path: string;
beforeEach(async () => {
  facade = await makeFacade();
  path = `/v2/deployments/${(await facade.call('POST', '/v2/deployments', aBody())).body.id}`;
});

const wait = (state: string, timeout = 60): Promise<Answer> =>
  facade.call('GET', `${path}?wait=${state}&timeout=${timeout}`);
function stored(): AppDeployment {
  const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  if (record === undefined) throw new Error('no record');
  return record;
}
function report(state: 'READY' | 'UNKNOWN', active: { readonly activeRevisionId?: string } = {}): void {
  const record = stored();
  const observedGeneration = record.metadata.generation ?? 1;
  const status = { state, observedGeneration, ...active };
  facade.records.put(facade.kube.seed(APP_DEPLOYMENTS, { ...record, status }));
}
function remove(): void {
  const { metadata } = stored();
  facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: metadata.name });
  facade.records.drop(metadata.uid ?? '');
}
function reportRevision(revision: AppRevision, state: 'DEPLOYING' | 'DEPLOYED'): void {
  facade.revisions.put(facade.kube.seed(APP_REVISIONS, { ...revision, status: { state } }));
}
/** What it says while nothing happens, and then. */
async function during<T>(answer: Promise<T>, change: () => void): Promise<T> {
  const first = await Promise.race([answer, sleep(20, 'waits')]);
  expect(first).toBe('waits');
  change();
  return answer;
}

describe('waits', () => {
  it('until it is READY', async () => {
    report('UNKNOWN');
    const { status, body } = await during(wait('READY'), () => report('READY'));
    expect([status, body.status]).toEqual([200, 'READY']);
  });

  it('until its latest revision is DEPLOYED, and the deployment says so as well', async () => {
    const revision = facade.snapshot({ state: 'DEPLOYING' });
    report('UNKNOWN');
    const answer = wait('DEPLOYED');
    await during(Promise.race([answer, sleep(60)]), () => reportRevision(revision, 'DEPLOYED'));
    const { status, body } = await during(answer, () => report('READY', { activeRevisionId: revision.spec.id }));
    expect([status, body.status, body.latest_revision_id]).toEqual([200, 'READY', revision.spec.id]);
  });

  it('for longer than a connection may be idle', async () => {
    report('UNKNOWN');
    const serving = await serve(facade.app, { host: '127.0.0.1', port: 0, limits: { idleTimeout: 200 } });
    try {
      const headers = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id };
      const answer = fetch(`${serving.url}${path}?wait=READY&timeout=60`, { headers });
      await sleep(800);
      report('READY');
      expect(await (await answer).json()).toMatchObject({ status: 'READY' });
    } finally {
      await serving.close();
    }
  });

  it('until it is GONE, which is a 404', async () => {
    const { status } = await during(wait('GONE'), remove);
    expect(status).toBe(404);
  });

  it('no longer than the time that it was given, and shows how it is then', async () => {
    report('UNKNOWN');
    const { status, body } = await wait('READY', 1);
    expect([status, body.status]).toEqual([200, 'UNKNOWN']);
    // A second that was asked for is none in which the service was slow.
    expect(facade.answers.at(-1)?.seconds).toBeLessThan(0.9);
  });

  it('not at all where it is so', async () => {
    report('READY');
    expect((await wait('READY')).body.status).toBe('READY');
  });

  it('and ends where it is deleted meanwhile', async () => {
    const { status } = await during(wait('READY'), remove);
    expect(status).toBe(404);
  });

  it('and ends when the service stops', async () => {
    report('UNKNOWN');
    const answer = wait('READY');
    await sleep(20);
    await facade.app.close();
    expect((await answer).status).toBe(200);
  });

  it('asks the API server for nothing while it waits', async () => {
    report('UNKNOWN');
    const answer = wait('READY', 1);
    await sleep(20);
    facade.kube.failOn(() => new Error('it was asked'));
    await sleep(100);
    facade.kube.failOn(undefined);
    expect((await answer).status).toBe(200);
  });
});

it('tells no one whose right has ended meanwhile', async () => {
  report('UNKNOWN');
  const { status, body } = await during(wait('READY'), () => {
    facade.kube.know(() => undefined);
    facade.kube.allow(() => false);
    facade.clock.ms += 3_600_000;
    report('READY');
  });
  expect([status, JSON.stringify(body)]).toEqual([401, expect.not.stringContaining('READY')]);
});

it('is 404 at once for another tenant', async () => {
  const answer = facade.call('GET', `${path}?wait=READY`, undefined, { 'x-tenant-id': OTHER_TENANT.id });
  expect((await answer).status).toBe(404);
});

it.each(['wait=ready', 'wait=READY&timeout=0', 'wait=READY&timeout=301', 'wait=READY&wait=GONE', 'timeout=x'])(
  '%s is 422',
  async (query) => expect((await facade.call('GET', `${path}?${query}`)).status).toBe(422),
);

it('so many wait at once, and whoever goes away leaves room for another', async () => {
  report('UNKNOWN');
  const origin = await facade.app.listen({ port: 0, host: '127.0.0.1' });
  const headers = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id };
  const goingAway = new AbortController();
  const ask = (timeout: number, signal?: AbortSignal): Promise<number> =>
    fetch(`${origin}${path}?wait=READY&timeout=${timeout}`, { headers, ...(signal && { signal }) }).then(
      ({ status }) => status,
      () => 0,
    );
  const waiting = Array.from({ length: MOST_WAITING }, () => ask(60, goingAway.signal));
  await expect.poll(() => ask(1), { timeout: 60_000 }).toBe(429);
  goingAway.abort();
  await Promise.all(waiting);
  const again = ask(60);
  expect(await Promise.race([again, sleep(300, 'waits')])).toBe('waits');
  report('READY');
  expect(await again).toBe(200);
  await facade.app.close();
});
