// A complete list, read page by page.

import { Gone } from '../errors.ts';
import type { KubeClient, KubeObject, ListOptions, Resource } from '../kube/client.ts';

export interface WholeListOptions<T> extends Omit<ListOptions, 'limit' | 'continueToken'> {
  readonly pageSize: number;
  /** Reduces each object while pages are read, so that a long list is never in memory with all its managedFields. */
  readonly keep: (object: T) => T;
}

export interface WholeList<T> {
  readonly items: T[];
  /** Version of the first page, which applies to the whole list. */
  readonly version: string;
}

/**
 * All objects as of one resourceVersion. If the server drops that version before the last page is read, the list is repeated
 * without pages. Rejects with the client's errors.
 */
export async function listAllPages<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  { pageSize, keep, ...options }: WholeListOptions<T>,
): Promise<WholeList<T>> {
  try {
    return await listPages(client, resource, { ...options, limit: pageSize }, keep);
  } catch (error) {
    if (error instanceof Gone) return listPages(client, resource, options, keep);
    throw error;
  }
}

async function listPages<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  options: ListOptions,
  keep: (object: T) => T,
): Promise<WholeList<T>> {
  const items: T[] = [];
  let version: string | undefined;
  let continueToken: string | undefined;
  do {
    const page = await client.list<T>(resource, { ...options, ...(continueToken !== undefined && { continueToken }) });
    for (const item of page.items) items.push(keep(item));
    version ??= page.resourceVersion;
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return { items, version: version ?? '' };
}
