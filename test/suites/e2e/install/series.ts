// What Prometheus would scrape from a controller and an API of Davit, minute by minute: the samples are rendered by Davit's own
// metrics, of platforms that are in order, out of order or gone.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { RegistryHealth } from '../../../../src/build/registry/metrics.ts';
import type { AppDeploymentStatus } from '../../../../src/kinds/app-deployment.ts';
import { BUILD_REASONS } from '../../../../src/kinds/build.ts';
import { type AllMetrics, makeAllMetrics } from '../../../../src/main/metrics.ts';
import { type Census, censusOf } from '../../../../src/main/monitoring/census.ts';
import { BUILD_RESULTS, ROLLOUT_RESULTS } from '../../../../src/main/monitoring/outcomes.ts';
import { addProcessMetrics } from '../../../../src/runtime/controller/metrics.ts';
import { Unavailable } from '../../../../src/runtime/errors.ts';
import { aRecord, aRevision } from '../../../support/builders.ts';
import type { Series } from '../../../support/promtool.ts';

export type Platform = 'in order' | 'out of order';

export const START = '2026-02-02T02:00:00Z';
const STARTED_MS = Date.parse(START);
const DAY_MS = 86_400_000;
const LONG_AGO = '2026-02-01T20:00:00Z';

/** The series of `minutes` minutes from START on. */
export async function scrapes(platform: Platform, minutes: number): Promise<Series[]> {
  const processes = [
    { command: 'controller', instance: '10.0.0.1:9090', metrics: makeAllMetrics() },
    { command: 'api', instance: '10.0.0.2:9090', metrics: makeAllMetrics() },
  ] as const;
  for (const { metrics, command } of processes) addProcessMetrics(metrics.registry, { command, version: '0.1.0' });
  const [{ metrics: controller }, { metrics: api }] = processes;
  let now = 0;
  controller.countRecords(() => censusAt(platform, now));
  controller.startOutcomesAtZero({
    rollouts: Object.values(ROLLOUT_RESULTS),
    builds: Object.values(BUILD_RESULTS),
    buildFailures: Object.keys(BUILD_REASONS),
  });
  controller.leading('davit-controller', true);
  controller.showRegistry(() => registryAt(platform));
  api.servesUntil(new Date(STARTED_MS + (platform === 'in order' ? 60 : 3) * DAY_MS));

  const samples = new Map<string, string[]>();
  for (let minute = 0; minute < minutes; minute += 1) {
    now = minute;
    liveMinute(platform, minute, controller, api);
    // Garbage collections are reported between two turns of the event loop.
    await turnOfTheLoop();
    for (const { metrics, instance } of processes) {
      for (const [series, value] of rendered(await metrics.registry.metrics(), instance)) {
        const all = samples.get(series) ?? [];
        // Prometheus marks a series that a scrape no longer has.
        while (all.length < minute) all.push(all.length === 0 || all.at(-1) === '_' ? '_' : 'stale');
        samples.set(series, [...all, lagging(platform, series) ?? value]);
      }
    }
  }
  const ofDavit = [...samples].map(([series, values]) => ({ series, values: values.join(' ') }));
  return [...ofDavit, ...volumes(platform, minutes)];
}

function registryAt(platform: Platform): RegistryHealth {
  const at = STARTED_MS / 1000;
  return platform === 'in order'
    ? {
        isUp: true,
        collection: { state: 'succeeded', succeededAt: at - 3600, dueAt: at + 6 * 86_400 },
        unneeded: 12,
      }
    : {
        isUp: false,
        collection: { state: 'failing', succeededAt: at - 9 * 86_400, dueAt: at - 2 * 86_400 },
        unneeded: 500,
      };
}

