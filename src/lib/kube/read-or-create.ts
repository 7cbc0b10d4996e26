// Objects of Davit's own that whichever process needs them first creates.

import { AlreadyExists, undefinedIfNotFound } from '../errors.ts';
import type { KubeClient, KubeObject, Resource } from './client.ts';

/** The object that is there; else what `make` returns, created, or what another process created in the same moment. */
export async function readOrCreate<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  ref: { readonly namespace: string; readonly name: string },
  make: () => T,
): Promise<T> {
  const found = await client.get<T>(resource, ref).catch(undefinedIfNotFound);
  if (found) return found;
  try {
    return await client.create<T>(resource, make());
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    return client.get<T>(resource, ref);
  }
}
