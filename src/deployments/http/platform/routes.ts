// GET /v2/platform, for whoever may list deployments in the tenant.

import { OBJECT_STORES, POSTGRES_CLUSTERS } from '../../../lib/kube/api-resources.ts';
import type { Tenant } from '../../../organization/facade/authorization.ts';
import { synced } from '../../../organization/facade/caches.ts';
import type { FacadeContext } from '../../../organization/facade/collection.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import type { App } from '../../../organization/facade/validation.ts';
import type { CodeHostIntegration } from '../../../schema/code-host-integration.ts';
import { Platform } from './payloads.ts';
import { presentPlatform } from './presenter.ts';
import { makeServedKinds } from './served-kinds.ts';

export interface PlatformNeeds extends Pick<FacadeContext, 'auth' | 'settings' | 'caches' | 'kube' | 'now'> {
  /** The integrations that a tenant may use. */
  readonly integrations: { list(tenant: Tenant): readonly CodeHostIntegration[] };
}

export function registerPlatform(app: App, needs: PlatformNeeds): void {
  const { auth, settings, integrations, caches } = needs;
  const { tenants, listeners, templates } = caches;
  const served = makeServedKinds(needs);
  app.get('/v2/platform', {
    onRequest: auth.as('list'),
    schema: {
      tags: ['platform'],
      operationId: 'getPlatform',
      summary:
        'Get what the platform offers to this tenant: sources, base images, databases, hosts, limits, default sizes',
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
        cloudNativePg: await served.has(POSTGRES_CLUSTERS),
        archives: await served.has(OBJECT_STORES),
      });
    },
  });
}
