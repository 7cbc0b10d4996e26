// Who the caller is, for the claim of a change (ADR 42).

import { Failure, type Kubectl } from './kubectl.ts';

interface Review {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

/** The username that the API server sees; undefined where it does not tell. A change without a name is better than none. */
export async function usernameOf(kubectl: Kubectl): Promise<string | undefined> {
  try {
    const { status } = JSON.parse(await kubectl(['auth', 'whoami', '-o', 'json'])) as Review;
    return status?.userInfo?.username;
  } catch (error) {
    if (error instanceof Failure || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
