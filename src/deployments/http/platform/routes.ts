// GET /v2/platform, for whoever may list deployments in the tenant.

import type { Tenant } from '../../../organization/facade/authorization.ts';
import { synced } from '../../../organization/facade/caches.ts';
import type { FacadeContext } from '../../../organization/facade/collection.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import type { App } from '../../../organization/facade/validation.ts';
import type { CodeHostIntegration } from '../../../schema/code-host-integration.ts';
import { Platform } from './payloads.ts';
import { presentPlatform } from './presenter.ts';

export interface PlatformNeeds extends Pick<FacadeContext, 'auth' | 'settings' | 'caches'> {
  /** The integrations that a tenant may use. */
  readonly integrations: { list(tenant: Tenant): readonly CodeHostIntegration[] };
}

export function registerPlatform(app: App, { auth, settings, integrations, caches }: PlatformNeeds): void {
  const { tenants, listeners, templates } = caches;
  app.get('/v2/platform', {
    onRequest: auth.as('list'),
    schema: {
      tags: ['platform'],
      operationId: 'getPlatform',
      summary: 'Get what the platform offers to this tenant: sources, base images, hosts, limits, default sizes',
      response: { 200: Platform, ...failures(401, 403, 422) },
    },
    handler: async (request) => {
      const { tenant } = auth.admitted(request);
      return presentPlatform(settings, {
        tenant,
        namespace: tenants.get({ name: tenant.namespace }),
        integrations: integrations.list(tenant),
        listeners: settings.listeners.enabled ? synced(listeners, 'listeners').list(tenant.namespace) : [],
        templates: synced(templates, 'templates').list(),
      });
    },
  });
}
