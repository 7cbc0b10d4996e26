// The corpus of records that a platform refuses, through the HTTP API and past it: the controller gets what admission
// would have refused. test/suites/integration/api-server/admission.test.ts sends the same rows with kubectl.

import { describe, expect, it } from 'vitest';
import { Settings } from '../../../src/kinds/settings.ts';
import { DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, putRecord, says } from '../../kit/memory/record.ts';
import { hostile, payloadSpec, refusedHere } from '../../support/bad-records.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from '../reconcile/harness.ts';
import { aBody, makeFacade } from './facade.ts';

describe.each([...refusedHere, ...hostile.map((row) => ({ ...row, settings: {}, says: undefined }))])(
  '$name',
  ({ settings, spec, says }) => {
    it('is refused over HTTP', async () => {
      const facade = await makeFacade(Settings.parse(settings));
      try {
        const body = aBody({ source_config: { resource_spec: payloadSpec(spec) } });
        const answer = await facade.call('POST', '/v2/deployments', body);
        expect(answer.status).toBe(422);
        if (says !== undefined)
          expect(answer.body.detail.map(({ msg }: { msg: string }) => msg).join()).toContain(says);
      } finally {
        await facade.app.close();
      }
    });
    it('is reported by the controller, and nothing is made of it', async () => {
      const kube = aServer();
      putRecord(kube, { sourceConfig: { resourceSpec: spec } });
      const controller = await aController(kube, Settings.parse(settings));
      await controller.reconcile();
      const condition = conditionIn(kube, 'PolicyAccepted');
      expect(condition?.status).toBe('False');
      expect(['PodPolicyViolated', 'LimitExceeded']).toContain(condition?.reason);
      if (says !== undefined) expect(condition?.message).toContain(says);
      expect(kube.objects(DEPLOYMENTS)).toEqual([]);
    });
  },
);

describe('a scale beyond the limit, which makes no revision,', () => {
  const limited = (scale: number): Settings => Settings.parse({ limits: { scale } });
  const scaleTo = (kube: FakeKube, maxScale: number): Promise<void> =>
    edit(kube, { spec: { sourceConfig: { resourceSpec: { maxScale } } } });
  const maxima = (kube: FakeKube): unknown[] =>
    kube
      .objects<KubeObject & { spec: { maxReplicas: number } }>(HORIZONTAL_POD_AUTOSCALERS)
      .map(({ spec }) => spec.maxReplicas);

  it('is reported by the controller and changes nothing; a narrower limit leaves alone what is in force', async () => {
    const { kube, ...controller } = await aConverged({}, aServer(), limited(10));
    await scaleTo(kube, 50);
    await converge({ kube, ...controller });
    expect([says(kube, 'PolicyAccepted'), maxima(kube)]).toEqual(['False LimitExceeded', []]);
    await scaleTo(kube, 9);
    await converge({ kube, ...controller });
    expect([says(kube, 'PolicyAccepted'), maxima(kube)]).toEqual(['True Accepted', [9]]);
    const narrower = await aController(kube, limited(3));
    await converge(narrower);
    expect([says(kube, 'PolicyAccepted'), maxima(kube)]).toEqual(['True Accepted', [9]]);
    await scaleTo(kube, 8);
    await converge(narrower);
    expect([says(kube, 'PolicyAccepted'), maxima(kube)]).toEqual(['False LimitExceeded', [9]]);
  });
});
