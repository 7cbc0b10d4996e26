// A hub and a listener's cluster: two API servers, each with its own Davit, the agent as a process, and a link between them that is
// slowed down, reset and cut. A stand-in sets the status of pods.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { asked, granted, idle } from '../../support/audited-rights.ts';
import { aPayload } from '../../support/builders.ts';
import { type Platform, type Supervised, startAgent, startPlatform, type Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Answer, type Attached, eventually } from '../../support/running-davit.ts';
import { openLink, type TcpLink } from '../../support/tcp-link.ts';

/** The least that the setting allows. */
const SILENT_AFTER_S = 15;
const RENEWED_EVERY_S = 10;
const PLACE = 'shops';

let hub: Cluster;
let remote: Cluster;
let hubDavit: Davit;
let remoteDavit: Platform;
let agent: Supervised;
let link: TcpLink;
let tenant: Tenant;
let call: Attached['call'];
let folder: string;
/** uid of the Listener, and its namespace on the hub. */
let listener: string;
let namespace: string;
/** Id of the deployment shop. */
let id: string;

beforeAll(async () => {
  [hubDavit, remote] = await Promise.all([
    startDavit('apiserver', {
      auditLog: true,
      values: { 'settings.listeners.enabled': true, 'settings.listeners.silentAfterSeconds': SILENT_AFTER_S },
    }),
    startCluster({ pods: 'off', auditLog: true }),
  ]);
  ({ cluster: hub, call } = hubDavit);
  link = await openLink(hub.server);
  tenant = await hubDavit.makeTenant('team');
  folder = await mkdtemp(join(tmpdir(), 'davit-two-'));
  await writePlugin(folder);
  const tools = await ensureTools(['kubernetes'], () => undefined);
  await symlink(toolPath(tools, 'kubernetes', 'kubectl'), join(folder, 'kubectl'));
  await onHub(['create', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: tenant.namespace },
    spec: { namespaces: [PLACE] },
  });
  listener = (await onHub(['get', 'lsn', 'edge', '-n', 'team', '-o', 'jsonpath={.metadata.uid}'])).trim();
  namespace = `davit-lsn-${listener.slice(0, 8)}`;
}, 900_000);
afterAll(async () => {
  await agent?.stop();
  await remoteDavit?.stop();
  await link?.close();
  await Promise.all([hubDavit?.stop(), remote?.stop()]);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}, 60_000);

const onHub = (args: readonly string[], input?: object): Promise<string> =>
  hub.kubectl(args, input && { input: JSON.stringify(input) });
const there = (...args: readonly string[]): Promise<string> => remote.kubectl(['-n', PLACE, ...args]);
const post = (name: string, more: object = {}): Promise<Answer> =>
  call(
    tenant,
    'POST',
    '/v2/deployments',
    aPayload(name, {
      source_config: { listener_id: listener, listener_config: { k8s_namespace: PLACE } },
      secrets: [{ name: 'KEY', value: 'crosses' }],
      ...more,
    }),
  );
const get = async (): Promise<Answer['body']> => (await call(tenant, 'GET', `/v2/deployments/${id}`)).body;
const isConnected = async (): Promise<boolean> =>
  (await call(tenant, 'GET', `/v2/listeners/${listener}`)).body.connected;

