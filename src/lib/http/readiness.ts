// Whether the API server answers, for probes. Anybody may send a probe, so many probes share one request.

import type { KubeClient } from '../kube/client.ts';

/** How long an answer is used. Shorter than the interval between two probes of a kubelet. */
const REMEMBERED_MS = 1000;
const PATIENCE_MS = 2000;

/** Sends at most one request at a time, and one a second. */
export function makeReadiness(kube: KubeClient, now: () => Date): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  let known: { readonly at: number; readonly answers: boolean } | undefined;

  async function ask(): Promise<boolean> {
    let answers = true;
    try {
      await kube.text('/readyz', { signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch {
      answers = false;
    }
    known = { at: now().getTime(), answers };
    asking = undefined;
    return answers;
  }

  return async () => {
    const age = now().getTime() - (known?.at ?? Number.NEGATIVE_INFINITY);
    if (known !== undefined && age >= 0 && age < REMEMBERED_MS) return known.answers;
    asking ??= ask();
    return asking;
  };
}
