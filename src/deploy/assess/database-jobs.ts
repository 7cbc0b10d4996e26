// What the Jobs on a record's own PostgreSQL say, which make backups, load them and verify them: their last words, and when they failed.

import type { z } from 'zod';
import { rfc3339 } from '../../kinds/conditions.ts';
import { DEPLOYMENT_UID_LABEL, SERVER_CONTAINER } from '../../kinds/meta.ts';
import { containerEnded } from '../../kinds/own-containers.ts';
import { quoted } from '../../kinds/text.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { youngestFirst } from '../../runtime/kube/youngest-first.ts';
import { isOwnedBy } from '../record/metadata.ts';
import { type Job, jobEnd } from './jobs.ts';
import type { ContainerStatus, ObservedChildren, Pod } from './observed.ts';
import { isUnended, podsOf, type Trouble, workFailure } from './pod-failures.ts';
import { withoutValues } from './server-log.ts';

/** The pods of this record's Jobs of a component, and of no other life of its name. */
export function databaseJobPods(observed: ObservedChildren, component: string): readonly Pod[] {
  const { uid } = observed.record.metadata;
  return podsOf(observed, component).filter(({ metadata }) => metadata.labels?.[DEPLOYMENT_UID_LABEL] === uid);
}

/** The Job of these that failed last, after `known`: the words of a failure that was reported stay, and its pod may be gone by now. */
export function newestFailure(
  observed: ObservedChildren,
  jobs: readonly Job[],
  component: string,
  known = '',
): { readonly lastFailureAt?: string; readonly lastFailure?: string } {
  const failed = jobs
    .flatMap((job) => {
      const at = failedAt(job);
      return at === undefined ? [] : [{ job, at }];
    })
    .toSorted((a, b) => (a.at < b.at ? 1 : -1));
  const [newest] = failed;
  if (newest === undefined || known >= newest.at) return {};
  const pods = databaseJobPods(observed, component).filter((pod) => isOwnedBy(pod, newest.job.metadata.uid));
  // The pod has ended, and the cache of pods does not show it yet.
  if (pods.some(isUnended)) return {};
  const words = youngestFirst(pods).flatMap(lastWords)[0] ?? quoted(jobEnd(newest.job, 'Failed')?.message);
  return { lastFailureAt: newest.at, lastFailure: words };
}

/** A kubelet says the end of a container in whole seconds. */
const ROUNDED_MS = 1000;

/**
 * What the containers of this name said at their end, of those that succeeded, the newest first. Their pods may be anybody's work, so
 * nothing is believed unread, and nothing of a time after the end of the container, which the kubelet says: it would outlive all that comes.
 */
export function reportsOf<Report>(observed: ObservedChildren, kind: ReportKind<Report>): readonly Report[] {
  const { timeOf } = kind;
  return endedReports(observed, kind)
    .map(({ report }) => report)
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
}

/** Reports with the end times of their containers (RFC 3339, UTC), the earliest first. */
export function endedReports<Report>(
  observed: ObservedChildren,
  { component, container, schema, timeOf }: ReportKind<Report>,
): readonly { readonly report: Report; readonly endedAt: string }[] {
  return databaseJobPods(observed, component)
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .flatMap(({ name, state }) => {
      const ended = state?.terminated;
      const at = Date.parse(ended?.finishedAt ?? '');
      if (name !== container || Number.isNaN(at) || ended?.exitCode !== 0) return [];
      const reports = schema.array().safeParse([jsonOf(ended.message)]).data ?? [];
      const endedAt = rfc3339(new Date(at));
      return reports.flatMap((report) => (Date.parse(timeOf(report)) <= at + ROUNDED_MS ? [{ report, endedAt }] : []));
    })
    .toSorted((a, b) => Date.parse(a.endedAt) - Date.parse(b.endedAt));
}

interface ReportKind<Report> {
  readonly component: string;
  readonly container: string;
  readonly schema: z.ZodType<Report>;
  /** RFC 3339. */
  readonly timeOf: (report: Report) => string;
}

/** Why one of these pods cannot begin, or none can in its place. */
export function beginningFails(pods: readonly Pod[]): Trouble | undefined {
  const isGoing = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined && isUnended(pod);
  return workFailure(pods.filter((pod) => pod.status?.phase === 'Pending' || isGoing(pod)));
}

/** A backup by hand. */
export function toBackUpAgain({ record }: ObservedChildren): string {
  const { name, namespace } = record.metadata;
  return `To try again: kubectl davit backup ${name} -n ${namespace}.`;
}

/** A verification by hand, whose Job has another name each time. */
export function toVerifyAgain({ record, names }: ObservedChildren): string {
  return `To try again: kubectl create job --from=cronjob/${names.verification} ${names.verification}-$(date +%s) -n ${record.metadata.namespace}.`;
}

/** What each container that failed has said at its end. */
export function lastWords({ status }: Pod): readonly string[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  // A server that the others need ends with them, so its words come last.
  const isServer = ({ name }: ContainerStatus): boolean => name === SERVER_CONTAINER;
  return [...all.filter((one) => !isServer(one)), ...all.filter(isServer)].flatMap(({ name, state }) => {
    const ended = state?.terminated;
    if (ended === undefined || ended.exitCode === 0) return [];
    const how = `${quoted(ended.reason ?? 'Error', 64)}, exit code ${ended.exitCode}`;
    const words = quoted(withoutValues(ended.message?.slice(-2048) ?? ''), 900);
    return [`${containerEnded(name)} (${how})${words === '' ? '' : `: ${words}`}`];
  });
}

/** RFC 3339 in UTC. */
function failedAt(job: Job): string | undefined {
  const at = Date.parse(jobEnd(job, 'Failed')?.lastTransitionTime ?? '');
  return Number.isNaN(at) ? undefined : rfc3339(new Date(at));
}
