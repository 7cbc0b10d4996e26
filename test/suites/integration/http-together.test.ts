// Many at once, at two replicas of the facade, the second of which can be cut off from the API server.

import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { aPayload } from '../../support/builders.ts';
import { DAVIT_NAMESPACE, type Supervised, startApi, type Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let other: Attached;
let tenant: Tenant;
let wire: Wire;
let process2: Supervised;
let folder: string;

beforeAll(async () => {
  tenant = await davit.tenant('together');
  wire = await layWire(new URL(davit.server));
  folder = await mkdtemp(join(tmpdir(), 'davit-facade-'));
  const { url, supervised } = await startFacade(wire.port);
  process2 = supervised;
  other = attach({ ...inject('davit'), apiUrl: url });
  // Before its caches are filled it answers 503, which a Service never lets a caller see.
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});
afterAll(async () => {
  await process2.stop();
  wire.close();
  await rm(folder, { recursive: true, force: true });
});

interface Wire {
  readonly port: number;
  cut(): void;
  mend(): void;
  close(): void;
}

/** A line to the API server that only passes bytes on, until it is cut. */
async function layWire({ hostname, port }: URL): Promise<Wire> {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((near) => {
    if (!whole) return void near.destroy();
    const far = connect(Number(port), hostname);
    for (const [one, another] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(another);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        another.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      whole = true;
    },
    close: () => {
      cut();
      server.close();
    },
  };
}

/** One more `davit api`, as the chart's own ServiceAccount, with the settings that the others have. */
async function startFacade(port: number): ReturnType<typeof startApi> {
  const settings = await davit.kubectl([
    'get',
    'configmap',
    'davit-settings',
    '-n',
    DAVIT_NAMESPACE,
    '-o',
    String.raw`jsonpath={.data.settings\.yaml}`,
  ]);
  const target = {
    server: `https://127.0.0.1:${port}`,
    caData: Buffer.from(davit.ca).toString('base64'),
    runDir: folder,
    logsDir: folder,
    tokenFor: async (namespace: string, account: string) =>
      (await davit.kubectl(['create', 'token', account, '-n', namespace])).trim(),
  };
  return startApi(target, settings);
}

function body(name: string, more: object = {}): object {
  return aPayload(name, { secrets: [{ name: 'A', value: 'b' }], ...more });
}

function create(at: Attached, name: string): Promise<Answer> {
  return at.call(tenant, 'POST', '/v2/deployments', body(name));
}

async function secretsOf(name: string): Promise<string[]> {
  const list = ['get', 'secrets', '-n', tenant.namespace, '-l', `davit.dev/deployment=${name},davit.dev/variables`];
  return (await davit.kubectl([...list, '-o', 'name'])).trim().split('\n').filter(Boolean);
}

function counted(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

it('one of 50 equal POSTs succeeds, and 49 leave no Secret', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => create(n % 2 ? davit : other, 'wanted')));
  expect(counted(answers), JSON.stringify(answers.find(({ status }) => status > 409)?.body)).toEqual({
    201: 1,
    409: 49,
  });
  expect(await secretsOf('wanted')).toHaveLength(1);
});

it('a deployment created at one replica is immediately visible at the other', async () => {
  for (const n of [1, 2, 3, 4, 5]) {
    const { body: made } = await create(davit, `read-${n}`);
    const read = await other.call(tenant, 'GET', `/v2/deployments/${made.id}`);
    expect([read.status, read.body.name]).toEqual([200, `read-${n}`]);
    const changed = await other.call(tenant, 'PATCH', `/v2/deployments/${made.id}`, {
      source_revision_config: { image_uri: 'registry.example/app:2' },
    });
    expect([changed.status, changed.body.source_revision_config.image_uri]).toEqual([200, 'registry.example/app:2']);
  }
});

it('concurrent changes at two replicas are both applied, or one gets 409', async () => {
  const { body: made } = await create(davit, 'both');
  const patch = (at: Attached, change: object): Promise<Answer> =>
    at.call(tenant, 'PATCH', `/v2/deployments/${made.id}`, change);
  const answers = await Promise.all([
    patch(davit, { source_revision_config: { image_uri: 'registry.example/app:3' } }),
    patch(other, { source_config: { resource_spec: { cpu: 0.5 } } }),
  ]);
  const { body: now } = await davit.call(tenant, 'GET', `/v2/deployments/${made.id}`);
  const applied = [
    now.source_revision_config.image_uri === 'registry.example/app:3',
    now.source_config.resource_spec.cpu === 0.5,
  ];
  expect(answers.map(({ status }) => status)).toEqual(applied.map((there) => (there ? 200 : 409)));
});

