// All references of a record to Secrets, in any field. Imports no zod at run time, because kubectl-davit bundles it.

import type { SecretReference } from '../../kinds/app-deployment.ts';
import { EXTERNAL_POSTGRES_VARIABLE } from '../../kinds/meta.ts';
import type { Container, ResourceSpec } from '../../kinds/resource-spec.ts';

/** A record's spec, or a revision's `requested`. */
export interface NamesSecrets {
  readonly secrets: readonly SecretReference[];
  readonly secretReferences?: readonly SecretReference[] | undefined;
}

/** All of them, `secrets` before `secretReferences`. */
export function referencesOf({ secrets, secretReferences = [] }: NamesSecrets): SecretReference[] {
  return [...secrets, ...secretReferences];
}

/** Whether they name an external PostgreSQL. */
export function namesExternalPostgres(where: NamesSecrets): boolean {
  return referencesOf(where).some(({ name }) => name === EXTERNAL_POSTGRES_VARIABLE);
}

/** A value that a container reads from a Secret only when it starts. */
export interface ReadAtStart {
  readonly secretName: string;
  /** Absent: every key. */
  readonly secretKey?: string;
  /** The variable of `secrets` or `secretReferences`; absent for one of an init container or a sidecar. */
  readonly variable?: string;
  /** The container also starts without it. */
  readonly optional: boolean;
}

/**
 * All Secret values in the environment of a container. Mounted Secrets (the kubelet updates them in running pods) and pull
 * secrets (read for each pull) are not included.
 */
export function readAtStart(where: NamesSecrets, pods: Readonly<ResourceSpec> = {}): ReadAtStart[] {
  return [
    ...referencesOf(where).map(({ name, secretName, secretKey }) => ({
      secretName,
      secretKey,
      variable: name,
      optional: false,
    })),
    ...[...(pods.initContainers ?? []), ...(pods.sidecars ?? [])].flatMap(environmentSecrets),
  ];
}

interface FromSecret {
  readonly name?: unknown;
  readonly key?: unknown;
  readonly optional?: unknown;
}

function environmentSecrets({ env = [], envFrom = [] }: Container): ReadAtStart[] {
  const keys = env.map(({ valueFrom }) => (valueFrom as { secretKeyRef?: FromSecret } | undefined)?.secretKeyRef);
  const wholes = envFrom.map((source) => (source as { secretRef?: FromSecret }).secretRef);
  return [...keys, ...wholes].flatMap((from) => {
    // The API server validates the type when the workload is applied.
    if (typeof from?.name !== 'string') return [];
    const { name: secretName, key: secretKey, optional } = from;
    return [{ secretName, ...(typeof secretKey === 'string' && { secretKey }), optional: optional === true }];
  });
}
