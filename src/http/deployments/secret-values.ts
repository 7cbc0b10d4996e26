// Values of a record's `secrets`, in immutable Secrets that are created and read with the caller's token.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { DEPLOYMENT_LABEL, FACADE_FIELD_MANAGER, VARIABLES_LABEL } from '../../api/meta.ts';
import { Forbidden, NotFound } from '../../errors.ts';
import { SECRETS } from '../../kube/api-resources.ts';
import type { KubeObject, ObjectRef, SecretObject } from '../../kube/client.ts';
import type { Logger } from '../../logger.ts';
import type { Caller } from '../core/authorization.ts';

/** Creates a Secret of these values. `ref`: its namespace and name. `deployment`: the record's name. */
export function createValuesSecret(
  caller: Caller,
  { namespace = '', name }: ObjectRef,
  deployment: string,
  values: ReadonlyMap<string, string>,
): Promise<KubeObject> {
  const secret: SecretObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { [DEPLOYMENT_LABEL]: deployment, [VARIABLES_LABEL]: '' } },
    type: 'Opaque',
    immutable: true,
    data: Object.fromEntries([...values].map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  };
  return caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER });
}

/** Deletes a Secret that no record names. */
export async function removeVariables(caller: Caller, secret: KubeObject, log: Logger): Promise<void> {
  const { namespace, name, uid, resourceVersion } = secret.metadata;
  if (namespace === undefined || uid === undefined || resourceVersion === undefined) return;
  try {
    await caller.kube.remove(SECRETS, { namespace, name }, { uid, resourceVersion });
  } catch (err) {
    // A caller may have the right to create Secrets but not to delete them. The controller collects Secrets that no record names.
    log.info({ namespace, secret: name, err }, 'Secret of values not deleted, the controller will collect it');
  }
}

/** The values of its `secrets` by name, without those that are missing or that the caller may not read. */
export async function readSecretValues(
  caller: Caller,
  { metadata, spec }: AppDeployment,
): Promise<ReadonlyMap<string, string>> {
  const { namespace = '' } = metadata;
  const secretNames = [...new Set(spec.secrets.map(({ secretName }) => secretName))];
  const secrets = new Map(
    await Promise.all(
      secretNames.map(
        async (name) =>
          [name, await undefinedIfHidden(() => caller.kube.get<SecretObject>(SECRETS, { namespace, name }))] as const,
      ),
    ),
  );
  return new Map(
    spec.secrets.flatMap(({ name, secretName, secretKey }) => {
      const data = secrets.get(secretName)?.data ?? {};
      if (!Object.hasOwn(data, secretKey)) return [];
      return [[name, Buffer.from(data[secretKey] ?? '', 'base64').toString('utf8')] as const];
    }),
  );
}

/** Resolves to undefined if the object is missing or the caller may not read it. */
export async function undefinedIfHidden<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Forbidden || error instanceof NotFound) return undefined;
    throw error;
  }
}
