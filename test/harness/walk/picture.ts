// What two records' children have in common when they mean the same: everything but ids, digests of a random key, and what
// only time makes.

import { isDeepStrictEqual } from 'node:util';
import { AUTOSCALED_ANNOTATION, STORE_REVISION_ANNOTATION } from '../../../src/kinds/meta.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';

interface Child extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly minReplicaCount?: number;
    readonly resources?: { readonly requests?: { readonly storage?: string } };
  };
}

/**
 * Kind and name → what is compared. A migration's Job is history, and so is which revision changed a store.
 * Values of Secrets are random; that they are there is compared.
 */
export function picture(children: readonly Child[]): ReadonlyMap<string, unknown> {
  const fromZero = new Set(
    children
      .filter(({ kind, spec }) => kind === 'ScaledObject' && spec?.minReplicaCount === 0)
      .map(({ metadata }) => metadata.name),
  );
  return new Map(
    children
      .filter(({ kind }) => kind !== 'Job')
      .map((child) => {
        const { kind, metadata } = child;
        const said = {
          labels: metadata.labels,
          annotations: Object.keys(metadata.annotations ?? {})
            .filter((name) => name !== STORE_REVISION_ANNOTATION)
            .toSorted(),
          ...contentOf(child, fromZero),
        };
        return [
          `${kind} ${metadata.name}`,
          JSON.parse(
            JSON.stringify(said)
              .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, 'ID')
              .replaceAll(/\b[0-9a-f]{8}\.[0-9a-f]{32}\b/g, 'DIGEST'),
            withoutEmptyLists,
          ) as unknown,
        ];
      }),
  );
}

/** A list of nothing is no list: Go's types make no difference between the two. */
function withoutEmptyLists(_field: string, value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

/** `fromZero`: names of workloads that KEDA scales, to no pod as well. */
function contentOf({ kind, metadata, spec }: Child, fromZero: ReadonlySet<string>): object {
  if (kind === 'Secret' || kind === 'PersistentVolumeClaim') return {};
  if (metadata.annotations?.[AUTOSCALED_ANNOTATION] !== 'true') return { spec };
  // An autoscaler begins with what it finds: how many pods there are is history.
  const { replicas, ...others } = spec ?? {};
  return { spec: { ...others, ...(!fromZero.has(metadata.name) && { hasPods: Number(replicas) > 0 }) } };
}

/** Data outlives its use: a volume or a password may be there though nothing would make it now. */
function isData(name: string): boolean {
  return /^(Secret|PersistentVolumeClaim) /.test(name);
}

/** What is different, as sentences; empty where nothing is. */
export function differencesOf(walked: ReadonlyMap<string, unknown>, fresh: ReadonlyMap<string, unknown>): string[] {
  const missing = [...fresh.keys()].filter((name) => !walked.has(name)).map((name) => `${name} is missing`);
  const left = [...walked.keys()]
    .filter((name) => !fresh.has(name) && !isData(name))
    .map((name) => `${name} is left over`);
  const other = [...fresh]
    .filter(([name, content]) => walked.has(name) && !isDeepStrictEqual(walked.get(name), content))
    .flatMap(([name, content]) => leafDifferences(walked.get(name), content, name));
  return [...missing, ...left, ...other];
}

/** Each leaf that is different, with its path. */
function leafDifferences(walked: unknown, fresh: unknown, path: string): string[] {
  if (isDeepStrictEqual(walked, fresh)) return [];
  if (!isParent(walked) || !isParent(fresh) || Array.isArray(walked) !== Array.isArray(fresh))
    return [`${path}: ${short(walked)}, and a fresh record's ${short(fresh)}`];
  const keys = new Set([...Object.keys(walked), ...Object.keys(fresh)]);
  return [...keys].flatMap((key) => leafDifferences(walked[key], fresh[key], `${path}.${key}`));
}

function isParent(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}
