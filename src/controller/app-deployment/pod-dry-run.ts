// Asks the API server about pods before they exist: dry runs, which leave nothing behind.

import { isDeepStrictEqual } from 'node:util';
import { FIELD_MANAGER } from '../../api/meta.ts';
import { type PodToTry, podRefused } from '../../decide/children/pod-dry-run.ts';
import { type ActionFailure, refTo, said } from '../../decide/observed.ts';
import { AlreadyExists, Forbidden, Invalid } from '../../errors.ts';
import { PODS } from '../../kube/api-resources.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { Cluster } from '../shared/cluster.ts';
import { failureOf } from '../shared/failures.ts';
import { settleFailures } from '../shared/settle-all.ts';

/** What the API server says of a pod: nothing where it would take it, else why not, in its own words. */
export interface DryRunResult {
  readonly pod: KubeObject;
  readonly words: string | undefined;
}

/**
 * The rejections of these pods with the API server's message, and the requests that failed. Pods with a result in
 * `answers` are not sent again.
 */
export async function dryRunPods(
  pods: readonly PodToTry[],
  target: Cluster,
  answers: readonly DryRunResult[] = [],
): Promise<ActionFailure[]> {
  return settleFailures(
    pods.map(async (tried) => {
      const answer = answers.find((known) => isDeepStrictEqual(known.pod, tried.pod));
      try {
        const words = answer ? answer.words : await ask(tried.pod, target);
        return words === undefined ? undefined : podRefused(tried, words);
      } catch (error) {
        const workload = refTo(tried.workload);
        // The failure names the workload, so that the workload is not changed.
        return failureOf(error, workload, 'try', `the pods of ${said(workload)}`);
      }
    }),
  );
}

/** Asks before it is known whether the answers will be needed: where one cannot be had there is none. */
export async function tryAhead(pods: readonly PodToTry[], target: Cluster): Promise<DryRunResult[]> {
  const outcomes = await Promise.allSettled(pods.map(async ({ pod }) => ({ pod, words: await ask(pod, target) })));
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

async function ask(pod: KubeObject, { client }: Cluster): Promise<DryRunResult['words']> {
  try {
    // Strict: a field that is in no schema is dropped from a pod without a word, and makes every apply of it fail.
    await client.create(PODS, pod, { fieldManager: FIELD_MANAGER, dryRun: true, strict: true });
    return undefined;
  } catch (error) {
    // Names are looked at last: a pod of that name says that everything else was well.
    if (error instanceof AlreadyExists) return undefined;
    if (!(error instanceof Invalid) && !(error instanceof Forbidden)) throw error;
    return error.serverMessage ?? error.message;
  }
}
