import { describe, expect, it } from 'vitest';
import type { Pod } from '../../deploy/assess/observed.ts';
import {
  ARGUMENT,
  arming,
  COLLECT,
  type CollectionConfigMap,
  type CollectionState,
  type CollectionStep,
  collectionShown,
  dueAt,
  isCollectionDue,
  stepOf,
  storedIn,
} from './collection.ts';

const NOON = Date.parse('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const LIMIT = 30 * MINUTE;
const at = (minutes: number): Date => new Date(NOON + minutes * MINUTE);
const aConfigMap = (data?: Record<string, string>): CollectionConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'davit-registry-collection', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...(data && { data }),
});
const ARMED = aConfigMap((arming(undefined, 'old', at(0)) as { data: Record<string, string> }).data);
/** The second attempt has begun. */
const DISARMED = aConfigMap({ ...ARMED.data, [ARGUMENT]: '--help' });

type Status = Omit<NonNullable<NonNullable<Pod['status']>['initContainerStatuses']>[number], 'name'>;
const pod = (collect: Status | undefined, uid = 'new'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'davit-registry-0', uid },
  status: {
    initContainerStatuses: [
      { name: 'mesh', restartCount: 3, state: { terminated: { exitCode: 0 } } },
      ...(collect ? [{ name: 'collect-garbage', ...collect }] : []),
    ],
  },
});
const running = { running: { startedAt: at(1).toISOString() } };
const ended = (exitCode: number, message?: string): NonNullable<Status['state']> => ({
  terminated: { exitCode, ...(message !== undefined && { message }) },
});
const step = (configMap: CollectionConfigMap, of: Pod | undefined, minutes = 5): CollectionStep =>
  stepOf(storedIn(configMap), of, LIMIT, at(minutes));
/** The ConfigMap after the step's patch. */
function after(configMap: CollectionConfigMap, { patch }: CollectionStep): CollectionConfigMap {
  const { data } = (patch ?? {}) as { data?: Record<string, string> };
  return { ...configMap, data: { ...configMap.data, ...data } };
}

describe('a collection that is armed', () => {
  it('has the next pod collect', () => {
    expect(ARMED.data?.[ARGUMENT]).toBe(COLLECT);
    expect(storedIn(ARMED)).toMatchObject({ isArmed: true, state: { phase: 'armed', replaced: 'old' } });
  });

  it.each<[string, Pod | undefined]>([
    ['there is no pod', undefined],
    ['the old pod ends, which started without', pod({ restartCount: 0, state: ended(0) }, 'old')],
    ['the new pod has no status yet', pod(undefined)],
    ['its turn has not come', pod({ restartCount: 0, state: {} })],
    ['it runs', pod({ restartCount: 0, state: running })],
    ['it has failed once', pod({ restartCount: 0, state: ended(1) })],
    ['it has failed once and waits', pod({ restartCount: 0, state: {}, lastState: ended(1) })],
  ])('is waited for while %s', (_what, of) => {
    expect(step(ARMED, of)).toEqual({});
  });

  it('ends when it has succeeded', () => {
    const done = step(ARMED, pod({ restartCount: 0, state: ended(0) }));
    expect(done.ended).toEqual({
      phase: 'succeeded',
      since: at(5).toISOString(),
      succeededAt: at(5).toISOString(),
    });
    expect(after(ARMED, done).data?.[ARGUMENT]).toBe('--help');
    expect(step(after(ARMED, done), pod({ restartCount: 0, state: ended(0) }))).toEqual({});
  });

  it('is attempted twice, and the registry then starts whatever the command says', () => {
    const second = pod({ restartCount: 1, state: running, lastState: ended(1) });
    const disarmed = step(ARMED, second);
    expect(after(ARMED, disarmed)).toEqual(DISARMED);
    expect(disarmed.ended).toBeUndefined();
    expect(step(DISARMED, second)).toEqual({});
    const succeeded = step(DISARMED, pod({ restartCount: 1, state: ended(0), lastState: ended(1) }));
    expect(succeeded.ended).toMatchObject({ phase: 'succeeded' });
    const words = `failed to mark: ${'x'.repeat(1000)}`;
    for (const third of [
      { restartCount: 2, state: running, lastState: ended(1, words) },
      { restartCount: 2, state: ended(0), lastState: ended(1, words) },
      { restartCount: 7, state: {}, lastState: ended(1, words) },
    ]) {
      const failed = step(DISARMED, pod(third));
      expect(failed.ended).toMatchObject({ phase: 'failing', reason: words.slice(0, 500) });
      expect(failed.replacesPod).toBeUndefined();
    }
  });

  it('has failed also where the command says nothing, and where nobody looked until it ran without effect', () => {
    expect(step(ARMED, pod({ restartCount: 3, state: ended(0), lastState: ended(137) })).ended).toMatchObject({
      phase: 'failing',
      reason: 'Exit code 137.',
    });
  });

  it('has not succeeded because another pod starts without it', () => {
    expect(step(DISARMED, pod({ restartCount: 0, state: ended(0) }, 'third')).ended).toMatchObject({
      phase: 'failing',
    });
  });

  it('is ended at its time limit: the pod is replaced by one that collects nothing', () => {
    const of = pod({ restartCount: 0, state: running });
    expect(step(ARMED, of, 29)).toEqual({});
    const late = step(ARMED, of, 30);
    expect(late).toMatchObject({ ended: { phase: 'timed_out' }, replacesPod: true });
    expect(after(ARMED, late).data?.[ARGUMENT]).toBe('--help');
    // A controller that ended between the two: the pod is replaced all the same.
    expect(step(after(ARMED, late), of, 32)).toEqual({ replacesPod: true });
    expect(step(after(ARMED, late), pod({ restartCount: 0, state: ended(0) }, 'third'), 33)).toEqual({});
  });

  it.each<[string, Pod | undefined, string]>([
    ['no pod has begun', undefined, 'The pod of the registry did not start the garbage collection.'],
    ['the first attempt has failed', pod({ restartCount: 0, state: {}, lastState: ended(1, 'full\n') }), 'full'],
  ])('is given up at its time limit, if %s', (_what, of, reason) => {
    expect(step(ARMED, of, 31)).toEqual({
      patch: expect.anything() as object,
      ended: { phase: 'failing', since: at(31).toISOString(), reason },
    });
  });

  it('remembers when one last succeeded', () => {
    const before = storedIn(after(ARMED, step(ARMED, pod({ restartCount: 0, state: ended(0) })))).state;
    const again = aConfigMap((arming(before, 'new', at(60)) as { data: Record<string, string> }).data);
    const failed = after(
      again,
      step(again, pod({ restartCount: 2, state: ended(0), lastState: ended(1) }, 'third'), 65),
    );
    expect(storedIn(failed).state).toMatchObject({ phase: 'failing', succeededAt: at(5).toISOString() });
  });
});

