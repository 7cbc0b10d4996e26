// The collections of builds: repositories of code hosts, the platform's registry, uploads, and webhooks.

import type { App } from '../../organization/facade/validation.ts';
import type { Integrations } from './code-host-repositories/repository.ts';
import { registerRepositories } from './code-host-repositories/routes.ts';
import type { BuildContext } from './registry/platform.ts';
import { registerRegistry } from './registry/routes.ts';
import { registerUploads } from './uploads/routes.ts';
import { registerWebhooks } from './webhooks/routes.ts';

export interface BuildNeeds extends BuildContext {
  readonly integrations: Integrations;
}

export function registerBuilds(app: App, context: BuildNeeds, prefix: string): void {
  registerRepositories(app, context);
  registerRegistry(app, context);
  registerUploads(app, context, prefix);
  registerWebhooks(app, context);
}
