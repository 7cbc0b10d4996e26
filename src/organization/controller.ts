// The controller of OAuth providers and code host integrations.

import type { Cluster } from '../lib/controller/cluster.ts';
import type { ControllerDefinition } from '../lib/controller/definition.ts';
import type { Settings } from '../schema/settings.ts';
import type { OrganizationCaches } from './caches.ts';
import { makeOrganizationReconciler, wakeOrganization } from './reconciler.ts';

export interface OrganizationContext {
  readonly home: Cluster<OrganizationCaches>;
  readonly settings: Settings;
  readonly now: () => Date;
}

export const organization: ControllerDefinition<OrganizationContext> = {
  name: 'organization',
  begin: ({ home, settings, now }, queue) => ({
    reconcile: makeOrganizationReconciler(home, settings, now),
    wake: () => wakeOrganization(home.caches, queue),
  }),
};
