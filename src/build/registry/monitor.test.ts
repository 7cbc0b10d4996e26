import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeClock, makeFakeClock } from '../../../test/support/fake-clock.ts';
import { RegistryFailed, Unavailable } from '../../runtime/errors.ts';
import type { GarbageCollection } from './collection.ts';
import { makeRegistryMetrics, type OwnRegistry, type RegistryMetrics } from './metrics.ts';
import { monitorRegistry } from './monitor.ts';

let clock: FakeClock;
let registry: Registry;
let metrics: RegistryMetrics;
let leading: AbortController;
let lines: string[];
let ended: Promise<void> | undefined;

beforeEach(() => {
  clock = makeFakeClock();
  registry = new Registry();
  metrics = makeRegistryMetrics(registry);
  leading = new AbortController();
  lines = [];
});
afterEach(() => {
  leading.abort();
  return ended;
});

function start(probe: (signal: AbortSignal) => Promise<unknown>, own?: () => OwnRegistry): void {
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
  );
  ended = monitorRegistry({ probe, own, metrics, clock, log, signal: leading.signal });
}
async function shown(): Promise<string[]> {
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line.startsWith('davit_registry_'));
}
const unreachable = new RegistryFailed('unreachable', 'The registry cannot be reached. Try again later.');

describe('any registry', () => {
  it('is up while it answers, down while it does not, and a change is logged once', async () => {
    let failure: Error | undefined;
    let asked = 0;
    start(async () => {
      asked += 1;
      if (failure) throw failure;
    });
    await clock.advance(0);
    expect(await shown()).toEqual(['davit_registry_up 1']);
    failure = unreachable;
    await clock.advance(60_000);
    expect(await shown()).toEqual(['davit_registry_up 0']);
    failure = new RegistryFailed('refused', 'The registry refused the credential.');
    await clock.advance(60_000);
    failure = undefined;
    await clock.advance(60_000);
    expect(await shown()).toEqual(['davit_registry_up 1']);
    expect(lines).toEqual(['The registry does not answer as it should', 'The registry answers again']);
    expect(asked).toBe(4);
  });

  it('is down ten seconds after it was asked in vain, also if the request cannot be ended', async () => {
    let heard: AbortSignal | undefined;
    start((signal) => {
      heard = signal;
      return new Promise(() => undefined);
    });
    await clock.advance(9_999);
    expect(await shown()).toEqual([]);
    await clock.advance(1);
    expect(await shown()).toEqual(['davit_registry_up 0']);
    expect(heard?.aborted).toBe(true);
  });

  it('is neither up nor down where its credential cannot be read', async () => {
    let failure: Error | undefined;
    start(async () => {
      if (failure) throw failure;
    });
    await clock.advance(0);
    failure = new Unavailable('the API server is away');
    await clock.advance(60_000);
    expect(await shown()).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('is looked at no longer, and has no metrics, when another process leads', async () => {
    let asked = 0;
    start(() => {
      asked += 1;
      return asked === 1 ? Promise.resolve() : new Promise(() => undefined);
    });
    await clock.advance(60_000);
    expect(await shown()).toEqual(['davit_registry_up 1']);
    leading.abort();
    await ended;
    expect(await shown()).toEqual([]);
    await clock.advance(600_000);
    expect([asked, clock.pending, lines]).toEqual([2, 0, []]);
  });
});

describe("the chart's own registry", () => {
  const UNNEEDED = 'davit_registry_unneeded_tags 30';
  const DUE = 'davit_registry_garbage_collection_due_timestamp_seconds 1767830400';
  const SUCCEEDED = 'davit_registry_garbage_collection_success_timestamp_seconds 1767225900';

  it('has the state of its collection and what stands before the next', async () => {
    let collection: GarbageCollection | undefined = {
      state: 'succeeded',
      succeededAt: 1_767_225_900,
      dueAt: 1_767_830_400,
    };
    start(
      () => Promise.resolve(),
      () => ({ collection, unneeded: 30 }),
    );
    await clock.advance(0);
    const shownWith = (state: string): string[] => [
      'davit_registry_up 1',
      `davit_registry_garbage_collection{state="${state}"} 1`,
      SUCCEEDED,
      DUE,
      UNNEEDED,
    ];
    expect(await shown()).toEqual(shownWith('succeeded'));
    collection = { ...collection, state: 'timed_out' };
    await clock.advance(60_000);
    expect(await shown()).toEqual(shownWith('timed_out'));
    collection = {};
    await clock.advance(60_000);
    expect(await shown()).toEqual(['davit_registry_up 1', UNNEEDED]);
  });

  it('is down with what is known of its collection', async () => {
    start(
      () => Promise.reject(unreachable),
      () => ({ collection: undefined, unneeded: undefined }),
    );
    await clock.advance(0);
    expect(await shown()).toEqual(['davit_registry_up 0']);
  });
});
