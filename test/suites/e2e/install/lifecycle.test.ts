// From nothing to nothing, as a platform team would do it: Helm installs Davit, a team deploys over HTTP, Davit is broken,
// upgraded and taken away. The steps follow each other and print a transcript with times.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Api,
  chart,
  connectApi,
  type Ground,
  NAMESPACE,
  podsOf,
  prepareGround,
  restartsOf,
  say,
  stepByStep,
  until,
  whyNoPods,
} from './installed.ts';

const TEAM = 'team';
const noPods = await whyNoPods();
if (noPods !== undefined) say(`The installation is left out: ${noPods}`);
const SMALL = {
  cpu: 0.1,
  memory_mb: 256,
  db_cpu: 0.1,
  db_memory_mb: 256,
  db_storage_gi: 1,
  redis_cpu: 0.1,
  redis_memory_mb: 64,
};

const CLUSTER_WIDE =
  'namespaces,crd,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,priorityclasses,pv';

let ground: Ground;
let thereBefore: readonly string[];
let api: Api;
let id: string;

beforeAll(async () => {
  if (noPods !== undefined) return;
  ground = await prepareGround();
  thereBefore = await names(CLUSTER_WIDE);
});
stepByStep();
afterAll(async () => {
  api?.close();
  await ground?.stop();
});

function kubectl(...args: readonly string[]): Promise<string> {
  return ground.cluster.kubectl(args);
}

function helm(...args: readonly string[]): Promise<string> {
  return ground.cluster.helm([...args, '--namespace', NAMESPACE]);
}

interface Deployment {
  readonly status: string;
  readonly latest_revision_id: string;
  readonly active_revision_id: string;
}

