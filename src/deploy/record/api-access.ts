// Whether pods can get a token for Davit's HTTP API, and use it.

import type { Settings } from '../../kinds/settings.ts';

/** What prevents it, as text for people; undefined if nothing does. `isRemote`: the pods are in the cluster of a listener. */
export function apiTokenProblem(isRemote: boolean, { oauth, http }: Settings): string | undefined {
  if (isRemote) return "pods in the cluster of a listener cannot reach this platform's HTTP API: remove api_token";
  if (oauth.hosts.length === 0)
    return "this platform issues no people's tokens: ask the platform team to add a host to settings.oauth.hosts, or remove api_token";
  if ((http.podUrl ?? http.publicUrl) === undefined)
    return 'this platform has no address at which pods reach its HTTP API: ask the platform team to set settings.http.podUrl, or remove api_token';
  return undefined;
}
