// Helm upgrades Davit from the state that landed last to this one, under records that run in real pods, and back again: no
// pod is restarted or replaced, no revision is made, and the records are READY all the while.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allReady, lasting, namedByRecords, recordsToUpgrade, statesIn } from '../../../support/upgrade/records.ts';
import {
  chart,
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

const TEAM = 'upgraded';
const noPods = await whyNoPods();
if (noPods !== undefined) say(`The upgrade is left out: ${noPods}`);

let ground: Ground;
let before: readonly string[];
let watching: Watching | undefined;

beforeAll(async () => {
  if (noPods === undefined) ground = await prepareGround({ withLanded: true });
});
stepByStep();
afterAll(async () => {
  await watching?.end();
  await ground?.stop();
});

const kubectl = (args: readonly string[], input?: object): Promise<string> =>
  ground.cluster.kubectl(args, input && { input: JSON.stringify(input) });

const helm = (...args: readonly string[]): Promise<string> => ground.cluster.helm([...args, '--namespace', NAMESPACE]);

function landed(): NonNullable<Ground['landed']> {
  if (!ground.landed) throw new Error('the landed release was not asked for');
  return ground.landed;
}

/** Later values win. */
function imageValues({ name }: { readonly name: string }): string[] {
  return ['--set-string', `image.tag=${name.slice(name.lastIndexOf(':') + 1)}`];
}

const names = (): string[] => recordsToUpgrade(TEAM, ground.images).map(({ metadata }) => metadata.name);

const states = (): Promise<string[]> => statesIn(TEAM, kubectl);

interface Watching {
  /** Every look that saw anything but READY. */
  readonly others: string[];
  readonly looks: () => number;
  end(): Promise<void>;
}

/** Looks at the records without pause. */
function watchStates(): Watching {
  const others: string[] = [];
  let looks = 0;
  let isOver = false;
  const wanted = allReady(names()).join(', ');
  const done = (async () => {
    while (!isOver) {
      const seen = (await states().catch((error: unknown) => [String(error)])).join(', ');
      looks += 1;
      if (seen !== wanted) others.push(seen);
      await sleep(200);
    }
  })();
  return {
    others,
    looks: () => looks,
    end: () => {
      isOver = true;
      return done;
    },
  };
}

/** Upgrades, waits until pods of the image asked for have the lead and have gone over the records. */
async function upgradeTo(from: string, image: { readonly name: string }, ...more: readonly string[]): Promise<void> {
  watching = watchStates();
  const old = await podsOf(ground.cluster, NAMESPACE, 'app.kubernetes.io/name=davit');
  const args = ['upgrade', 'davit', from, '--reset-then-reuse-values', ...imageValues(image), ...more];
  await helm(...args, '--wait', '--timeout', '180s');
  const gone = new Set(old.map(({ metadata }) => metadata.uid));
  const pods = await until(
    'new processes alone',
    () => podsOf(ground.cluster, NAMESPACE, 'app.kubernetes.io/name=davit'),
    (now) => now.length === old.length && now.every(({ metadata }) => !gone.has(metadata.uid)),
  );
  await until(
    'one of the new ones to lead',
    () => kubectl(['get', 'lease', 'davit-controller', '-n', NAMESPACE, '-o', 'jsonpath={.spec.holderIdentity}']),
    (holder) => pods.some(({ metadata }) => metadata.name === holder),
  );
  const controller = pods.find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'controller');
  const path = '{.spec.containers[0].image}';
  expect(
    await kubectl(['get', 'pod', controller?.metadata.name ?? '', '-n', NAMESPACE, '-o', `jsonpath=${path}`]),
  ).toBe(image.name);
  // A new leader goes over every record at once; a pod that it would restart has begun to end by then.
  await sleep(15_000);
  await watching.end();
  const { others, looks } = watching;
  expect(others).toEqual([]);
  say(`${looks()} looks at the records while Helm went to ${image.name}: READY in each`);
  expect(looks()).toBeGreaterThan(10);
}

describe.skipIf(noPods !== undefined)('Helm', () => {
  it('installs the state that landed last, and records come up with it', async () => {
    await helm(
      'install',
      'davit',
      landed().chart,
      '--create-namespace',
      ...ground.values,
      ...imageValues(landed().image),
      '--wait',
      '--timeout',
      '180s',
    );
    await kubectl(['create', 'namespace', TEAM]);
    await kubectl(['label', 'namespace', TEAM, 'davit.dev/tenant=true']);
    await kubectl(['apply', '-f', '-'], namedByRecords(TEAM));
    for (const record of recordsToUpgrade(TEAM, ground.images, { small: true }))
      await kubectl(['apply', '-f', '-'], record);
    await until('every record to be READY', states, (now) => now.join() === allReady(names()).join(), 170_000);
    before = await lasting((args) => kubectl(args), TEAM);
    expect(restartsOf(await podsOf(ground.cluster, TEAM, 'davit.dev/deployment'))).toBe(0);
    say(`${names().length} records run with the state that landed last, in ${pods(before).length} pods`);
  });

  it('upgrades to this one, with other settings too: the same pods, 0 restarts, no new revision', async () => {
    await upgradeTo(
      chart,
      ground.image,
      '--set',
      'settings.pods.progressDeadlineSeconds=700,settings.pods.healthPath=/healthy,settings.images.pullPolicy=Always,settings.deploymentType=prod',
    );
    expect(await lasting((args) => kubectl(args), TEAM)).toEqual(before);
    say(`0 of ${pods(before).length} pods were restarted or replaced, 0 revisions were made`);
  });

  it('and back: nothing is restarted either', async () => {
    await upgradeTo(landed().chart, landed().image);
    expect(await lasting((args) => kubectl(args), TEAM)).toEqual(before);
    say(`Back at the state that landed last: the same ${pods(before).length} pods, the same revisions`);
  });
});

function pods(lines: readonly string[]): string[] {
  return lines.filter((line) => line.startsWith('Pod '));
}
