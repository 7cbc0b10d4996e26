import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { AppTemplate } from '../kinds/app-template.ts';
import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import type { Listener } from '../kinds/listener.ts';
import type { OAuthProvider } from '../kinds/oauth-provider.ts';
import type { Store, WatchedStore } from '../runtime/controller/store.ts';
import { Unavailable } from '../runtime/errors.ts';

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
