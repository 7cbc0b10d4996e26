// Reads a tenant's integrations from the watch cache, and the repositories of an integration from its code host.

import type { Tenant } from '../../../api/authorization.ts';
import { synced } from '../../../api/caches.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import { textOf } from '../../../api/organization-secrets.ts';
import type { CodeHostIntegration } from '../../../kinds/code-host-integration.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { CodeHosts } from '../../codehost/code-hosts.ts';
import type { Repository } from '../../codehost/repositories.ts';

export interface IntegrationsOptions extends Pick<FacadeContext, 'caches' | 'secrets'> {
  readonly codeHosts: Pick<CodeHosts, 'repositories'>;
}

export interface Integrations {
  /** The integrations that the tenant may use, by name. */
  list(tenant: Tenant): readonly CodeHostIntegration[];
  /** Throws the same HttpError 404 for a missing integration and one that the tenant may not use. */
  repositories(tenant: Tenant, integrationId: string): Promise<readonly Repository[]>;
}

export function makeIntegrations({ caches, secrets, codeHosts }: IntegrationsOptions): Integrations {
  function list(tenant: Tenant): readonly CodeHostIntegration[] {
    return synced(caches.integrations, 'integrations')
      .list(secrets.namespace)
      .filter(({ spec }) => spec.tenants.includes(tenant.namespace))
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  return {
    list,

    async repositories(tenant, integrationId) {
      const found = list(tenant).find(({ metadata }) => metadata.uid === integrationId.toLowerCase());
      if (found === undefined) throw new HttpError(404, `Integration ID ${integrationId} not found.`);
      const { metadata, spec } = found;
      const secret = await secrets.read(spec.credentialsRef.name);
      const versions = [metadata.uid, metadata.resourceVersion, secret?.metadata.uid, secret?.metadata.resourceVersion];
      return codeHosts.repositories({ key: versions.join(' '), spec, credential: (key) => textOf(secret, key) });
    },
  };
}
