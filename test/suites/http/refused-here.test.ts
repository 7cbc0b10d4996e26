// The corpus of records that a platform refuses, through the HTTP API and past it: the controller gets what admission would have
// refused. test/suites/integration/api-server/admission.test.ts sends the same rows with kubectl.

import { describe, expect, it } from 'vitest';
import { Settings } from '../../../src/api/settings.ts';
import { DEPLOYMENTS } from '../../../src/kube/api-resources.ts';
import { hostile, payloadSpec, refusedHere } from '../../support/bad-records.ts';
import { aController, aServer, conditionIn, putRecord } from '../reconcile/harness.ts';
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
