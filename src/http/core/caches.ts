import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { AppTemplate } from '../../api/app-template.ts';
import type { CodeHostIntegration } from '../../api/code-host-integration.ts';
import type { Listener } from '../../api/listener.ts';
import type { OAuthProvider } from '../../api/oauth-provider.ts';
import { Unavailable } from '../../errors.ts';
import type { Store, WatchedStore } from '../../runtime/store.ts';

/** What the facade reads. Templates, providers and integrations are those of the organization's namespace. */
export interface FacadeCaches {
  readonly records: WatchedStore<AppDeployment>;
  readonly revisions: WatchedStore<AppRevision>;
  readonly templates: Store<AppTemplate>;
  /** Namespaces; metadata is enough. */
  readonly tenants: Store;
  readonly listeners: Store<Listener>;
  readonly providers: Store<OAuthProvider>;
  readonly integrations: Store<CodeHostIntegration>;
}

/** The same cache, once it is filled: before that an empty answer would be a lie. Throws Unavailable; `what` names its objects. */
export function synced<Cache extends Pick<Store, 'hasSynced'>>(cache: Cache, what: string): Cache {
  if (!cache.hasSynced()) throw new Unavailable(`read ${what}: the cache is not filled yet`, { retryAfterMs: 1000 });
  return cache;
}
