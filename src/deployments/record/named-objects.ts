// The objects of its namespace that a record's pods need by name, and that Davit does not make.

import type { AppDeploymentSpec } from '../../schema/app-deployment.ts';

export interface NamedObject {
  readonly kind: 'Secret' | 'ConfigMap' | 'PersistentVolumeClaim' | 'ServiceAccount';
  readonly name: string;
}

/** Fields of a pod that name an object, wherever they are in it. Source: the API reference of Pod v1. */
const FIELDS: Readonly<Record<string, { readonly kind: NamedObject['kind']; readonly by: string }>> = {
  secretKeyRef: { kind: 'Secret', by: 'name' },
  secretRef: { kind: 'Secret', by: 'name' },
  secret: { kind: 'Secret', by: 'secretName' },
  nodePublishSecretRef: { kind: 'Secret', by: 'name' },
  configMapKeyRef: { kind: 'ConfigMap', by: 'name' },
  configMapRef: { kind: 'ConfigMap', by: 'name' },
  configMap: { kind: 'ConfigMap', by: 'name' },
  persistentVolumeClaim: { kind: 'PersistentVolumeClaim', by: 'claimName' },
};

/** Each once, without those that are optional. Values of `secrets` and `secretReferences` are not among them (secret-references.ts). */
export function namedObjects({
  sourceConfig: { resourceSpec },
}: Pick<AppDeploymentSpec, 'sourceConfig'>): NamedObject[] {
  const { serviceAccountName, imagePullSecrets = [] } = (resourceSpec ?? {}) as PodNames;
  const found: NamedObject[] = [
    ...(serviceAccountName === undefined ? [] : [{ kind: 'ServiceAccount' as const, name: serviceAccountName }]),
    ...imagePullSecrets.map(({ name }) => ({ kind: 'Secret' as const, name })),
    ...namedIn(resourceSpec),
  ];
  return [...new Map(found.map((one) => [`${one.kind}/${one.name}`, one])).values()];
}

interface PodNames {
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
}

function namedIn(value: unknown): NamedObject[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => [...namedBy(field, inner), ...namedIn(inner)]);
}

function namedBy(field: string, value: unknown): NamedObject[] {
  const naming = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
  if (naming === undefined || typeof value !== 'object' || value === null) return [];
  const { [naming.by]: by, name, optional } = value as Record<string, unknown>;
  // A Secret of a projected volume is named by `name`.
  const found = by ?? name;
  return typeof found === 'string' && optional !== true ? [{ kind: naming.kind, name: found }] : [];
}