/** Deploys another image, and waits until the hub shows that the cluster has deployed it. */
async function change(image: string, withinMs: number): Promise<void> {
  const { status } = await call(tenant, 'PATCH', `/v2/deployments/${id}`, {
    source_revision_config: { image_uri: image },
  });
  expect(status).toBe(200);
  await deployed(image, withinMs);
}
async function deployed(image: string, withinMs: number): Promise<void> {
  await eventually(async () => {
    const { status, latest_revision_id: latest, active_revision_id: active, conditions } = await get();
    const ready = conditions.find(({ type }: { type: string }) => type === 'Ready');
    expect([status, ready?.status, active]).toEqual(['READY', 'True', latest]);
  }, withinMs);
  expect(await there('get', 'deployment', 'shop', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe(
    image,
  );
}

async function secondsUntil(attempt: () => Promise<void>, withinMs: number): Promise<number> {
  const began = performance.now();
  await eventually(attempt, withinMs, 50);
  return (performance.now() - began) / 1000;
}

/** `kubectl davit ...` of a person at the hub. */
function plugin(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, KUBECONFIG: hub.kubeconfig, PATH: path };
  return promisify(execFile)(join(folder, 'kubectl'), ['davit', ...args, '-n', 'team'], { env });
}
const joined = (): ReturnType<typeof plugin> =>
  plugin('listener', 'join', 'edge', '--hub', `https://127.0.0.1:${link.port}`);

describe('a cluster', () => {
  it('is enrolled by what kubectl davit listener join prints', async () => {
    const { stdout: manifest, stderr } = await eventually(joined, 60_000);
    const commands = stderr.split('\n').flatMap((line) => /^ {2}(\w.*?)(?: +#.*)?$/.exec(line)?.[1] ?? []);
    expect(commands.filter((command) => command.startsWith('helm'))).toEqual([
      expect.stringContaining(`listener.enabled=true,listener.namespaces='{${PLACE}}'`),
    ]);
    for (const command of commands) {
      const [program, ...words] = command.split(' ');
      if (program === 'kubectl')
        await remote.kubectl(
          words.map((word) => (word === 'FILE' ? '-' : word)),
          { input: manifest },
        );
    }
    remoteDavit = await startPlatform(remote, {
      parts: ['controller'],
      values: {
        'listener.enabled': true,
        'listener.namespaces': [PLACE],
        'settings.address.kind': 'ingress',
        'settings.address.baseDomain': 'apps.example',
      },
    });
    agent = await startAgent(remote, [PLACE]);
    await eventually(async () => expect(await isConnected()).toBe(true), 30_000);
    const { body } = await call(tenant, 'GET', `/v2/listeners/${listener}`);
    expect(body).toMatchObject({ compute_id: 'edge', version: expect.stringMatching(/^\d/), connected: true });
    expect(Math.abs(Date.now() - Date.parse(body.last_seen_at))).toBeLessThan(60_000);
  }, 180_000);

  it('shows in kubectl get lsn whether it is connected, its version, when it was seen and its number of records', async () => {
    const [head = '', line = ''] = (await onHub(['get', 'lsn', '-n', 'team'])).split('\n');
    expect(head).toMatch(/^NAME +CONNECTED +VERSION +LAST-SEEN +RECORDS +AGE$/);
    expect(line).toMatch(/^edge +True +\d\S+ +\d+\S* +0 +\d+\S*$/);
  });
});

describe('a deployment', () => {
  it('of the hub runs there, and the hub shows status, address and ids', async () => {
    const { status, body } = await post('shop');
    expect([status, body.detail]).toEqual([201, undefined]);
    ({ id } = body);
    await deployed('registry.example/app:1.0', 60_000);
    const shown = await get();
    const copy = JSON.parse(await there('get', 'appd', 'shop', '-o', 'json'));
    expect(shown).toMatchObject({ name: 'shop', internal_url: null });
    expect(shown.source_config.custom_url).toMatch(/^https:\/\/.*\.apps\.example$/);
    expect(copy.status.url).toBe(shown.source_config.custom_url);
    expect(await there('get', 'ingress', '-o', 'jsonpath={.items[*].spec.rules[*].host}')).toBe(
      new URL(shown.source_config.custom_url).hostname,
    );
    expect(copy.metadata.annotations['davit.dev/origin-id']).toBe(id);
    const variables = await there('get', 'pods', '-l', 'davit.dev/component=server', '-o', 'json');
    for (const [name, value] of [
      ['DAVIT_DEPLOYMENT_ID', id],
      ['DAVIT_REVISION_ID', shown.active_revision_id],
      ['DAVIT_TENANT_ID', tenant.id],
    ])
      expect(JSON.parse(variables).items[0].spec.containers[0].env).toContainEqual({ name, value });
    const values = await there('get', 'secret', '-l', 'davit.dev/listener-copy', '-o', 'jsonpath={.items[*].data.KEY}');
    expect(Buffer.from(values, 'base64').toString()).toBe('crosses');
    expect(await onHub(['get', 'lsn', 'edge', '-n', 'team', '-o', 'jsonpath={.status.records}'])).toBe('1');
    expect(await onHub(['get', 'pods,deployments', '-A', '-l', 'davit.dev/deployment', '-o', 'name'])).toBe('');
  }, 90_000);

  it('gets changes over a slow link, and when all connections are reset', async () => {
    link.slow(150);
    await change('registry.example/app:2', 60_000);
    link.reset();
    await change('registry.example/app:3', 60_000);
    link.slow(0);
    expect(await isConnected()).toBe(true);
  }, 130_000);

  it('has its logs read over the hub; nothing is kept of the request', async () => {
    // Pods of the stand-in have no logs, and those of an earlier revision are gone: test/suites/e2e/listener.test.ts reads lines.
    const { resources } = (await call(tenant, 'GET', `/v2/deployments/${id}/revisions`)).body;
    const path = `/v1/projects/${id}/revisions/${resources.at(-1).id}/deploy_logs`;
    const { status, body } = await call(tenant, 'POST', path, {});
    expect([status, body]).toEqual([200, { logs: [], next_offset: null, position: 'v1', truncated: false }]);
    expect(await onHub(['get', 'lsnl', '-A', '-o', 'name'])).toBe('');
  }, 40_000);

  it('is UNKNOWN within the time of the setting when the link is cut, and true again soon after it is healed', async () => {
    link.cut();
    const silent = await secondsUntil(
      async () => expect([(await get()).status, await isConnected()]).toEqual(['UNKNOWN', false]),
      40_000,
    );
    expect(await there('get', 'appd', 'shop', '-o', 'jsonpath={.status.state}')).toBe('READY');
    const patch = { source_revision_config: { image_uri: 'registry.example/app:4' } };
    expect(await call(tenant, 'PATCH', `/v2/deployments/${id}`, patch)).toMatchObject({
      status: 200,
      body: { status: 'UNKNOWN' },
    });
    link.heal();
    const connected = await secondsUntil(async () => expect(await isConnected()).toBe(true), 40_000);
    const applied = await secondsUntil(() => deployed('registry.example/app:4', 0), 90_000);
    process.stderr.write(
      `  cut: UNKNOWN after ${silent.toFixed(1)} s; healed: connected after ${connected.toFixed(1)} s, the change deployed ${applied.toFixed(1)} s later\n`,
    );
    // The last renewal was up to ten seconds before the cut. A renewal that is lost takes ten seconds, and the next comes two later.
    expect(silent).toBeGreaterThan(SILENT_AFTER_S - RENEWED_EVERY_S - 1);
    expect(silent).toBeLessThan(SILENT_AFTER_S + 5);
    expect(connected).toBeLessThan(20);
  }, 200_000);

  it('goes on when the agent is killed', async () => {
    agent.kill('SIGKILL');
    await change('registry.example/app:5', 60_000);
  }, 70_000);

  it('that is deleted and created again under the same name while the agent is away is replaced by the new one', async () => {
    await agent.stop();
    const first = id;
    expect((await call(tenant, 'DELETE', `/v2/deployments/${first}`)).status).toBeLessThan(300);
    expect((await get()).status).toBe('AWAITING_DELETE');
    expect((await post('shop')).status).toBe(409);
    await onHub(['annotate', 'appd', 'shop', '-n', 'team', `davit.dev/abandon-remote=${first}`]);
    const again = await eventually(async () => {
      const answer = await post('shop');
      expect(answer.status).toBe(201);
      return answer.body;
    }, 20_000);
    ({ id } = again);
    await eventually(async () =>
      expect((await onHub(['get', 'lsnw', '-n', namespace, '-o', 'name'])).trim().split('\n')).toHaveLength(2),
    );
    agent = await startAgent(remote, [PLACE]);
    await deployed('registry.example/app:1.0', 90_000);
    const origin = 'jsonpath={.items[*].metadata.annotations.davit\\.dev/origin-id}';
    expect(await there('get', 'appd', '-o', origin)).toBe(id);
    const copied = 'jsonpath={.items[*].metadata.labels.davit\\.dev/listener-copy}';
    expect(await there('get', 'secrets', '-l', 'davit.dev/listener-copy', '-o', copied)).toBe(id);
    await eventually(async () =>
      expect(await onHub(['get', 'lsnw', '-n', namespace, '-o', 'jsonpath={.items[*].metadata.name}'])).toBe(id),
    );
  }, 180_000);

  it('that is deleted leaves nothing there, and nothing in the namespace of the hub', async () => {
    expect((await call(tenant, 'DELETE', `/v2/deployments/${id}`)).status).toBeLessThan(300);
    await eventually(async () => expect((await call(tenant, 'GET', `/v2/deployments/${id}`)).status).toBe(404), 60_000);
    const kinds = 'appd,appr,deployments,statefulsets,services,secrets,pvc,networkpolicies,hpa,pdb,ingresses,jobs,pods';
    await eventually(async () => expect(await there('get', kinds, '-o', 'name')).toBe(''), 30_000);
    const left = await onHub(['get', 'lsnw,secrets', '-n', namespace, '-o', 'name']);
    expect(left.trim()).toBe('secret/davit-listener-token');
  }, 100_000);
});

describe('rights', () => {
  it('of the agent on the hub are those that it uses: it reads its works and their Secrets, and reports', async () => {
    const { used, refused } = await asked(hub, `${namespace}:davit-listener`);
    expect([...refused]).toEqual([]);
    // Deleted by the agent only if the HTTP API has not.
    const unused = ['delete davit.dev/listenerlogs'];
    expect(idle(await granted(hub, ['clusterrole', 'davit-listener-agent']), used)).toEqual(unused);
  });

  it('of the agent in its cluster are those that it uses', async () => {
    const { used, refused } = await asked(remote, 'davit-listener');
    expect([...refused]).toEqual([]);
    const rights = await granted(
      remote,
      ['clusterrole', 'davit-listener'],
      ['-n', 'davit-system', 'role', 'davit-listener'],
      ['-n', PLACE, 'role', 'davit-listener-tenant'],
    );
    // The stand-in has no logs.
    expect(idle(rights, used)).toEqual(['get /pods/log']);
  });
});

describe('credentials', () => {
  let dispatcher: Agent;
  beforeAll(() => {
    // A 401 ends a whole connection of HTTP/2, with the other requests on it.
    dispatcher = new Agent({ allowH2: false, connect: { ca: hub.ca } });
  });
  afterAll(() => dispatcher?.close());

  async function ask(token: string, method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${hub.server}${path}`, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json(), headers: new Headers() };
  }
  const isAccepted = async (token: string): Promise<boolean> =>
    (await ask(token, 'GET', `/apis/davit.dev/v1alpha1/namespaces/${namespace}/listenerworks`)).status !== 401;
  const mint = (token: string): Promise<Answer> =>
    ask(token, 'POST', `/api/v1/namespaces/${namespace}/serviceaccounts/davit-listener/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: 86_400,
        boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'davit-listener-token' },
      },
    });

  it('that are revoked are invalid within 15 seconds, also those that a thief creates meanwhile; the cluster can be enrolled again', async () => {
    const stored = ['get', 'secret', 'davit-listener-hub', '-n', 'davit-system', '-o', 'jsonpath={.data.token}'];
    const stolen = Buffer.from(await remote.kubectl(stored), 'base64').toString();
    const tokens = [stolen];
    let goesOn = true;
    const thief = (async () => {
      while (goesOn) {
        // A token that was used before the revocation is accepted for longer than one that was not.
        for (const token of tokens.slice(-5)) {
          const { status, body } = await mint(token);
          if (status === 201) tokens.push(body.status.token);
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    })();
    await eventually(async () => expect(tokens.length).toBeGreaterThan(1));
    await plugin('listener', 'revoke', 'edge');
    const [seconds, { stdout: manifest }] = await Promise.all([
      secondsUntil(async () => expect(await isAccepted(stolen)).toBe(false), 20_000),
      joined(),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    goesOn = false;
    await thief;
    process.stderr.write(`  revoked: invalid after ${seconds.toFixed(1)} s; the thief has ${tokens.length} tokens\n`);
    const accepted = await Promise.all(tokens.map(isAccepted));
    expect(accepted).toEqual(tokens.map(() => false));
    expect(seconds).toBeLessThan(15);
    await eventually(async () => expect(await isConnected()).toBe(false), 30_000);
    await remote.kubectl(['apply', '-f', '-'], { input: manifest });
    await eventually(async () => expect(await isConnected()).toBe(true), 40_000);
  }, 150_000);
});

it('a cluster that is lost is removed: its records are released, then their works, and the Listener goes with its namespace', async () => {
  await agent.stop();
  const { status, body } = await post('lost');
  expect([status, body.detail]).toEqual([201, undefined]);
  const works = ['get', 'lsnw', '-n', namespace, '-o', 'name'];
  const work = await eventually(async () => {
    const found = (await onHub(works)).trim();
    expect(found).not.toBe('');
    return found;
  });
  await onHub(['delete', 'appd', 'lost', '-n', 'team', '--wait=false']);
  await onHub(['annotate', 'appd', 'lost', '-n', 'team', `davit.dev/abandon-remote=${body.id}`]);
  await onHub(['wait', '--for=delete', 'appd/lost', '-n', 'team', '--timeout=30s']);
  await onHub(['delete', 'lsn', 'edge', '-n', 'team', '--wait=false']);
  expect((await onHub(works)).trim()).toBe(work);
  await onHub(['patch', work, '-n', namespace, '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
  await onHub(['wait', '--for=delete', 'lsn/edge', '-n', 'team', '--timeout=180s']);
  expect(await onHub(['get', 'namespace', namespace, '--ignore-not-found'])).toBe('');
}, 150_000);

it('the controller of the hub has used the rights that it has for listeners, and no other', async () => {
  const { used, refused } = await asked(hub, 'davit-controller');
  // A busy API server takes a moment to see the binding that the controller has just created for itself. What is asked for next may be
  // refused once; that it was granted later is asserted below.
  expect([...refused].filter((right) => right !== 'get /serviceaccounts')).toEqual([]);
  const rights = await granted(hub, ['clusterrole', 'davit-controller'], ['clusterrole', 'davit-listener-hub']);
  const ofListeners = /listener|namespaces|rolebindings|serviceaccounts/;
  // The right to bind roles is asked about, not used.
  const unused = idle(rights, used).filter((right) => ofListeners.test(right) && !right.startsWith('bind '));
  expect(unused).toEqual([]);
});
