// Which resources the API server serves. Source: the Kubernetes API reference, APIResourceList.

import { NotFound } from '../errors.ts';
import type { KubeClient, Resource } from './client.ts';

/** Plurals of a group and version; none of one that is not there. Discovery needs no right. Throws the errors of a request. */
export async function servedResources(
  client: KubeClient,
  { group, version }: Pick<Resource, 'group' | 'version'>,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ReadonlySet<string>> {
  try {
    const list = JSON.parse(await client.text(`/apis/${group}/${version}`, options)) as {
      readonly resources: readonly { readonly name: string }[];
    };
    return new Set(list.resources.map(({ name }) => name));
  } catch (error) {
    if (error instanceof NotFound) return new Set();
    throw error;
  }
}