/** What Prometheus scrapes from the kubelet of the registry's pod and of a database's, and about another volume that is full. */
function volumes(platform: Platform, minutes: number): Series[] {
  const labels = (claim: string): string => `{job="kubelet",namespace="davit-system",persistentvolumeclaim="${claim}"}`;
  const left = { registry: platform === 'in order' ? 30 : 1, other: 0 };
  return [
    ['capacity', 'shop--postgres', 50],
    ['available', 'shop--postgres', left.registry],
    ['capacity', 'data-davit-registry-0', 50],
    ['available', 'data-davit-registry-0', left.registry],
    ['capacity', 'data-prometheus-0', 50],
    ['available', 'data-prometheus-0', left.other],
  ].map(([what, claim, gigabytes]) => ({
    series: `kubelet_volume_stats_${what}_bytes${labels(String(claim))}`,
    values: `${Number(gigabytes) * 1e9}x${minutes}`,
  }));
}

/** The event loop of this process is not kept busy for an hour: the sample of one that is takes its place. */
function lagging(platform: Platform, series: string): string | undefined {
  return platform === 'out of order' && series.startsWith('nodejs_eventloop_lag_p99_seconds{') ? '2.5' : undefined;
}

/** One minute of requests, reconciles, rollouts and builds. */
function liveMinute(platform: Platform, minute: number, controller: AllMetrics, api: AllMetrics): void {
  const inOrder = platform === 'in order';
  const refused = new Unavailable('gone').name;
  for (let time = 0; time < 10; time += 1) {
    api.answered('GET', '/v2/deployments', 200, 0.02);
    controller.reconciled('appdeployments', 'done', 0.05);
    controller.requested('apply', 'deployments', 'ok', 0.02);
    controller.codeHostRequested('gitea', '2xx', 0.2);
  }
  if (minute % 5 === 0) {
    controller.rolledOut('deployed', 30);
    controller.buildQueued(5);
    controller.built('built', 90);
    controller.relisted('pods');
    controller.reconnected('pods');
  }
  controller.queueDepth('appdeployments', inOrder ? 2 : 500);
  // What happens on any platform now and then raises no alert.
  if (minute === 30) {
    api.answered('GET', '/v2/deployments', 503, 1);
    controller.reconciled('appdeployments', 'error', 1);
    controller.requested('get', 'nodes', refused, 1);
    controller.watchFailed('pods', refused);
    controller.rolledOut('failed', 600);
    controller.buildFailed('StepFailed');
    controller.buildFailed('PushFailed');
    controller.restarted('server', 1, { namespace: 'team', name: 'shop-1' });
  }
  controller.cached('pods', 1);
  if (inOrder) return;
  for (let time = 0; time < 20; time += 1) {
    api.answered('POST', '/v2/deployments', 503, 20);
    controller.reconciled('appdeployments', 'error', 2);
    controller.requested('apply', 'deployments', refused, 5);
    controller.codeHostRequested('gitea', 'timeout', 10);
  }
  controller.restarted('server', 1, { namespace: 'team', name: 'shop-1' });
  controller.watchFailed('pods', refused);
  controller.rolledOut('failed', 600);
  controller.built('failed', 20);
  controller.buildFailed('PushFailed');
}

