// Puts records on a server, as fast as a plain client can.

import type { ApiObject } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { BareRecord } from './records.ts';

const IN_FLIGHT = 32;

export async function createRecords(
  { api }: Cluster,
  records: readonly BareRecord[],
  atOnce = IN_FLIGHT,
): Promise<ApiObject[]> {
  return inParallel(records, atOnce, (record) =>
    api.call<ApiObject>('POST', recordsPath(record.metadata.namespace), record),
  );
}

export function recordsPath(namespace: string): string {
  return `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;
}

/** Does them in order, so many at once; the results are in the same order. Rejects with the first failure. */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  async function worker(): Promise<void> {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index] as T, index);
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
