// The watch caches of the facade's process.

import { slimManagedFields } from '../lib/controller/managed-fields.ts';
import { reflectNamespaces } from '../lib/controller/multi-namespace-reflector.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../lib/controller/reflector.ts';
import { NAMESPACES } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { FacadeCaches } from '../organization/facade/caches.ts';
import type { FacadeContext } from '../organization/facade/collection.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../schema/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../schema/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../schema/code-host-integration.ts';
import { LISTENERS, type Listener } from '../schema/listener.ts';
import { DEPLOYMENT_LABEL } from '../schema/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../schema/oauth-provider.ts';
import type { Settings } from '../schema/settings.ts';

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
