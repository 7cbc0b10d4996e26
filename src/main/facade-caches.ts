// The watch caches of the facade's process.

import type { FacadeCaches } from '../api/caches.ts';
import type { FacadeContext } from '../api/collection.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../kinds/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { LISTENERS, type Listener } from '../kinds/listener.ts';
import { DEPLOYMENT_LABEL } from '../kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../kinds/oauth-provider.ts';
import type { Settings } from '../kinds/settings.ts';
import { slimManagedFields } from '../runtime/controller/managed-fields.ts';
import { cacheMaker } from '../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../runtime/controller/reflector.ts';
import { NAMESPACES } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

interface RunnableCaches extends Pick<FacadeContext, 'remember' | 'forget'> {
  readonly caches: FacadeCaches;
  /** All caches as reflectors, to be started. */
  readonly all: readonly Reflector<KubeObject>[];
}

export function makeFacadeCaches({ namespaces, organizationNamespace }: Settings, watching: Watching): RunnableCaches {
  const cache = cacheMaker(watching, namespaces);
  const slim = { transform: slimManagedFields };
  const ofOrganization = { namespace: organizationNamespace };
  const records = cache<AppDeployment>(APP_DEPLOYMENTS, slim);
  const revisions = cache<AppRevision>(APP_REVISIONS, { indexedLabels: [DEPLOYMENT_LABEL] });
  const tenants = cache(NAMESPACES, { metadataOnly: true });
  const listeners = cache<Listener>(LISTENERS, slim);
  const integrations = cache<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, ofOrganization);
  const providers = cache<OAuthProvider>(OAUTH_PROVIDERS, { ...ofOrganization, ...slim });
  const templates = cache<AppTemplate>(APP_TEMPLATES, { ...ofOrganization, ...slim });
  const all = [
    records,
    revisions,
    tenants,
    templates,
    listeners,
    providers,
    integrations,
  ] as unknown as Reflector<KubeObject>[];
  return {
    caches: { records, revisions, tenants, templates, listeners, providers, integrations },
    all,
    remember: (object) => all.find((cache) => cache.resource.kind === object.kind)?.overlay(object),
    // The answer to a deletion has no version, so the cached version is used. If the watch still reports an earlier change, the record
    // reappears until the watch reports the deletion.
    forget(uid) {
      for (const cache of all) {
        const version = cache.byUid(uid)?.metadata.resourceVersion;
        if (version !== undefined) cache.overlayDeleted(uid, version);
      }
    },
  };
}