function censusAt(platform: Platform, minute: number): Census {
  const isBroken = (reason: string): boolean => !['Serving', 'Paused', 'Progressing'].includes(reason);
  let named = 0;
  const record = (
    ready: string,
    reason: string,
    stalled: 'True' | 'False',
    database = 'Answering',
    run: 'Succeeded' | 'Failed' | 'Missed' = 'Succeeded',
  ): ReturnType<typeof aRecord> => {
    const common = { message: '', lastTransitionTime: START };
    const ofData = (type: string, good: string, bad: string): object =>
      isBroken(reason)
        ? { type, status: 'False', reason: bad, ...common }
        : { type, status: 'True', reason: good, ...common };
    const conditions = [
      { type: 'Ready', status: ready, reason, ...common },
      { type: 'Stalled', status: stalled, reason: stalled === 'True' ? reason : 'Settled', ...common },
      { type: 'Available', status: reason === 'Progressing' ? 'True' : ready, reason, ...common },
      { type: 'DatabaseReady', status: database === 'Answering' ? 'True' : 'False', reason: database, ...common },
      ofData('BackupReady', 'BackedUp', 'BackupStale'),
      ofData('ArchiveReady', 'Archived', 'ArchiveFailing'),
      ofData('BackupVerified', 'Verified', 'VerificationFailing'),
    ];
    const task =
      run === 'Missed'
        ? { name: 'clean', state: 'Scheduled', missedAt: START, runs: [] }
        : { name: 'clean', state: 'Scheduled', runs: [{ job: 'clean-1', state: run }] };
    named += 1;
    const made = aRecord(
      {},
      {
        status: {
          tasks: [task],
          state: ready === 'True' ? 'READY' : 'UNKNOWN',
          activeRevisionId: 'a',
          databaseBackup: { lastSuccessAt: START },
          databaseVerification: { verifiedAt: START },
          datastores: {
            postgres: {
              image: 'postgres:17.5-trixie',
              version: '17.5',
              ...(isBroken(reason) && { available: 'postgres:17.6-trixie' }),
            },
          },
          conditions,
        } as AppDeploymentStatus,
      },
    );
    return { ...made, metadata: { ...made.metadata, name: `shop-${named}` } };
  };
  const records = Array.from({ length: 8 }, () => record('True', 'Serving', 'False'));
  // A person has stopped one, and one has just been changed: neither is out of order.
  records.push(record('False', 'Paused', 'True'), record('False', 'Progressing', 'False'));
  const building = { ...aRevision(aRecord()), status: { build: { phase: 'Building', queuedAt: START } as const } };
  if (platform === 'in order') return censusOf(records, [building], 9);
  // One of production serves for one minute of four; one has lacked a pod for hours.
  const made = record('True', 'Serving', 'False');
  const inProduction = {
    ...made,
    spec: { ...made.spec, sourceConfig: { ...made.spec.sourceConfig, deploymentType: 'prod' as const } },
  };
  const since = new Date(STARTED_MS + (minute - (minute % 4)) * 60_000).toISOString();
  const flapping = made.status?.conditions?.map((one) =>
    one.type === 'Available'
      ? { ...one, status: minute % 4 === 0 ? 'True' : 'False', reason: 'ContainerCrashed', lastTransitionTime: since }
      : one,
  );
  const lacking = record('False', 'ContainerCrashed', 'False');
  const withoutPods = [
    ...(lacking.status?.conditions ?? []).map((one) => (one.type === 'Available' ? { ...one, status: 'True' } : one)),
    { type: 'WorkloadsReady', status: 'False', reason: 'ContainerCrashed', message: '', lastTransitionTime: LONG_AGO },
  ];
  const bare = record('True', 'Serving', 'False');
  const unprotected = bare.status?.conditions?.map((one) =>
    one.type === 'BackupReady' ? { ...one, status: 'False', reason: 'NotConfigured' } : one,
  );
  records.push(
    ...Array.from({ length: 5 }, () => record('False', 'PodsRefused', 'True', 'Answering', 'Failed')),
    // A pause does not hide that data is at risk.
    record('False', 'Paused', 'True', 'VolumeLost'),
    record('True', 'Serving', 'False', 'Answering', 'Missed'),
    // Nor does what serves hide that its database needs attention.
    record('True', 'Serving', 'False', 'InstancesMissing'),
    record('False', 'VolumeFull', 'True', 'VolumeFull'),
    { ...inProduction, status: { ...inProduction.status, conditions: flapping } as AppDeploymentStatus },
    { ...lacking, status: { ...lacking.status, conditions: withoutPods } as AppDeploymentStatus },
    { ...bare, status: { ...bare.status, conditions: unprotected } as AppDeploymentStatus },
  );
  const waiting = { ...aRevision(aRecord()), status: { build: { phase: 'Queued', queuedAt: START } as const } };
  return censusOf(records, [building, waiting], 16);
}

/** Series with the labels of their target → sample. Samples that are no number are left out. */
function rendered(text: string, instance: string): Map<string, string> {
  const samples = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value = ''] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || !Number.isFinite(Number(value))) continue;
    const target = `job="davit-metrics",instance="${instance}"`;
    samples.set(`${name}{${target}${labels === '' ? '' : `,${labels}`}}`, value);
  }
  return samples;
}
