// Event streams of the HTTP API against a real API server: the life of a deployment as it is told, and rights that end.

import { afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { aPayload } from '../../support/builders.ts';
import { type EventReader, openStream, type ReadEvent } from '../../support/event-reader.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('streams');
});
const readers: EventReader[] = [];
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

async function open(
  path: string,
  more: { token?: string; method?: 'POST'; lastId?: string } = {},
): Promise<EventReader> {
  const { token = tenant.token, method, lastId } = more;
  const reader = await openStream(davit.apiUrl, path, {
    headers: {
      'x-api-key': token,
      'x-tenant-id': tenant.id,
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    },
    ...(method && { method }),
  });
  readers.push(reader);
  return reader;
}
async function create(name: string): Promise<string> {
  const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', aPayload(name));
  expect([status, body.detail]).toEqual([201, undefined]);
  return body.id as string;
}
/** Events until one is as it is wanted; all of them. */
async function until(reader: EventReader, isIt: (event: ReadEvent) => boolean): Promise<ReadEvent[]> {
  const seen: ReadEvent[] = [];
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const event = await reader.next(120_000);
    if (typeof event === 'string')
      throw new Error(`${event}, after ${JSON.stringify(seen.map(({ data }) => data.status))}`);
    seen.push(event);
    if (isIt(event)) return seen;
  }
}

it('tells the life of a deployment, its revisions and the list, as a GET would', async () => {
  const id = await create('told');
  const path = `/v2/deployments/${id}`;
  const [one, revisions, list] = await Promise.all([
    open(path),
    open(`${path}/revisions?status=DEPLOYED`),
    open('/v2/deployments?name=told'),
  ]);
  const life = await until(one, ({ data }) => data.status === 'READY');
  // Each state once: whoever reads sees changes, and nothing that is no change.
  const ids = life.map((event) => event.id);
  expect(new Set(ids).size).toBe(ids.length);
  await until(revisions, ({ data }) => data.resources.length === 1);
  await until(list, ({ data }) => data.resources[0]?.status === 'READY');
  const { body } = await davit.call(tenant, 'GET', path);
  const last = await eventually(async () => {
    const event = await one.next(50);
    if (typeof event !== 'string') life.push(event);
    expect(life.at(-1)?.data).toEqual({ ...body, secrets: [] });
    return life.at(-1);
  });

  const resumed = await open(path, { lastId: last?.id ?? '' });
  expect(await resumed.next(500)).toBe('nothing');
  await davit.call(tenant, 'DELETE', path);
  const end = await until(resumed, ({ event }) => event === 'gone');
  // Who deletes writes his name first.
  expect(end.at(-2)?.data.status).toBe('AWAITING_DELETE');
  expect(end.at(-1)?.data).toEqual({ detail: `Deployment ID ${id} not found.` });
  await until(list, ({ data }) => data.resources.length === 0);
  expect((await until(revisions, ({ event }) => event === 'gone')).length).toBeGreaterThan(0);
});

describe('a right that ends', () => {
  it('ends the stream before another event', async () => {
    const id = await create('withheld');
    const account = 'passing';
    await davit.kubectl(['create', 'serviceaccount', account, '-n', tenant.namespace]);
    const role = ['--clusterrole=davit-viewer', `--serviceaccount=${tenant.namespace}:${account}`];
    await davit.kubectl(['create', 'rolebinding', account, ...role, '-n', tenant.namespace]);
    const token = (await davit.kubectl(['create', 'token', account, '-n', tenant.namespace])).trim();
    const path = `/v2/deployments/${id}`;
    const reader = await eventually(async () => {
      const opened = await open(path, { token });
      expect(opened.status).toBe(200);
      return opened;
    });
    await until(reader, () => true);
    // A viewer may not read logs, and is told so without a stream.
    expect((await open(`/v1/projects/${id}/deploy_logs`, { token, method: 'POST' })).status).toBe(403);
    await davit.kubectl(['delete', 'rolebinding', account, '-n', tenant.namespace]);
    await eventually(async () => {
      const { status } = await davit.call({ ...tenant, token }, 'GET', path);
      expect(status).toBe(403);
    });
    await davit.call(tenant, 'PATCH', path, { source_config: { resource_spec: { cpu: 0.3 } } });
    const events = await until(reader, ({ event }) => event === 'end');
    expect(events.at(-1)?.data).toMatchObject({ reason: 'refused', status: 403 });
    expect(events.some(({ data }) => data.source_config?.resource_spec.cpu === 0.3)).toBe(false);
    expect(await reader.next()).toBe('end');
  });
});

it('follows logs of pods that have none yet, until the deployment is deleted', async () => {
  const id = await create('quiet');
  const reader = await open(`/v1/projects/${id}/deploy_logs`, { method: 'POST' });
  expect([reader.status, reader.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect(await reader.next(2000)).toBe('nothing');
  await davit.call(tenant, 'DELETE', `/v2/deployments/${id}`);
  expect((await until(reader, ({ event }) => event !== 'log')).at(-1)?.event).toBe('gone');
});
