import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { AppTemplate } from '../../api/app-template.ts';
import type { CodeHostIntegration } from '../../api/code-host-integration.ts';
import type { Listener } from '../../api/listener.ts';
import type { OAuthProvider } from '../../api/oauth-provider.ts';
import { Unavailable } from '../../errors.ts';
import type { Store, WatchedStore } from '../../runtime/store.ts';

/** The watch caches of the facade. Templates, providers and integrations are those of the organization's namespace. */
export interface FacadeCaches {
  readonly records: WatchedStore<AppDeployment>;
  readonly revisions: WatchedStore<AppRevision>;
  readonly templates: Store<AppTemplate>;
  /** Namespaces, of which only the metadata is cached. */
  readonly tenants: Store;
  readonly listeners: Store<Listener>;
  readonly providers: Store<OAuthProvider>;
  readonly integrations: Store<CodeHostIntegration>;
}

/** Returns the cache, or throws Unavailable until its first list is complete. `what` names its objects. */
export function synced<Cache extends Pick<Store, 'hasSynced'>>(cache: Cache, what: string): Cache {
  if (!cache.hasSynced()) throw new Unavailable(`read ${what}: the cache is not filled yet`, { retryAfterMs: 1000 });
  return cache;
}
