// Values of a record's `secrets`, in immutable Secrets that are created and read with the caller's token.

import type { Caller } from '../../api/authorization.ts';
import { undefinedIfHidden } from '../../api/undefined-if-hidden.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL, FACADE_FIELD_MANAGER, VARIABLES_LABEL } from '../../kinds/meta.ts';
import { turns } from '../../runtime/http/turns.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject, ObjectRef, SecretObject } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Creates a Secret of these values. `ref`: its namespace and name. `deployment`: the record's name. */
export function createValuesSecret(
  caller: Caller,
  ref: ObjectRef,
  deployment: string,
  values: ReadonlyMap<string, string>,
): Promise<KubeObject> {
  const data = Object.fromEntries([...values].map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  const secret = valuesSecret(ref, deployment, data);
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
    log.info({ namespace, secret: name, err }, 'Could not delete a Secret with values, the controller will delete it');
  }
}

/**
 * Bytes of all values in an answer. The values of a record that this API stores have less, because a body has a megabyte. With
 * kubectl a hundred variables can name one large value.
 */
const MOST_SHOWN = 1024 * 1024;

/**
 * Bytes of all Secrets that are read for an answer, keys included. To read one of a megabyte with 55,000 keys takes the processor 40 ms,
 * and a record may name a hundred.
 */
const MOST_READ = 8 * MOST_SHOWN;

/** As readSecretValues, for an answer: values beyond its limits are "", as in lists. Sent back, that changes nothing. */
export function shownSecretValues(caller: Caller, record: AppDeployment): Promise<ReadonlyMap<string, string>> {
  return readSecretValues(caller, record, { read: MOST_READ, shown: MOST_SHOWN });
}

/** The values of its `secrets` by name, without those that are missing or that the caller may not read. `most`: bytes in all. */
export async function readSecretValues(
  caller: Caller,
  { metadata, spec }: AppDeployment,
  most = { read: Infinity, shown: Infinity },
): Promise<ReadonlyMap<string, string>> {
  const { namespace = '' } = metadata;
  const bySecret = Map.groupBy(spec.secrets, ({ secretName }) => secretName);
  const values = new Map(spec.secrets.map(({ name }) => [name, '']));
  let { read, shown } = most;
  for (const [secretName, references] of bySecret) {
    if (read < 0) break;
    const secret = await undefinedIfHidden(() =>
      caller.kube.get<SecretObject>(SECRETS, { namespace, name: secretName }),
    );
    const data = secret?.data ?? {};
    if (read < Infinity) for (const [key, value] of Object.entries(data)) read -= key.length + value.length;
    for (const { name, secretKey } of references) {
      if (!Object.hasOwn(data, secretKey)) {
        values.delete(name);
        continue;
      }
      const over = turns.over();
      if (over !== undefined) await over;
      const value = Buffer.from(data[secretKey] ?? '', 'base64');
      shown -= value.length;
      if (shown >= 0) values.set(name, value.toString('utf8'));
    }
  }
  return values;
}

/** `deployment`: the record's name. `data`: values in base64. */
function valuesSecret(
  { namespace = '', name }: ObjectRef,
  deployment: string,
  data: Readonly<Record<string, string>>,
): SecretObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { [DEPLOYMENT_LABEL]: deployment, [VARIABLES_LABEL]: '' } },
    type: 'Opaque',
    immutable: true,
    data,
  };
}
