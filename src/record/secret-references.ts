// What a record names in Secrets, wherever it stands in the record.

import type { SecretReference } from '../api/app-deployment.ts';
import type { Container, ResourceSpec } from '../api/resource-spec.ts';

/** A record's spec, or a revision's `requested`. */
export interface NamesSecrets {
  readonly secrets: readonly SecretReference[];
  readonly secretReferences?: readonly SecretReference[] | undefined;
}

/** All of them, `secrets` before `secretReferences`. */
export function referencesOf({ secrets, secretReferences = [] }: NamesSecrets): SecretReference[] {
  return [...secrets, ...secretReferences];
}

/** What a container reads from a Secret when it starts, and never again. */
export interface ReadAtStart {
  readonly secretName: string;
  /** Absent: every key. */
  readonly secretKey?: string;
  /** The container starts without it, too. */
  readonly optional: boolean;
}

/**
 * Everything of Secrets that stands in the environment of some container. Mounted Secrets are not among it (kubelet
 * brings them up to date in running pods), nor are pull secrets (they are read for each pull).
 */
export function readAtStart(where: NamesSecrets, pods: Readonly<ResourceSpec> = {}): ReadAtStart[] {
  return [
    ...referencesOf(where).map(({ secretName, secretKey }) => ({ secretName, secretKey, optional: false })),
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
    // The API server checks the shape when the workload is applied.
    if (typeof from?.name !== 'string') return [];
    const { name: secretName, key: secretKey, optional } = from;
    return [{ secretName, ...(typeof secretKey === 'string' && { secretKey }), optional: optional === true }];
  });
}
