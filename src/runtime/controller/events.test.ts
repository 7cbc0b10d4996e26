import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden } from '../errors.ts';
import { EVENTS } from '../kube/api-resources.ts';
import type { KubeObject } from '../kube/client.ts';
import { makeEventRecorder } from './events.ts';

const regarding = {
  apiVersion: 'davit.dev/v1alpha1',
  kind: 'AppDeployment',
  metadata: { namespace: 't1', name: 'x', uid: 'u1', resourceVersion: '7' },
};
const event = {
  regarding,
  type: 'Warning' as const,
  reason: 'ImagePullFailed',
  action: 'Deploy',
  note: 'Image cannot be pulled',
};

function aRecorder(remembered = 10) {
  const [kube, clock] = [makeFakeKube(), makeFakeClock()];
  const log = pino({ level: 'silent' });
  const recorder = makeEventRecorder({
    client: kube,
    controller: 'davit.dev/controller',
    instance: 'i',
    log,
    clock,
    remembered,
  });
  return { kube, clock, recorder };
}

describe('event recorder', () => {
  it('sends what the API server accepts', async () => {
    const { kube, recorder } = aRecorder();
    recorder.record(event);
    await recorder.flush();
    expect(kube.objects(EVENTS)[0]).toMatchObject({
      metadata: { namespace: 't1' },
      type: 'Warning',
      reason: 'ImagePullFailed',
      action: 'Deploy',
      note: 'Image cannot be pulled',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'davit.dev/controller',
      regarding: { kind: 'AppDeployment', namespace: 't1', name: 'x', uid: 'u1' },
    });
  });

  it('counts what repeats itself within ten minutes in a series, so that the newest event is the last that happened', async () => {
    const { kube, clock, recorder } = aRecorder();
    recorder.record(event);
    recorder.record({ ...event, type: 'Normal', reason: 'Serving', note: 'It serves.' });
    for (let i = 0; i < 2; i++) {
      await clock.advance(60_000);
      recorder.record(event);
    }
    await recorder.flush();
    const seen = kube.objects<KubeObject & { reason: string; series?: object }>(EVENTS);
    expect(Object.fromEntries(seen.map(({ reason, series }) => [reason, series]))).toEqual({
      ImagePullFailed: { count: 3, lastObservedTime: '2026-01-01T00:02:00.000000Z' },
      Serving: undefined,
    });
    await clock.advance(600_000);
    recorder.record(event);
    await recorder.flush();
    expect(kube.objects(EVENTS)).toHaveLength(3);
  });

  it('sends again what the API server has deleted, and forgets what is long ago', async () => {
    const { kube, recorder } = aRecorder();
    recorder.record(event);
    await recorder.flush();
    const { namespace = '', name = '' } = kube.objects(EVENTS)[0]?.metadata ?? {};
    kube.erase(EVENTS, { namespace, name });
    recorder.record(event);
    await recorder.flush();
    expect(kube.objects(EVENTS)).toHaveLength(1);
    for (let i = 0; i < 20; i++) recorder.record({ ...event, note: `n${i}` });
    recorder.record(event);
    await recorder.flush();
    expect(kube.objects(EVENTS)).toHaveLength(22);
  });

  it('cuts a note at 1024 bytes, at a whole character', async () => {
    const { kube, recorder } = aRecorder();
    recorder.record({ ...event, note: 'ü'.repeat(2000) });
    await recorder.flush();
    const { note = '' } = (kube.writes[0]?.body ?? {}) as { note?: string };
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
    expect(note).toMatch(/^ü+…$/);
  });

  it('is not disturbed by a refusal', async () => {
    const { kube, recorder } = aRecorder();
    kube.failOn(() => new Forbidden('no'));
    recorder.record(event);
    await expect(recorder.flush()).resolves.toBeUndefined();
  });
});
