// GET /v2/platform, for whoever may list deployments in the tenant.

import type { Tenant } from '../../../api/authorization.ts';
import { synced } from '../../../api/caches.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import type { CodeHostIntegration } from '../../../kinds/code-host-integration.ts';
import { Forbidden } from '../../../runtime/errors.ts';
import { OBJECT_STORES, POSTGRES_CLUSTERS } from '../../../runtime/kube/api-resources.ts';
import type { Resource } from '../../../runtime/kube/client.ts';
import { servedResources } from '../../../runtime/kube/discovery.ts';
import { makeRemembered } from '../../../runtime/remembered.ts';
import { Platform } from './payloads.ts';
import { presentPlatform } from './presenter.ts';

export interface PlatformNeeds extends Pick<FacadeContext, 'auth' | 'settings' | 'caches' | 'kube' | 'now'> {
  /** The integrations that a tenant may use. */
  readonly integrations: { list(tenant: Tenant): readonly CodeHostIntegration[] };
}

export function registerPlatform(app: App, needs: PlatformNeeds): void {
  const { auth, settings, integrations, caches } = needs;
  const { tenants, listeners, templates } = caches;
  const serves = makeServes(needs);
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
        cloudNativePg: await serves(POSTGRES_CLUSTERS),
        archives: await serves(OBJECT_STORES),
      });
    },
  });
}

/** So long an answer is taken again, in milliseconds. */
const KNOWN_MS = 30_000;

/** Whether the cluster serves a kind. Throws Unavailable. */
function makeServes({ kube, now }: Pick<FacadeContext, 'kube' | 'now'>): (resource: Resource) => Promise<boolean> {
  const remembered = makeRemembered<ReadonlySet<string>>({ now, forMs: KNOWN_MS });
  return async (resource) => {
    const ask = (): Promise<ReadonlySet<string>> => servedResources(kube, resource).catch(noneIfForbidden);
    return (await remembered(`${resource.group}/${resource.version}`, ask)).has(resource.plural);
  };
}

/** Every service account may ask. What it is refused is not there for its tenants either. */
function noneIfForbidden(error: unknown): ReadonlySet<string> {
  if (error instanceof Forbidden) return new Set();
  throw error;
}
