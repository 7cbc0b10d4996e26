// Twenty datastores of ten deployments that a maintenance window patches, in real pods, while a client writes to each database.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { startWriter, type Writer } from '../../support/database-writer.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';
import { READY_MS, say, startStage } from './stage.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the maintenance window is left out`);

const NAMES = Array.from({ length: 10 }, (_, index) => `shop-${index}`);
const AT_ONCE = 2;

interface Operation {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly deployment: string; readonly patch: { readonly datastore: 'postgres' | 'redis' } };
  readonly status?: { readonly phase?: string; readonly startedAt?: string; readonly endedAt?: string };
}

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly containerStatuses: readonly { readonly restartCount: number }[] };
}

describe.skipIf(!machine.ok)('a maintenance window', () => {
  let stage: Awaited<ReturnType<typeof startStage>>;

  beforeAll(async () => {
    stage = await startStage();
    await stage.restart(stage.minor[0]);
    for (const name of NAMES)
      await stage.apply({
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name, namespace: 'team' },
        spec: {
          source: 'external_docker',
          sourceRevisionConfig: { imageUri: stage.sample },
          sourceConfig: {
            resourceSpec: { ...SMALLEST, cpu: 0.02, dbCpu: 0.04, redisCpu: 0.02 },
            database: { driver: 'pod' },
          },
        },
      });
    for (const name of NAMES) await stage.says('Ready', 'True', 'Serving', name);
  }, 1_500_000);

  afterAll(() => stage?.stop());

  const items = async <T>(...args: readonly string[]): Promise<readonly T[]> =>
    (JSON.parse(await stage.kubectl('get', ...args, '-o', 'json')) as { readonly items: readonly T[] }).items;
  const operations = (): Promise<readonly Operation[]> => items<Operation>('dsop');
  const pods = (part: string): Promise<readonly Pod[]> => items<Pod>('pods', '-l', `davit.dev/component=${part}`);
  const identity = (all: readonly Pod[]): string[] =>
    all
      .map(
        ({ metadata: { uid }, status }) => `${uid} ${status.containerStatuses.map((one) => one.restartCount).join()}`,
      )
      .toSorted();

  it('patches twenty datastores, some at a time, without a lost row and without a restart of an application', async () => {
    const writers = new Map<string, Writer>();
    for (const name of NAMES) writers.set(name, await startWriter(stage, name, 100));
    for (const writer of writers.values()) await writer.until(50);
    const before = identity(await pods('server'));
    expect(before).toHaveLength(NAMES.length);

    const window = { schedule: '@hourly', hours: 24, accept: ['NoBackup', 'QueueLost'] };
    const began = Date.now();
    await stage.restart({
      ...stage.minor[1],
      'settings.datastores.atOnce': AT_ONCE,
      'settings.datastores.window': window,
    });
    let most = 0;
    await eventually(async () => {
      const all = await operations();
      most = Math.max(most, all.filter(({ status }) => status?.phase !== 'Succeeded').length);
      expect(all.filter(({ status }) => status?.phase === 'Failed')).toEqual([]);
      expect(all.filter(({ status }) => status?.phase === 'Succeeded')).toHaveLength(2 * NAMES.length);
    }, 4 * READY_MS);
    const seconds = (Date.now() - began) / 1000;
    expect(most).toBeLessThanOrEqual(AT_ONCE);

    const pauses: number[] = [];
    for (const [name, writer] of writers) {
      await writer.until((await writer.count()) + 20);
      const { acknowledged, pauseMs } = await writer.stop();
      const there = await stage.inPod(`${name}--postgres-0`, `select count(*) from kept where n <= ${acknowledged}`);
      expect([name, Number(there)]).toEqual([name, acknowledged]);
      pauses.push(pauseMs / 1000);
    }
    const sorted = pauses.toSorted((a, b) => a - b);
    say(
      `20 datastores patched in ${seconds.toFixed(0)} s, at most ${most} at once; without its database: ${sorted.map((one) => one.toFixed(1)).join(', ')} s`,
    );
    expect(sorted.at(-1)).toBeLessThan(30);
    expect(identity(await pods('server'))).toEqual(before);
    const images = [...(await pods('postgres')), ...(await pods('redis'))].flatMap(({ spec }) =>
      spec.containers.map(({ image }) => image),
    );
    const [, newer] = stage.minor;
    expect(new Set(images)).toEqual(new Set(Object.values(newer)));
    for (const name of NAMES) await stage.says('Ready', 'True', 'Serving', name);
  }, 1_500_000);
});
