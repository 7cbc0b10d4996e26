// Secrets of the organization's namespace, with the facade's own account: the one place where it acts for itself, and
// only after the caller's right was exercised with the caller's token.

import { FACADE_FIELD_MANAGER } from '../../api/meta.ts';
import { Forbidden, NotFound } from '../../errors.ts';
import { SECRETS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';

export interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

export interface OrganizationSecrets {
  readonly namespace: string;
  /** undefined where there is none. */
  read(name: string): Promise<SecretObject | undefined>;
  /** Makes an immutable Secret of one value. */
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
      try {
        await own.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER });
      } catch (error) {
        throw asOurs(error);
      }
    },
  };
}

/** The text under a key; undefined where there is none. */
export function textOf(secret: SecretObject | undefined, key: string): string | undefined {
  const data = secret?.data ?? {};
  return Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString('utf8') : undefined;
}

/** A refusal of our own account is no refusal of the caller, and must not read like one. */
function asOurs(error: unknown): unknown {
  if (!(error instanceof Forbidden)) return error;
  return new Error("use a Secret of the organization's namespace: the chart's rights are missing", { cause: error });
}
