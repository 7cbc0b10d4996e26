// Images of other tenants, at the door of kubectl: the chart's policy davit-foreign-images on a real API server. admission.test.ts has it.

import { beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../../cluster/cluster.ts';
import { FOREIGN_IMAGES, OWN } from '../../../support/foreign-images.ts';
import { eventually } from '../../../support/running-davit.ts';
import { type Answer, type Door, releaseChart } from './door.ts';

const RECORDS = '/apis/davit.dev/v1alpha1/namespaces/team/appdeployments';

const naming = (image: string, imageUri = 'registry.example/shop:1', lists: object = {}): object => ({
  source: 'external_docker',
  sourceConfig: { resourceSpec: { sidecars: [{ name: 'helper', image }], ...lists } },
  sourceRevisionConfig: { imageUri },
});

/** Tests on a cluster with the chart and namespace team, which is there when they begin. */
export function describeForeignImages(on: () => { readonly cluster: Cluster; readonly door: Door }): void {
  /** Path of the repositories of namespace team. */
  let own: string;
  beforeAll(async () => {
    const { body } = await on().door.call('GET', '/api/v1/namespaces/team');
    own = `team-${(body['metadata'] as { uid: string }).uid.slice(0, 8)}`;
  });
  function create(spec: object, query = '?dryRun=All'): Promise<Answer> {
    const metadata = { name: query === '' ? 'shop' : 'asked' };
    return on().door.call('POST', `${RECORDS}${query}`, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata,
      spec,
    });
  }

  describe.each(FOREIGN_IMAGES)('images of other tenants, in $registry', ({ registry, cases }) => {
    const refused = cases.find(({ isForeign }) => isForeign)?.image ?? '';
    const accepted = cases.filter(({ isForeign }) => !isForeign);

    beforeAll(async () => {
      await releaseChart(on().cluster, {
        settings: ['--set-json', `settings.builds.registry=${JSON.stringify(registry)}`],
      });
      // The policy of the registry before refuses some of these.
      await eventually(async () => {
        expect((await create(naming(refused))).message).toContain('not for this tenant');
        const answers = accepted.map(({ image }) => create(naming(image.replaceAll(OWN, own))));
        expect((await Promise.all(answers)).map(({ message }) => message)).toEqual(accepted.map(() => ''));
      });
    }, 300_000);

    it.each(cases)('$what: $isForeign', async ({ image: of, isForeign }) => {
      const image = of.replaceAll(OWN, own);
      const asSidecar = await create(naming(image));
      if (!isForeign) {
        expect(asSidecar).toMatchObject({ message: '', status: 201 });
        return;
      }
      const asInit = await create(
        naming('helper:1', 'registry.example/shop:1', { initContainers: [{ name: 'first', image }] }),
      );
      const asOwn = await create(naming('helper:1', image));
      // The schema's pattern refuses some spellings before the policy does, at all three places.
      const [reason = '', ...others] = [asOwn, asSidecar, asInit].map(
        ({ message }) => /not for this tenant|(?:imageUri|image) in body should match/.exec(message)?.[0],
      );
      expect(reason).not.toBe('');
      expect(others).toEqual([reason, reason].map((one) => one.replace('imageUri', 'image')));
    });

    it('leaves alone what a record named before', async () => {
      const binding = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/davit-foreign-images';
      await on().door.call('DELETE', binding);
      await eventually(async () => expect((await create(naming(refused))).status).toBe(201));
      await create(naming(refused), '');
      await on().door.call('POST', binding.replace('/davit-foreign-images', ''), {
        metadata: { name: 'davit-foreign-images' },
        spec: { policyName: 'davit-foreign-images', validationActions: ['Deny'] },
      });
      await eventually(async () => expect((await create(naming(refused))).status).not.toBe(201));
      const patch = (image: string): Promise<Answer> =>
        on().door.call('PATCH', `${RECORDS}/shop`, {
          spec: { sourceConfig: { resourceSpec: { cpu: 1, sidecars: [{ name: 'helper', image }] } } },
        });
      expect(await patch(refused)).toMatchObject({ message: '', status: 200 });
      expect((await patch(`${refused.split('@')[0]}x`)).message).toContain('not for this tenant');
      await on().door.call('DELETE', `${RECORDS}/shop`);
    });
  });
}
