// A facade whose settings name a registry that is there, and verifies what the facade signs.

import { defaultSettings, type Settings } from '../../src/kinds/settings.ts';
import { SECRETS } from '../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/client.ts';
import { type Facade, makeFacade } from '../suites/http/facade.ts';
import { type FakeRegistry, startFakeRegistry } from './fake-registry.ts';

export interface FacadeWithRegistry {
  readonly facade: Facade;
  readonly registry: FakeRegistry;
  close(): Promise<void>;
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export async function makeFacadeWithRegistry(
  settings: Partial<Settings> = {},
  more: Partial<NonNullable<Settings['builds']['registry']>> = {},
  limits: Parameters<typeof makeFacade>[1] = {},
  options: Parameters<typeof makeFacade>[2] = {},
): Promise<FacadeWithRegistry> {
  const registry = await startFakeRegistry();
  const builds = {
    ...defaultSettings().builds,
    images: {
      ...defaultSettings().builds.images,
      builder: 'registry.example/builder:1',
      davit: 'registry.example/davit:1',
    },
    registry: { host: registry.host, insecure: true, tokens: true, ...more },
  };
  const facade = await makeFacade({ hosting: 'both', builds, ...settings }, limits, { ...options, withRegistry: true });
  registry.keys = async () => {
    const found = facade.kube
      .objects<Secret>(SECRETS)
      .find(({ metadata }) => metadata.name === 'davit-registry-tokens' && metadata.namespace === 'davit-system');
    return Buffer.from(found?.data?.['jwks.json'] ?? '', 'base64').toString() || '{"keys":[]}';
  };
  return {
    facade,
    registry,
    async close() {
      await facade.app.close();
      await facade.registry?.close();
      await registry.close();
    },
  };
}