async function deployment(): Promise<Deployment> {
  const { status, body } = await api.call('GET', `/v2/deployments/${id}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as Deployment;
}

async function patch(body: object): Promise<Deployment> {
  const answer = await api.call('PATCH', `/v2/deployments/${id}`, body);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Deployment;
}

function rolledOut(revision: string, withinMs?: number): Promise<Deployment> {
  return until(
    `revision ${revision} to be deployed`,
    deployment,
    (one) => one.active_revision_id === revision,
    withinMs,
  );
}

async function ask<T>(path: string, body?: object): Promise<T> {
  const address = (await kubectl('get', 'service', 'shop', '-n', TEAM, '-o', 'jsonpath={.spec.clusterIP}')).trim();
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`http://${address}${path}`, {
    ...(body && post),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return (await answer.json()) as T;
}

function serverPods(): Promise<readonly { readonly metadata: { readonly name: string } }[]> {
  return podsOf(ground.cluster, TEAM, 'davit.dev/deployment=shop,davit.dev/component=server');
}

/** `kind/name` of what there is. */
async function names(...args: readonly string[]): Promise<string[]> {
  return (await kubectl('get', ...args, '-o', 'name', '--ignore-not-found')).split('\n').filter((line) => line !== '');
}

function davitPods(part: 'controller' | 'api'): ReturnType<typeof podsOf> {
  return podsOf(ground.cluster, NAMESPACE, `app.kubernetes.io/name=davit,app.kubernetes.io/component=${part}`);
}

describe.skipIf(noPods !== undefined)('installing', () => {
  it('without its kinds says what is missing, and restarts nothing', async () => {
    await helm(
      'install',
      'davit',
      ground.previousChart,
      '--create-namespace',
      ...ground.values,
      '--set',
      'crds.install=false',
    );
    say('Helm has installed the chart without its definitions');
    const said = await until(
      'the controller to say it',
      () => kubectl('logs', '-n', NAMESPACE, 'deployment/davit-controller'),
      (log) => log.includes('not installed'),
    );
    const [pod] = await davitPods('controller');
    const ready = await fetch(`http://${pod?.status.podIP}:9090/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringMatching(
        /\[-\] definitions: not installed: .*appdeployments\.davit\.dev.*crds\.install=true/,
      ) as string,
    ]);
    expect(said).toContain('Requirement not met, will check again');
    const pods = [...(await davitPods('controller')), ...(await davitPods('api'))];
    expect(pods).toHaveLength(4);
    expect(pods.flatMap(({ status }) => status.containerStatuses ?? []).filter((one) => one.ready)).toEqual([]);
    say('It says so in its log and at /readyz, and waits');
  });

  it('with them: ready, in the same pods', async () => {
    const before = await davitPods('controller');
    await helm('upgrade', 'davit', ground.previousChart, ...ground.values, '--wait', '--timeout', '120s');
    say('Helm has added the definitions, and everything is ready');
    const after = [...(await davitPods('controller')), ...(await davitPods('api'))];
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(
      expect.arrayContaining(before.map(({ metadata }) => metadata.uid)),
    );
    expect(restartsOf(after)).toBe(0);
  });

  it('helm test passes, and says what it asked', async () => {
    const said = await helm('test', 'davit', '--logs');
    expect(said).toMatch(/Phase:\s+Succeeded/);
    expect(said).toContain('/v2/deployments answers 401');
    expect(said).toContain(`The controller answered AppDeployment ${NAMESPACE}/davit-test`);
    expect(await kubectl('get', 'appdeployments', '-n', NAMESPACE, '-o', 'name')).toBe('');
    say('helm test has passed');
  });

  it('runs without root, shell or a place to write', async () => {
    const run = (script: string): Promise<string> =>
      kubectl('exec', '-n', NAMESPACE, 'deployment/davit-controller', '--', '/nodejs/bin/node', '-p', script);
    expect((await run('process.getuid()')).trim()).toBe('65532');
    await expect(run("fs.writeFileSync('/davit/x', '')")).rejects.toThrow(/EROFS/);
    await expect(run("fs.writeFileSync('/tmp/x', '')")).rejects.toThrow(/EROFS/);
    for (const shell of ['sh', 'bash', 'apt-get', 'npm']) {
      await expect(kubectl('exec', '-n', NAMESPACE, 'deployment/davit-api', '--', shell, '--version')).rejects.toThrow(
        /executable file not found/,
      );
    }
    const [pod] = await davitPods('controller');
    const startedAt = Date.parse(pod?.status.containerStatuses?.[0]?.state.running?.startedAt ?? '');
    const log = await kubectl('logs', '-n', NAMESPACE, pod?.metadata.name ?? '');
    const line = log.split('\n').find((one) => one.includes('"Started"')) ?? '{}';
    const took = new Date((JSON.parse(line) as { time: string | number }).time).getTime() - startedAt;
    // Container times are whole seconds.
    say(`A controller had started ${(took / 1000).toFixed(1)} s after its container`);
    expect(took).toBeLessThan(30_000);
  });
});

describe.skipIf(noPods !== undefined)('a team', () => {
  it('becomes a tenant, and has a token', async () => {
    await kubectl('create', 'namespace', TEAM);
    await kubectl('label', 'namespace', TEAM, 'davit.dev/tenant=true');
    await kubectl('create', 'serviceaccount', 'ci', '-n', TEAM);
    const role = ['--clusterrole=davit-editor', `--serviceaccount=${TEAM}:ci`];
    await kubectl('create', 'rolebinding', 'ci', '-n', TEAM, ...role);
    const token = (await kubectl('create', 'token', 'ci', '-n', TEAM, '--duration=1h')).trim();
    api = await connectApi(ground.cluster, token, TEAM);
    await until(
      'the API to know the tenant',
      () => api.call('GET', '/v2/deployments'),
      ({ status }) => status === 200,
    );
    say('Tenant and token are made, and the API knows them');
  });

  it('creates a deployment over HTTP, and it is READY and answers', async () => {
    const { status, body } = await api.call('POST', '/v2/deployments', {
      name: 'shop',
      source: 'external_docker',
      database_deletion_policy: 'Delete',
      source_config: { resource_spec: { ...SMALL, max_scale: 1 } },
      source_revision_config: { image_uri: ground.images.sample },
      secrets: [{ name: 'GREETING', value: 'one' }],
    });
    expect({ status, body }).toMatchObject({ status: 201, body: { status: 'AWAITING_DATABASE' } });
    id = (body as { id: string }).id;
    await until('READY', deployment, (one) => one.status === 'READY', 120_000);
    const { id: item } = await ask<{ id: number }>('/items', { text: 'kept' });
    expect(await ask(`/items/${item}`)).toMatchObject({ text: 'kept' });
    // The object alone: no ingress controller runs here.
    const host = ['get', 'ingress', 'shop', '-n', TEAM, '-o', 'jsonpath={.spec.rules[0].host}'];
    expect(await kubectl(...host)).toBe('shop-team.apps.example.com');
    say('Deployment shop is READY, and answers at its Service out of its database');
  });

  it('scales it', async () => {
    await patch({ source_config: { resource_spec: { ...SMALL, min_scale: 2, max_scale: 2 } } });
    await until(
      'two replicas',
      () => kubectl('get', 'appd', 'shop', '-n', TEAM, '-o', 'jsonpath={.status.replicas}'),
      (replicas) => replicas === '2/2',
    );
    say('It has two replicas');
  });

  it('breaks it, while the old pods serve, and heals it', async () => {
    const broken = await patch({ source_revision_config: { image_uri: 'registry.invalid/nothing:1' } });
    await until(
      'the record to say why',
      () =>
        kubectl('get', 'appd', 'shop', '-n', TEAM, '-o', 'jsonpath={.status.conditions[?(@.type=="WorkloadsReady")]}'),
      (condition) => condition.includes('ImagePullFailed') && condition.includes('registry.invalid/nothing:1'),
    );
    expect(await deployment()).toMatchObject({ status: 'READY', latest_revision_id: broken.latest_revision_id });
    expect(await ask('/ok')).toEqual({ ok: true });
    say('An image that is nowhere: the record says so, and the old pods serve');
    const healed = await patch({ source_revision_config: { image_uri: ground.images.sample } });
    await rolledOut(healed.latest_revision_id);
    say('With the right image again it is deployed');
  });

  it('does not notice that the leader is killed', async () => {
    const holder = async (): Promise<string> =>
      kubectl('get', 'lease', 'davit-controller', '-n', NAMESPACE, '-o', 'jsonpath={.spec.holderIdentity}');
    const leader = await holder();
    await kubectl('delete', 'pod', leader, '-n', NAMESPACE, '--grace-period=0', '--force');
    const killed = Date.now();
    await patch({ source_config: { resource_spec: { ...SMALL, min_scale: 1, max_scale: 1 } } });
    await until('one pod', serverPods, (pods) => pods.length === 1);
    expect(await holder()).not.toBe(leader);
    say(`The leader was killed; the other had done its work ${((Date.now() - killed) / 1000).toFixed(1)} s later`);
  });
});

describe.skipIf(noPods !== undefined)('an upgrade of Davit while a rollout is under way', () => {
  it('finishes the rollout and restarts nothing', async () => {
    const before = await podsOf(ground.cluster, TEAM, 'davit.dev/deployment=shop');
    const controllers = await davitPods('controller');
    const replicaSets = (): Promise<string[]> => names('replicasets', '-n', TEAM, '-l', 'davit.dev/deployment=shop');
    const sets = await replicaSets();
    const started = await patch({ secrets: [{ name: 'GREETING', value: 'two' }] });
    // Other settings too: a changed default must not reach pods that run.
    await helm(
      'upgrade',
      'davit',
      chart,
      '--reset-then-reuse-values',
      '--set',
      `image.digest=${ground.image.digest},settings.pods.progressDeadlineSeconds=700`,
      '--wait',
      '--timeout',
      '120s',
    );
    say(`Helm has upgraded davit-0.0.9 to ${(await helm('list')).match(/davit-\d+\.\d+\.\d+/)?.[0]} meanwhile`);
    await rolledOut(started.latest_revision_id);
    // Helm waits for the new ones to be ready, not for the last old one to go.
    const replaced = new Set(controllers.map(({ metadata }) => metadata.uid));
    await until(
      'new controllers alone',
      () => davitPods('controller'),
      (pods) => pods.length === controllers.length && pods.every(({ metadata }) => !replaced.has(metadata.uid)),
    );

    const after = await until(
      'the old server to be gone',
      () => podsOf(ground.cluster, TEAM, 'davit.dev/deployment=shop'),
      (pods) => pods.length === before.length,
    );
    const stateful = (pods: typeof after): string[] =>
      pods
        .filter(({ metadata }) => !metadata.labels['davit.dev/component']?.startsWith('server'))
        .map(({ metadata }) => metadata.uid)
        .toSorted();
    expect(stateful(after)).toEqual(stateful(before));
    expect(stateful(after)).toHaveLength(2);
    // Once, and no second time for what the upgrade has changed.
    expect((await replicaSets()).filter((name) => !sets.includes(name))).toHaveLength(1);
    expect(restartsOf(after)).toBe(0);
    expect(JSON.stringify(await ask('/env'))).toContain('"GREETING":"two"');
    say('The rollout is done; 0 restarts, database and Redis are the same pods');
  });
});

describe.skipIf(noPods !== undefined)('taking it away', () => {
  it('uninstalling leaves records and what runs', async () => {
    const before = await podsOf(ground.cluster, TEAM, 'davit.dev/deployment=shop');
    const said = await helm('uninstall', 'davit', '--wait', '--timeout', '60s');
    expect(said).toContain('[CustomResourceDefinition] appdeployments.davit.dev');
    expect(await kubectl('get', 'appd', 'shop', '-n', TEAM, '-o', 'jsonpath={.status.state}')).toBe('READY');
    expect(await ask('/ok')).toEqual({ ok: true });
    const after = await podsOf(ground.cluster, TEAM, 'davit.dev/deployment=shop');
    expect(after.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
      before.map(({ metadata }) => metadata.uid).toSorted(),
    );
    say('Uninstalled: the record is there, and shop goes on answering');
  });

  it('in the wrong order waits for Davit, says so, and is finished when it is back', async () => {
    const impatient = kubectl('delete', 'appd', 'shop', '-n', TEAM, '--timeout=2s');
    await expect(impatient).rejects.toThrow(/timed out waiting for the condition/);
    expect(await kubectl('get', 'appd', 'shop', '-n', TEAM, '-o', 'jsonpath={.metadata.finalizers}')).toContain(
      'davit.dev/teardown',
    );
    expect(await kubectl('explain', 'appd')).toMatch(
      /has\s+removed\s+its\s+parts,\s+which\s+requires\s+that\s+Davit\s+is\s+running/,
    );
    expect(await ask('/ok')).toEqual({ ok: true });
    say('A record deleted without Davit stays, and what it made runs');
    await helm('install', 'davit', chart, ...ground.values, '--wait', '--timeout', '120s');
    await kubectl('wait', '--for=delete', 'appd/shop', '-n', TEAM, '--timeout=120s');
    say('Installed again, Davit has taken it down');
  });

  it('in the documented order leaves nothing', async () => {
    expect(
      await names('deployments,statefulsets,services,pods,pvc,networkpolicies,ingresses,secrets', '-n', TEAM),
    ).toEqual([]);
    await helm('uninstall', 'davit', '--wait', '--timeout', '60s');
    const kinds = await names('crd');
    await kubectl('delete', ...kinds.filter((name) => name.endsWith('.davit.dev')), '--timeout=60s');
    await kubectl('delete', 'namespace', 'davit-org', NAMESPACE, '--timeout=60s');
    expect(await names(CLUSTER_WIDE, '-l', 'app.kubernetes.io/name=davit')).toEqual([]);
    expect((await names(CLUSTER_WIDE)).filter((name) => name !== `namespace/${TEAM}`)).toEqual(thereBefore);
    say('Nothing of Davit is left');
  });
});
