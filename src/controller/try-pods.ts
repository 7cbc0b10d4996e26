// Asks the API server about pods before they exist: dry runs, which leave nothing behind.

import { FIELD_MANAGER } from '../api/meta.ts';
import type { Refusal } from '../decide/observed.ts';
import { type PodToTry, podRefused } from '../decide/pods-to-try.ts';
import { AlreadyExists, Forbidden, Invalid } from '../errors.ts';
import { PODS } from '../kube/resources.ts';
import type { Shell } from './apply.ts';

/** What the API server refuses of these pods, in its own words; what is worth asking again is thrown. */
export async function tryPods(pods: readonly PodToTry[], shell: Shell): Promise<Refusal[]> {
  const outcomes = await Promise.allSettled(pods.map((pod) => tryPod(pod, shell)));
  return outcomes.flatMap((outcome) => {
    // Every request is over by now, so a throw leaves none running behind the next reconcile's back.
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value ? [outcome.value] : [];
  });
}

async function tryPod(tried: PodToTry, { client }: Shell): Promise<Refusal | undefined> {
  try {
    // Strict: a field that is in no schema is dropped from a pod without a word, and makes every apply of it fail.
    await client.create(PODS, tried.pod, { fieldManager: FIELD_MANAGER, dryRun: true, strict: true });
    return undefined;
  } catch (error) {
    // Names are looked at last: a pod of that name says that everything else was well.
    if (error instanceof AlreadyExists) return undefined;
    if (!(error instanceof Invalid) && !(error instanceof Forbidden)) throw error;
    return podRefused(tried, error.serverMessage ?? error.message);
  }
}
