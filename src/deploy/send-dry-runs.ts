// Dry runs of pods, which leave nothing behind.

import { isDeepStrictEqual } from 'node:util';
import { FIELD_MANAGER } from '../kinds/meta.ts';
import { AlreadyExists, isRefusal } from '../runtime/errors.ts';
import { PODS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { type ActionFailure, refText, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleFailures } from './cluster/settle-all.ts';
import { type PodToTry, podRefused } from './plan/pod-dry-run.ts';

/** The result of a pod's dry run: the API server's message if it rejects the pod. */
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
  home: Cluster,
  answers: readonly DryRunResult[] = [],
): Promise<ActionFailure[]> {
  return settleFailures(
    pods.map(async (tried) => {
      const answer = answers.find((known) => isDeepStrictEqual(known.pod, tried.pod));
      try {
        const words = answer ? answer.words : await ask(tried.pod, home);
        return words === undefined ? undefined : podRefused(tried, words);
      } catch (error) {
        const workload = refTo(tried.workload);
        // The failure names the workload, so that the workload is not changed.
        return failureOf(error, workload, 'try', `the pods of ${refText(workload)}`);
      }
    }),
  );
}

/** Dry-runs pods before it is known whether the results are needed. A failed request gives no result. */
export async function tryAhead(pods: readonly PodToTry[], home: Cluster): Promise<DryRunResult[]> {
  const outcomes = await Promise.allSettled(pods.map(async ({ pod }) => ({ pod, words: await ask(pod, home) })));
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

async function ask(pod: KubeObject, { client }: Cluster): Promise<DryRunResult['words']> {
  try {
    // Strict: the API server silently drops unknown fields from a pod, but they make every apply of the workload fail.
    await client.create(PODS, pod, { fieldManager: FIELD_MANAGER, dryRun: true, strict: true });
    return undefined;
  } catch (error) {
    // Names are checked last, so AlreadyExists means that the pod is otherwise accepted.
    if (error instanceof AlreadyExists) return undefined;
    if (!isRefusal(error)) throw error;
    return error.words;
  }
}
