import type { Store, WatchedStore } from '../../lib/controller/store.ts';
import { Unavailable } from '../../lib/errors.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import type { AppTemplate } from '../../schema/app-template.ts';
import type { CodeHostIntegration } from '../../schema/code-host-integration.ts';
import type { Listener } from '../../schema/listener.ts';
import type { OAuthProvider } from '../../schema/oauth-provider.ts';

/** The watch caches of the facade. Templates, providers and integrations are those of the organization's namespace. */
export interface FacadeCaches {
  readonly records: WatchedStore<AppDeployment>;
  readonly revisions: WatchedStore<AppRevision>;
  readonly templates: Store<AppTemplate>;
  /** Namespaces, of which only the metadata is cached. */
  readonly tenants: WatchedStore;
  readonly listeners: Store<Listener>;
  readonly providers: WatchedStore<OAuthProvider>;
  readonly integrations: Store<CodeHostIntegration>;
}

/** Returns the cache, or throws Unavailable until its first list is complete. `what` names its objects. */
export function synced<Cache extends Pick<Store, 'hasSynced'>>(cache: Cache, what: string): Cache {
  if (!cache.hasSynced()) throw new Unavailable(`read ${what}: the cache is not filled yet`, { retryAfterMs: 1000 });
  return cache;
}
