// Three nodes, an enforcing network plugin, volumes of a node and volumes that move: what a deployment, its data and its status do when a
// node is drained or lost, and that no tenant reaches the data of another.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { nodeName } from '../../cluster/node-network.ts';
import { startWriter } from '../../support/database-writer.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';
import { READY_MS, ROWS, type Stage, SUM, say, startStage } from '../backups/stage.ts';
import { startAsker } from './asker.ts';
import { reachedFrom } from './attacker.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the suite of three nodes is left out`);

const [SECOND, THIRD] = [`${nodeName}-2`, `${nodeName}-3`];
const TENANTS = Array.from({ length: 10 }, (_, index) => `tenant-${index}`);
const SPREAD = { topologyKey: 'kubernetes.io/hostname', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' };

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
}

describe.skipIf(!machine.ok)('on three nodes', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await startStage([], {
      cluster: { nodes: 3, networkPolicies: true },
      values: { 'settings.placement.server.topologySpread': [SPREAD] },
    });
    await stage.putCredentials();
  }, 1_200_000);

  afterAll(() => stage?.stop());

  const kubectl = (...args: readonly string[]): Promise<string> => stage.kubectl(...args);
  const node = (verb: 'cordon' | 'uncordon', name: string): Promise<string> => stage.cluster.kubectl([verb, name]);
  const drain = (name: string): Promise<string> =>
    stage.cluster.kubectl(['drain', name, '--delete-emptydir-data', '--force', '--timeout=240s']);
  const podsOf = async (name: string, part: string): Promise<readonly Pod[]> => {
    const labels = `davit.dev/deployment=${name},davit.dev/component=${part}`;
    const { items } = JSON.parse(await kubectl('get', 'pods', '-l', labels, '-o', 'json')) as { items: Pod[] };
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const nodesOf = async (name: string, part: string): Promise<string[]> =>
    (await podsOf(name, part)).map(({ spec }) => spec.nodeName ?? 'none').toSorted();

  async function create(name: string, namespace = 'team', sizes: object = {}, more: object = {}): Promise<void> {
    await stage.apply({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace },
      spec: {
        source: 'external_docker',
        sourceRevisionConfig: { imageUri: stage.sample },
        sourceConfig: {
          resourceSpec: { ...SMALLEST, cpu: 0.02, dbCpu: 0.04, redisCpu: 0.02, ...sizes },
          database: { driver: 'pod', backup: {} },
          ...more,
        },
      },
    });
  }

  /** With its PostgreSQL on a node: the others are closed while it is created. */
  async function createWithDataOn(wanted: string, name: string): Promise<void> {
    const others = [nodeName, SECOND, THIRD].filter((one) => one !== wanted);
    await Promise.all(others.map((one) => node('cordon', one)));
    await create(name);
    await stage.says('Ready', 'True', 'Serving', name);
    await Promise.all(others.map((one) => node('uncordon', one)));
    expect(await nodesOf(name, 'postgres')).toEqual([wanted]);
  }

  /** Resolves to the name of the operation that was created. */
  async function operate(deployment: string, action: string, more: object = {}): Promise<string> {
    const made = await stage.cluster.kubectl(['create', '-o', 'name', '-f', '-'], {
      input: JSON.stringify({
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { generateName: `${deployment}-`, namespace: 'team' },
        spec: { deployment, action, ...more },
      }),
    });
    return made.trim().split('/').at(-1) ?? '';
  }

  async function complete(operation: string): Promise<void> {
    await kubectl('wait', '--for=condition=Complete', `--timeout=${READY_MS / 1000}s`, `dsop/${operation}`);
  }

  /** Resolves to the name of the backup. */
  async function backUp(deployment: string): Promise<string> {
    const operation = await operate(deployment, 'Backup');
    await complete(operation);
    return (await kubectl('get', 'dsop', operation, '-o', 'jsonpath={.status.backup.name}')).trim();
  }

  it('no tenant reaches the data of another: of 100 pairs, each reaches its own alone', async () => {
    await Promise.all(
      TENANTS.map(async (tenant) => {
        await stage.makeTenant(tenant);
        await create('shop', tenant);
      }),
    );
    const where = new Set<string>();
    for (const tenant of TENANTS) {
      await stage.cluster.kubectl(['-n', tenant, 'wait', 'appd/shop', '--for=condition=Ready', '--timeout=420s']);
      const nodes = await stage.cluster.kubectl([
        '-n',
        tenant,
        'get',
        'pods',
        '-o',
        'jsonpath={.items[*].spec.nodeName}',
      ]);
      for (const one of nodes.split(' ')) where.add(one);
    }
    expect([...where].toSorted()).toEqual([nodeName, SECOND, THIRD]);
    const datastores = TENANTS.flatMap((tenant) => [`shop--postgres.${tenant}:5432`, `shop--redis.${tenant}:6379`]);
    // As the server of its own deployment, which may reach its own, and as any other pod.
    const asServer = await Promise.all(
      TENANTS.map((tenant) =>
        reachedFrom(
          stage,
          tenant,
          'server',
          { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'server' },
          datastores,
        ),
      ),
    );
    expect(asServer).toEqual(TENANTS.map((tenant) => datastores.filter((one) => one.includes(`.${tenant}:`))));
    const asAnybody = await Promise.all(TENANTS.map((tenant) => reachedFrom(stage, tenant, 'anybody', {}, datastores)));
    expect(asAnybody).toEqual(TENANTS.map(() => []));
    say(
      `pods on ${where.size} nodes; ${TENANTS.length ** 2} pairs of tenants: each reached its own PostgreSQL and Redis, and no other`,
    );
    for (const tenant of TENANTS) await stage.cluster.kubectl(['delete', 'namespace', tenant, '--wait=false']);
  }, 1_200_000);

  it('a server with access.from is reached from its own namespace and the listed ones alone', async () => {
    const guests = ['listed', 'stranger'];
    await Promise.all(guests.map((guest) => stage.makeTenant(guest)));
    await create('private', 'team', {}, { access: { from: ['listed'] } });
    await stage.says('Ready', 'True', 'Serving', 'private');
    const reachers = async (pod: string): Promise<string[]> => {
      const reached = await Promise.all(
        ['team', ...guests].map(async (from) =>
          (await reachedFrom(stage, from, pod, {}, ['private.team:80'])).map(() => from),
        ),
      );
      return reached.flat();
    };
    expect(await reachers('first')).toEqual(['team', 'listed']);
    await create('private', 'team', {}, { access: { from: [] } });
    await eventually(async () => {
      const policy = await kubectl('get', 'networkpolicy', 'private--server', '-o', 'json');
      expect(policy).not.toContain('listed');
    }, READY_MS);
    expect(await reachers('second')).toEqual(['team']);
    say('access.from: own and listed namespace reach the server, a stranger does not; with [] its own alone');
    await kubectl('delete', 'appd', 'private');
    for (const guest of guests) await stage.cluster.kubectl(['delete', 'namespace', guest, '--wait=false']);
  }, 1_200_000);

  it('spreads its pods, and loses no request while a node is drained and a rollout passes', async () => {
    await create('shop', 'team', { minScale: 3, maxScale: 3 });
    await stage.says('Ready', 'True', 'Serving');
    expect(await nodesOf('shop', 'server')).toEqual([nodeName, SECOND, THIRD]);
    const postgres = (await nodesOf('shop', 'postgres'))[0];
    const drained = [SECOND, THIRD].find((one) => one !== postgres) ?? SECOND;
    const asker = await startAsker(stage, 'http://shop/');
    await asker.until(50);
    const draining = drain(drained);
    await create('shop', 'team', { minScale: 3, maxScale: 3, memoryMb: 144 });
    await draining;
    await eventually(async () => {
      const nodes = await nodesOf('shop', 'server');
      expect(nodes).toHaveLength(3);
      expect(nodes).not.toContain(drained);
      expect((await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.observedGeneration}')).trim()).toBe('2');
    }, READY_MS);
    await stage.says('Ready', 'True', 'Serving');
    await asker.until((await asker.told()).answered + 100);
    const { answered, failed } = await asker.stop();
    say(`drain of ${drained} during a rollout: ${answered} requests answered, ${failed} failed`);
    expect(failed).toBe(0);
    await node('uncordon', drained);
  }, 900_000);

  it('a backup and a restore run on other nodes than the database', async () => {
    await stage.inPod('shop--postgres-0', ROWS);
    const rows = await stage.inPod('shop--postgres-0', SUM);
    const [home = ''] = await nodesOf('shop', 'postgres');
    await node('cordon', home);
    const jobNodes = new Set<string>();
    const looking = eventually(async () => {
      const all = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { readonly items: readonly Pod[] };
      for (const { metadata, spec } of all.items)
        if (metadata.labels?.['batch.kubernetes.io/job-name'] !== undefined && spec.nodeName !== undefined)
          jobNodes.add(spec.nodeName);
      expect(jobNodes.size).toBeGreaterThan(0);
    }, READY_MS);
    const [name] = await Promise.all([backUp('shop'), looking]);
    expect([...jobNodes]).not.toContain(home);
    await complete(await operate('shop', 'Restore', { restore: { backup: name } }));
    await stage.says('Ready', 'True', 'Serving');
    const [pod] = await podsOf('shop', 'postgres');
    expect(pod?.spec.nodeName).not.toBe(home);
    expect(await stage.inPod(pod?.metadata.name ?? '', SUM)).toBe(rows);
    say(`backup on ${[...jobNodes].join()}, restored from ${home} to ${pod?.spec.nodeName}: ${rows}`);
    await node('uncordon', home);
  }, 1_200_000);

  it('a drained node takes a volume of its own away until it is back, and the status says so', async () => {
    // Of two pods of the server on the node the budget keeps one: without the database no other gets ready.
    await create('shop');
    await eventually(async () => expect(await nodesOf('shop', 'server')).toHaveLength(1), READY_MS);
    await stage.says('Ready', 'True', 'Serving');
    const [home = ''] = await nodesOf('shop', 'postgres');
    const began = Date.now();
    await drain(home);
    const message = await stage.says('DatabaseReady', 'False', 'Unschedulable');
    say(`PostgreSQL drained off ${home}: said after ${((Date.now() - began) / 1000).toFixed(0)} s: ${message}`);
    expect(message).toContain('node');
    await node('uncordon', home);
    await stage.says('Ready', 'True', 'Serving');
  }, 600_000);

  it('a node is lost with a volume of its own and one that moves: the status says what to do, and each comes back by it', async () => {
    // One that moves: its class is the platform's.
    await stage.restart({ 'settings.database.storageClassName': 'shared' });
    await createWithDataOn(THIRD, 'moves');
    await stage.restart({});
    await createWithDataOn(THIRD, 'stays');
    // The writer is not to be lost itself.
    await node('cordon', THIRD);
    const writer = await startWriter(stage, 'moves', 50);
    await writer.until(100);
    await stage.inPod('stays--postgres-0', ROWS);
    const rows = await stage.inPod('stays--postgres-0', SUM);
    const saved = await backUp('stays');

    const began = Date.now();
    const after = (): string => `${((Date.now() - began) / 1000).toFixed(0)} s`;
    await stage.cluster.loseNode(THIRD);
    const told = await Promise.all(
      ['moves', 'stays'].map((name) => stage.says('DatabaseReady', 'False', 'NodeNotReady', name)),
    );
    say(`after ${after()}: ${told[0]}`);
    const command = /kubectl (taint nodes \S+ \S+)/.exec(told[0] ?? '')?.[1] ?? '';
    expect(command).toContain(THIRD);

    const released = Date.now();
    await stage.cluster.kubectl(command.split(' '));
    await stage.says('Ready', 'True', 'Serving', 'moves');
    say(
      `moves: serves ${((Date.now() - released) / 1000).toFixed(0)} s after the taint, on ${(await nodesOf('moves', 'postgres')).join()}`,
    );
    await writer.until((await writer.count()) + 20);
    const { acknowledged } = await writer.stop();
    const there = await stage.inPod('moves--postgres-0', `select count(*) from kept where n <= ${acknowledged}`);
    expect(Number(there)).toBe(acknowledged);

    const stuck = await stage.says('DatabaseReady', 'False', 'Unschedulable', 'stays');
    say(`stays: ${stuck}`);
    await complete(await operate('stays', 'Restore', { restore: { backup: saved } }));
    await stage.says('Ready', 'True', 'Serving', 'stays');
    const [pod] = await podsOf('stays', 'postgres');
    expect(await stage.inPod(pod?.metadata.name ?? '', SUM)).toBe(rows);
    say(`stays: restored to ${pod?.spec.nodeName}, ${after()} after the loss`);
  }, 2_400_000);
});
