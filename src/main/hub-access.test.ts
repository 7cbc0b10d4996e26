import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { type FakeKube, makeFakeKube } from '../../test/support/fake-kube/fake-kube.ts';
import { Unavailable } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { openHubAccess, renewToken } from './hub-access.ts';

const PLACE = { namespace: 'davit-system', name: 'davit-listener-hub' };

let cluster: FakeKube;
let moved: string[];
beforeEach(() => {
  cluster = makeFakeKube();
  moved = [];
});

/** As a person applies what join prints. */
function enroll(values: Record<string, string>): void {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  cluster.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: PLACE, data } as KubeObject);
}
const stored = (): string => {
  const [secret] = cluster.objects<KubeObject & { data: Record<string, string> }>(SECRETS);
  return Buffer.from(secret?.data['token'] ?? '', 'base64').toString();
};
const open = (): ReturnType<typeof openHubAccess> =>
  openHubAccess(cluster, PLACE.namespace, (hub) => void moved.push(hub));
const HUB = { server: 'https://hub', namespace: 'davit-lsn-1', token: 'first', ca: 'CA' };

async function tokenOf({ access }: Awaited<ReturnType<typeof open>>): Promise<string | undefined> {
  return (await access.credentials()).headers['authorization'];
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('has address, token and authority of the Secret', async () => {
  enroll(HUB);
  const hub = await open();
  expect(hub.access).toMatchObject({ server: 'https://hub', namespace: 'davit-lsn-1' });
  expect(await hub.access.credentials()).toEqual({ headers: { authorization: 'Bearer first' }, tls: { ca: 'CA' } });
});

it('says how to get a Secret that is complete', async () => {
  enroll({ server: 'https://hub', namespace: 'davit-lsn-1' });
  await expect(open()).rejects.toThrow('kubectl davit listener join prints it');
});

it('keeps one new token after another', async () => {
  enroll(HUB);
  const hub = await open();
  await hub.keep('second');
  await hub.keep('third');
  expect([await tokenOf(hub), stored()]).toEqual(['Bearer third', 'third']);
});

describe('a cluster that is enrolled again', () => {
  it('uses the new token when the old one is refused', async () => {
    enroll(HUB);
    const hub = await open();
    enroll({ ...HUB, token: 'new' });
    hub.access.refresh();
    await settled();
    expect([await tokenOf(hub), moved]).toEqual(['Bearer new', []]);
  });

  it('does not overwrite the new token by a renewal of the old one', async () => {
    enroll(HUB);
    const hub = await open();
    enroll({ ...HUB, token: 'new' });
    await hub.keep('renewed');
    expect([await tokenOf(hub), stored()]).toEqual(['Bearer new', 'new']);
    await hub.keep('renewed again');
    expect(stored()).toBe('renewed again');
  });

  it('at another hub is noticed although the old one is dead', async () => {
    enroll(HUB);
    const hub = await open();
    enroll({ ...HUB, server: 'https://other' });
    const dead = makeFakeKube();
    dead.failOn(() => new Unavailable('down'));
    const stopping = new AbortController();
    const renewing = renewToken(dead, hub, pino({ level: 'silent' }), stopping.signal);
    await settled();
    await settled();
    stopping.abort();
    await renewing;
    expect(moved).toEqual(['https://other davit-lsn-1']);
  });

  it('at another hub sends it no token of this one, and says so', async () => {
    enroll(HUB);
    const hub = await open();
    enroll({ ...HUB, server: 'https://other', token: 'theirs' });
    await hub.keep('renewed');
    expect([stored(), await tokenOf(hub), moved]).toEqual(['theirs', 'Bearer first', ['https://other davit-lsn-1']]);
  });
});