describe('a ConfigMap that somebody has changed', () => {
  it('is disarmed, where no collection is known', () => {
    expect(step(aConfigMap({ [ARGUMENT]: COLLECT }), pod(undefined))).toEqual({
      patch: { data: { [ARGUMENT]: '--help' } },
    });
    expect(step(aConfigMap({ [ARGUMENT]: COLLECT, state: '{"phase":"armed"}' }), pod(undefined)).patch).toBeDefined();
  });
  it('asks for a collection by an annotation, which arming removes', () => {
    const asked = aConfigMap();
    expect(storedIn(asked).isRequested).toBe(false);
    const metadata = { ...asked.metadata, annotations: { 'davit.dev/collect': 'now' } };
    expect(storedIn({ ...asked, metadata }).isRequested).toBe(true);
    expect(arming(undefined, 'old', at(0))).toMatchObject({ metadata: { annotations: { 'davit.dev/collect': null } } });
  });
});

describe('the next collection', () => {
  const createdAt = at(0);
  const state = (phase: CollectionState['phase']): CollectionState => ({ phase, since: at(60).toISOString() });
  it.each<[string, CollectionState | undefined, Date, number]>([
    ['counts from when the platform began to collect', undefined, createdAt, 7],
    ['from the last one', state('succeeded'), at(60), 7],
    ['from one that took too long', state('timed_out'), at(60), 7],
    ['is a day after one that failed', state('failing'), at(60), 1],
  ])('%s', (_what, before, since, everyDays) => {
    const stored = { state: before, createdAt, isArmed: false, isRequested: false };
    const seconds = since.getTime() / 1000 + everyDays * 86_400;
    expect(dueAt(stored, 7)).toEqual(new Date(seconds * 1000));
    expect(collectionShown(stored, 7).dueAt).toBe(seconds);
    expect(collectionShown(stored, undefined).dueAt).toBeUndefined();
  });

  it.each([
    ['does not begin outside of the hour', '03:00 on 1', {}, '04:00 on 10', false],
    ['does not begin before it is due', '03:40 on 11', {}, '03:30 on 10', false],
    ['begins in the hour of the last one', '03:40 on 10', {}, '03:30 on 10', true],
    ['waits for builds', '03:40 on 10', { isBuilding: true }, '03:30 on 10', false],
    ['waits for them one day', '03:40 on 10', { isBuilding: true }, '03:30 on 11', true],
    ['waits for an image at risk', '03:40 on 10', { isAtRisk: true }, '03:30 on 10', false],
    ['waits for it one day', '03:40 on 10', { isAtRisk: true }, '03:30 on 11', true],
    ['begins at once if somebody asks', '03:40 on 15', { isBuilding: true, isRequested: true }, '12:00 on 10', true],
    [
      'waits for an image at risk if somebody asks',
      '03:40 on 15',
      { isAtRisk: true, isRequested: true },
      '12:00 on 10',
      false,
    ],
  ])('%s', (_what, due, more, now, begins) => {
    const [dueOn, nowOn] = [due, now].map((text) => {
      const [time, day] = text.split(' on ') as [string, string];
      return new Date(`2026-03-${day.padStart(2, '0')}T${time}:00Z`);
    }) as [Date, Date];
    expect(isCollectionDue(dueOn, 3, { isRequested: false, isBuilding: false, isAtRisk: false, ...more }, nowOn)).toBe(
      begins,
    );
  });

  it('is shown with how the last one goes', () => {
    const shown = (configMap: CollectionConfigMap): object => collectionShown(storedIn(configMap), undefined);
    expect(shown(aConfigMap())).toEqual({});
    expect(shown(ARMED)).toEqual({ state: 'running' });
    const done = after(ARMED, step(ARMED, pod({ restartCount: 0, state: ended(0) })));
    expect(shown(done)).toEqual({ state: 'succeeded', succeededAt: at(5).getTime() / 1000 });
    expect(shown(after(ARMED, step(ARMED, pod({ restartCount: 0, state: running }), 30)))).toEqual({
      state: 'timed_out',
    });
    expect(shown(after(ARMED, step(ARMED, undefined, 30)))).toEqual({ state: 'failing' });
  });
});
