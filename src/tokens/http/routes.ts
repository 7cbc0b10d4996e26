// The collections of the organization: OAuth providers, and people's tokens of them.

import type { App } from '../../api/validation.ts';
import { registerProviders } from './oauth-providers/routes.ts';
import type { TokenNeeds } from './oauth-tokens/access.ts';
import { registerTokens } from './oauth-tokens/routes.ts';

export type OrganizationNeeds = TokenNeeds;

export function registerOrganization(app: App, context: OrganizationNeeds): void {
  registerProviders(app, context);
  registerTokens(app, context);
}
