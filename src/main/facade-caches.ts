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
import { reflectNamespaces } from '../runtime/controller/multi-namespace-reflector.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../runtime/controller/reflector.ts';
import { NAMESPACES } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

interface RunnableCaches extends Pick<FacadeContext, 'remember' | 'forget'> {
  readonly caches: FacadeCaches;
  /** The same, to be run. */
  readonly all: readonly Reflector<KubeObject>[];
}

export function makeFacadeCaches(
  { namespaces, organizationNamespace }: Settings,
  watching: Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>,
): RunnableCaches {
  const records = reflectNamespaces<AppDeployment>(namespaces, {
    ...watching,
    resource: APP_DEPLOYMENTS,
    transform: slimManagedFields,
  });
  const revisions = reflectNamespaces<AppRevision>(namespaces, {
    ...watching,
    resource: APP_REVISIONS,
    indexedLabels: [DEPLOYMENT_LABEL],
  });
  const tenants = makeReflector<KubeObject>({ ...watching, resource: NAMESPACES, metadataOnly: true });
  const listeners = reflectNamespaces<Listener>(namespaces, {
    ...watching,
    resource: LISTENERS,
    transform: slimManagedFields,
  });
  const integrations = makeReflector<CodeHostIntegration>({
    ...watching,
    resource: CODE_HOST_INTEGRATIONS,
    namespace: organizationNamespace,
  });
  const providers = makeReflector<OAuthProvider>({
    ...watching,
    resource: OAUTH_PROVIDERS,
    namespace: organizationNamespace,
    transform: slimManagedFields,
  });
  const templates = makeReflector<AppTemplate>({
    ...watching,
    resource: APP_TEMPLATES,
    namespace: organizationNamespace,
    transform: slimManagedFields,
  });
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
