// The Secret of values of a record's `secrets`, as the HTTP API and the plugin create it. Pure.

import type { ObjectRef, SecretObject } from '../../lib/kube/client.ts';
import { DEPLOYMENT_LABEL, VARIABLES_LABEL } from '../../schema/meta.ts';

/** `deployment`: the record's name. `data`: values in base64. */
export function valuesSecret(
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
