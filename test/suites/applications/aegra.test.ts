// Aegra, an agent server with a migration, a health path and names of variables of its own.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Application, startApplication } from './application.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; Aegra is left out`);

/** As many runs as a worker takes at once: a second round would last as long again. Longer than a rollout and the drain of the old pods take together: what they have not ended goes on elsewhere. */
const LONG = { runs: 10, steps: 120, seconds: 1 };
/** For what is done at once. */
const SHORT = { runs: 10, steps: 40, seconds: 1 };

describe.skipIf(!machine.ok)('Aegra', { timeout: 1_200_000 }, () => {
  let app: Application;
  beforeAll(async () => {
    app = await startApplication('aegra', say);
  });
  afterAll(() => app?.stop());

  const workers = (count: number): Promise<string> =>
    app.change({ source_config: { resource_spec: { queue_min_scale: count, queue_max_scale: count } } });

  async function migrations(): Promise<readonly number[]> {
    const listed = JSON.parse(await app.cluster.kubectl(['get', 'jobs', '-n', 'team', '-o', 'json'])) as {
      items: { status: { succeeded?: number } }[];
    };
    return listed.items.map(({ status }) => status.succeeded ?? 0);
  }

  it('has been migrated before its pods, and streams a run', async () => {
    expect(await migrations()).toEqual([1]);
    const steps = [0, 1, 2, 3, 4];
    expect(await app.stream(steps.length)).toEqual({ came: steps, kept: steps });
  });

  it('loses no run while it is rolled to a new image with a migration, and back', async () => {
    // Two of the runs wait for a place while the pods change.
    const image = await app.underLoad('a new image', { ...LONG, runs: 12 }, async () => {
      await app.deployed(await app.change({ source_revision_config: { image_uri: app.images[1] } }));
    });
    expect(image).toMatchObject({ lost: 0, again: 0, versions: ['1', '2'] });
    expect(await migrations()).toEqual([1]);
    const back = await app.underLoad('a rollback', LONG, async () => {
      const first = (await app.revisions()).at(-1)?.id ?? '';
      await app.deployed(await app.redeploy(first));
    });
    expect(back).toMatchObject({ lost: 0, again: 0, versions: ['1', '2'] });
    // Nothing is migrated before it, so that it meets runs in their middle.
    expect(back.resumed).toBeGreaterThan(0);
  });

  it('loses no run while its queue workers become three, and one again', async () => {
    const outcome = await app.underLoad('queue workers 1 to 3 to 1', { ...LONG, runs: 20 }, async () => {
      await app.deployed(await workers(3));
      await eventually(async () => expect(await app.pods('queue')).toHaveLength(3), 60_000);
      await app.deployed(await workers(1));
      await eventually(async () => expect(await app.pods('queue')).toHaveLength(1), 60_000);
    });
    expect(outcome).toMatchObject({ lost: 0, again: 0 });
  });

  it('loses no run while it is rolled to a new value', async () => {
    const value = await app.underLoad('a new value', LONG, async () => {
      await app.deployed(await app.change({ secrets: [{ name: 'GREETING', value: 'hello' }] }));
    });
    expect(value).toMatchObject({ lost: 0, again: 0, greetings: ['', 'hello'] });
  });

  it('loses no run when a queue worker is killed', async () => {
    const outcome = await app.underLoad('a worker killed', SHORT, async () => {
      const [worker = ''] = await app.pods('queue');
      await app.cluster.kubectl(['delete', 'pod', worker, '-n', 'team', '--grace-period=0', '--force']);
    });
    expect(outcome).toMatchObject({ lost: 0, again: 0 });
  });

  it("loses no run when the node's container runtime is restarted", async () => {
    const outcome = await app.underLoad('the container runtime restarted', SHORT, () => app.cluster.restartRuntime());
    expect(outcome).toMatchObject({ lost: 0, again: 0 });
  });

  it('loses no run for good when its PostgreSQL is killed: some may have to be begun again', async () => {
    const outcome = await app.underLoad('PostgreSQL killed', SHORT, async () => {
      await app.cluster.kubectl(['delete', 'pod', 'aegra--postgres-0', '-n', 'team', '--grace-period=0', '--force']);
    });
    // A run whose step cannot be written ends with an error.
    expect(outcome).toMatchObject({ lost: 0 });
  });
});
