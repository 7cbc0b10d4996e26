// Client of an OCI registry (OCI Distribution Specification 1.1). Blobs are streamed: nothing larger than a manifest is
// held in memory.

import { makeBlobs, type RegistryBlobs } from './client/blobs.ts';
import { makeLists, type RegistryLists } from './client/lists.ts';
import { makeManifests, type RegistryManifests } from './client/manifests.ts';
import { makeRequests, type RegistryClientOptions } from './client/requests.ts';

/** Requests to one registry. Every method throws RegistryFailed, or the abort reason of `signal`. */
export interface RegistryClient extends RegistryManifests, RegistryLists, Omit<RegistryBlobs, 'uploadEmpty'> {}

export function makeRegistryClient(options: RegistryClientOptions): RegistryClient {
  const requests = makeRequests(options);
  const blobs = makeBlobs(requests);
  return { ...makeManifests(requests, blobs), ...makeLists(requests), ...blobs };
}
