// The controller of OAuth providers and code host integrations.

import type { Settings } from '../kinds/settings.ts';
import type { Cluster } from '../runtime/controller/cluster.ts';
import type { ControllerDefinition } from '../runtime/controller/definition.ts';
import type { OrganizationCaches } from './caches.ts';
import { type AskIssuer, makeOrganizationReconciler, wakeOrganization } from './reconciler.ts';

export interface OrganizationContext {
  readonly home: Cluster<OrganizationCaches>;
  readonly settings: Settings;
  readonly now: () => Date;
  /** Absent where the settings list no host of an OAuth server. */
  readonly askIssuer?: AskIssuer | undefined;
}

export const organization: ControllerDefinition<OrganizationContext> = {
  name: 'organization',
  begin: ({ home, settings, now, askIssuer }, queue) => ({
    reconcile: makeOrganizationReconciler(home, settings, now, askIssuer),
    wake: () => wakeOrganization(home.caches, queue),
  }),
};
