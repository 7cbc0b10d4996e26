// Hosts at the HTTP door: what a tenant may claim, before anything is made.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Settings } from '../../../src/kinds/settings.ts';
import { NAMESPACES } from '../../../src/runtime/kube/api-resources.ts';
import { type Facade, makeFacade, TENANT } from './facade.ts';

const INGRESS = Settings.parse({ address: { kind: 'ingress', baseDomain: 'apps.example' } });

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade(INGRESS);
  await facade.kube.mergePatch(
    NAMESPACES,
    { name: TENANT.namespace },
    { metadata: { annotations: { 'davit.dev/hosts': '*.shops.example' } } },
  );
  facade.tenants.fill();
  facade.kube.clearWrites();
});
afterEach(() => facade.app.close());

function body(custom_url: string | null): object {
  return {
    name: 'shop',
    source: 'external_docker',
    source_config: { custom_url },
    source_revision_config: { image_uri: 'registry.example/app:1' },
    secrets: [],
  };
}

const NOT_ALLOWED = [
  {
    loc: ['body', 'source_config', 'custom_url'],
    msg: 'this tenant cannot claim this host. It can claim: NAME.apps.example, NAME-team-a.apps.example, *.shops.example',
    type: 'value_error',
  },
];

describe('a host that the tenant cannot claim', () => {
  it.each(['foreign.example', 'https://shop-team-b.apps.example', 'a.b.shops.example'])(
    '%s: 422, and nothing is written',
    async (url) => {
      const { status, body: answer } = await facade.call('POST', '/v2/deployments', body(url));
      expect([status, answer.detail]).toEqual([422, NOT_ALLOWED]);
      expect(facade.kept()).toEqual([]);
    },
  );

  it("is rejected in a PATCH, but the record's current host is not checked again", async () => {
    const { body: made } = await facade.call('POST', '/v2/deployments', body('a.shops.example'));
    const at = `/v2/deployments/${made.id}`;
    const refused = await facade.call('PATCH', at, { source_config: { custom_url: 'foreign.example' } });
    expect([refused.status, refused.body.detail]).toEqual([422, NOT_ALLOWED]);
    await facade.kube.mergePatch(NAMESPACES, { name: TENANT.namespace }, { metadata: { annotations: null } } as object);
    facade.tenants.fill();
    const same = await facade.call('PATCH', at, { source_config: { custom_url: 'https://a.shops.example' } });
    expect([same.status, same.body.source_config.custom_url]).toEqual([200, 'https://a.shops.example']);
  });
});

describe('a host that the tenant can claim', () => {
  it.each([null, 'shop.apps.example', 'shop-team-a.apps.example', 'https://a.shops.example'])('%s', async (url) => {
    expect((await facade.call('POST', '/v2/deployments', body(url))).status).toBe(201);
  });

  it('is shown when it is requested, and no longer when the controller reports that it is not in force', async () => {
    const customUrl = 'a.shops.example';
    const spec = { sourceConfig: { customUrl } } as never;
    const shown = async (name: string, status?: object): Promise<unknown> => {
      const { metadata } = facade.seed({ metadata: { name, generation: 2 } as never, spec, status: status as never });
      return (await facade.call('GET', `/v2/deployments/${metadata.uid}`)).body.source_config.custom_url;
    };
    const url = `https://${customUrl}`;
    expect([
      await shown('new'),
      await shown('changed', { observedGeneration: 1, url: 'https://old.shops.example' }),
      await shown('made', { observedGeneration: 2, url }),
      await shown('refused', { observedGeneration: 2 }),
    ]).toEqual([url, url, url, null]);
  });

  it('the default address is shown, and sending it back changes nothing', async () => {
    const made = facade.seed({
      metadata: { name: 'shop' },
      status: { state: 'READY', url: 'https://shop-team-a.apps.example' },
    });
    const at = `/v2/deployments/${made.metadata.uid}`;
    const { body: read } = await facade.call('GET', at);
    expect(read.source_config.custom_url).toBe('https://shop-team-a.apps.example');
    await facade.call('PATCH', at, { source_config: { custom_url: read.source_config.custom_url } });
    expect(facade.kept()).toEqual([]);
  });
});
