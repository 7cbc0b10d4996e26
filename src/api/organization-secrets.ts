// Secrets of the organization's namespace, accessed with the facade's own account. It does so only after the caller's right was
// checked with the caller's token.

import { FACADE_FIELD_MANAGER } from '../kinds/meta.ts';
import { Forbidden, NotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, SecretObject } from '../runtime/kube/client.ts';

export interface OrganizationSecrets {
  readonly namespace: string;
  /** Undefined if there is none. */
  read(name: string): Promise<SecretObject | undefined>;
  /** Creates an immutable Secret of one value. */
  make(
    metadata: Pick<SecretObject['metadata'], 'name' | 'labels' | 'annotations'>,
    key: string,
    value: string,
  ): Promise<void>;
}

export function makeOrganizationSecrets(own: KubeClient, namespace: string): OrganizationSecrets {
  return {
    namespace,

    async read(name) {
      try {
        return await own.get<SecretObject>(SECRETS, { namespace, name });
      } catch (error) {
        if (error instanceof NotFound) return undefined;
        throw asOurs(error);
      }
    },

    async make(metadata, key, value) {
      const secret: SecretObject = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...metadata, namespace },
        type: 'Opaque',
        immutable: true,
        data: { [key]: Buffer.from(value).toString('base64') },
      };
      await own.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER }).catch(throwAsOurs);
    },
  };
}

/** The text of a key. Undefined if there is none. */
export function textOf(secret: SecretObject | undefined, key: string): string | undefined {
  const data = secret?.data ?? {};
  return Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString('utf8') : undefined;
}

/** A Forbidden of the facade's own account must not be answered as the caller's. */
export function asOurs(error: unknown): unknown {
  if (!(error instanceof Forbidden)) return error;
  return new Error("use the facade's own account: rights from the chart are missing", { cause: error });
}

/** The same for a catch. */
export function throwAsOurs(error: unknown): never {
  throw asOurs(error);
}
