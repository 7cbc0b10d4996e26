// Builds the facade without a port: hooks, then the collections of the list. server.ts listens, tests use `inject`.

import type { FastifyInstance } from 'fastify';
import { makeApp, makeReadiness, registerProbes } from '../api/app.ts';
import type { Collection, FacadeContext } from '../api/collection.ts';
import { type HookOptions, type Hooks, registerHooks } from '../api/hooks.ts';
import { registerDocument } from '../api/openapi.ts';
import { makeOrganizationSecrets } from '../api/organization-secrets.ts';
import type { CodeHosts } from '../build/codehost/code-hosts.ts';
import { type Integrations, makeIntegrations } from '../build/http/code-host-repositories/repository.ts';
import { registerRepositories } from '../build/http/code-host-repositories/routes.ts';
import type { BuildContext } from '../build/http/registry/platform.ts';
import { registerRegistry } from '../build/http/registry/routes.ts';
import { registerUploads } from '../build/http/uploads/routes.ts';
import { registerWebhooks } from '../build/http/webhooks/routes.ts';
import type { PlatformRegistry } from '../build/registry/platform-registry.ts';
import { type Listeners, makeListeners } from '../clusters/http/repository.ts';
import { registerListeners } from '../clusters/http/routes.ts';
import { registerRetained } from '../databases/http/retained.ts';
import { registerOperations } from '../databases/http/routes.ts';
import { registerFileSchema } from '../deploy/http/deployment-file-schema.ts';
import { registerPlatform } from '../deploy/http/platform/routes.ts';
import { makeDeployments } from '../deploy/http/repository.ts';
import { registerDeployments } from '../deploy/http/routes.ts';
import { signInSetup } from '../kinds/sign-in.ts';
import { registerLogs } from '../logs/routes.ts';
import { makeFreshList } from '../runtime/http/coalesced-list.ts';
import { type OrganizationNeeds, registerOrganization } from '../tokens/http/routes.ts';
import { type PageFiles, registerPage } from './page-routes.ts';

/** The collections in the order of the OpenAPI document. */
const COLLECTIONS: readonly Collection<BuildContext & Shared>[] = [
  registerDeployments,
  registerOperations,
  registerRetained,
  registerListeners,
  registerLogs,
  registerRepositories,
  registerRegistry,
  registerUploads,
  registerWebhooks,
  registerOrganization,
  registerPlatform,
];

/** What one subject reads and another shows. */
interface Shared {
  readonly integrations: Integrations;
  readonly listeners: Listeners;
  readonly oauth: OrganizationNeeds['oauth'];
}

export interface AppDeps extends HookOptions, Omit<FacadeContext, keyof Hooks | 'secrets' | 'freshList'> {
  readonly codeHosts: Pick<CodeHosts, 'repositories'>;
  /** The registry of the settings. Absent if there is none. */
  readonly registry?: PlatformRegistry | undefined;
  /** Tokens for agents. Absent where the settings list no host of an OAuth server. */
  readonly oauth?: OrganizationNeeds['oauth'];
  /** The page at `/`; without it `GET /` answers every client with JSON. */
  readonly page?: PageFiles | undefined;
  readonly sleep?: (ms: number) => Promise<void>;
  /** Called with each request, before anything else. */
  readonly beforeEach?: (request: { readonly method: string; readonly url: string }) => Promise<void>;
  /** Aborts when the service stops: requests that wait are answered at once, which would hold it up. */
  readonly signal?: AbortSignal;
}

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { kube, caches, settings, log, now, page } = deps;
  const { basePath } = settings.http;
  const signIn = signInSetup(settings.http);
  const app = makeApp(log, settings.http);
  const { beforeEach } = deps;
  if (beforeEach) app.addHook('onRequest', ({ method, url }) => beforeEach({ method, url }));
  const hooks = await registerHooks(app, deps);
  const sleep = deps.sleep ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const base = {
    ...deps,
    ...hooks,
    freshList: makeFreshList({ now, sleep }),
    secrets: makeOrganizationSecrets(kube, settings.organizationNamespace),
    platform: { settings, registry: deps.registry },
    oauth: deps.oauth,
  };
  const deployments = makeDeployments({ ...base, registry: deps.registry });
  const context = { ...base, deployments, listeners: makeListeners(base), integrations: makeIntegrations(base) };
  const endWhatLasts = (): void => {
    deployments.close();
    deps.oauth?.endWaits();
  };
  deps.signal?.addEventListener('abort', endWhatLasts);
  app.addHook('preClose', async () => endWhatLasts());

  const answers = makeReadiness(kube, now);
  for (const prefix of new Set(['', basePath])) {
    await app.register(
      async (scope: typeof app) => {
        // The document contains each route once, under the base path of the settings.
        if (prefix !== basePath)
          scope.addHook('onRoute', (route) => void (route.schema = { ...route.schema, hide: true }));
        registerProbes(scope, caches, answers);
        registerDocument(scope);
        registerFileSchema(scope);
        registerPage(scope, page, prefix, signIn);
        for (const register of COLLECTIONS) register(scope, context, prefix);
      },
      { prefix },
    );
  }
  await app.ready();
  return app;
}