it('changes and retries during a deletion do not prevent it, and leave no Secret', async () => {
  const { body: made } = await create(davit, 'leaving');
  const path = `/v2/deployments/${made.id}`;
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, (_, n) =>
      (n % 2 ? davit : other).call(tenant, 'PATCH', path, { secrets: [{ name: 'A', value: `b${n}` }] }),
    ),
    davit.call(tenant, 'DELETE', path),
    other.call(tenant, 'DELETE', path),
    davit.call(tenant, 'POST', `${path}/revisions`, {}),
  ]);
  expect(answers.filter(({ status }) => ![200, 201, 204, 404, 409].includes(status))).toEqual([]);
  expect(answers.slice(6, 8).map(({ status }) => status)).toContain(204);
  await eventually(async () => expect((await davit.call(tenant, 'GET', path)).status).toBe(404));
  // Of a record that goes before its finalizer came, the values are collected as nobody's: after a minute.
  await eventually(async () => expect(await secretsOf('leaving')).toEqual([]), 90_000, 500);
});

it('a revoked token is rejected within seconds', async () => {
  const { namespace } = tenant;
  await davit.kubectl(['create', 'serviceaccount', 'shortly', '-n', namespace]);
  await davit.kubectl([
    'create',
    'rolebinding',
    'shortly',
    '--clusterrole=davit-editor',
    `--serviceaccount=${namespace}:shortly`,
    '-n',
    namespace,
  ]);
  const token = (await davit.kubectl(['create', 'token', 'shortly', '-n', namespace])).trim();
  const list = (): Promise<Answer> => davit.call({ ...tenant, token }, 'GET', '/v2/deployments');
  await eventually(async () => expect((await list()).status).toBe(200));
  await davit.kubectl(['delete', 'serviceaccount', 'shortly', '-n', namespace]);
  const deleted = Date.now();
  let acceptedAt = deleted;
  await eventually(async () => {
    const asked = Date.now();
    const { status } = await list();
    if (status === 200) acceptedAt = asked;
    expect(status).toBe(401);
  });
  // Ten seconds of ours, and as many for which the API server itself believes a token.
  expect(acceptedAt - deleted).toBeLessThan(21_000);
});

it('an invalid token and one without rights get the same answer for an existing and a missing tenant', async () => {
  const { namespace } = tenant;
  await davit.kubectl(['create', 'serviceaccount', 'right-less', '-n', namespace]);
  const rightLess = (await davit.kubectl(['create', 'token', 'right-less', '-n', namespace])).trim();
  const neighbour = await davit.tenant('neighbour');
  const told = async (token: string, method: string): Promise<Set<string>> => {
    const answers = await Promise.all(
      [
        tenant.id,
        namespace,
        neighbour.id,
        neighbour.namespace,
        'kube-system',
        'nowhere',
        '12345678-1234-4234-8234-123456789012',
      ].map((id) =>
        davit.call({ ...tenant, id, token }, method, '/v2/deployments', method === 'POST' ? {} : undefined),
      ),
    );
    return new Set(answers.map(({ status, body }) => `${status} ${body.detail}`));
  };
  for (const method of ['GET', 'POST']) {
    expect([...(await told('made-up', method))]).toEqual([expect.stringMatching(/^401 /)]);
    expect([...(await told(rightLess, method))]).toEqual([
      expect.stringMatching(/^403 X-Tenant-Id does not name a tenant/),
    ]);
  }
});

it('without the API server it answers 503 with Retry-After, and recovers automatically', async () => {
  const { body: made } = await create(davit, 'cut-off');
  wire.cut();
  const gone = await create(other, 'never');
  expect([gone.status, gone.body.detail]).toEqual([
    503,
    expect.stringMatching(/^The Kubernetes API server does not answer/),
  ]);
  expect(Number(gone.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${other.apiUrl}/readyz`)).status).toBe(503);
  expect((await fetch(`${other.apiUrl}/livez`)).status).toBe(200);
  wire.mend();
  await eventually(async () => {
    const read = await other.call(tenant, 'GET', `/v2/deployments/${made.id}`);
    expect(read.status).toBe(200);
  });
  expect((await create(other, 'again')).status).toBe(201);
  expect(process2.starts()).toBe(1);
});
