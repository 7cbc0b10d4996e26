import { expect, it } from 'vitest';
import { makeAllMetrics } from './metrics.ts';

const CENSUS = {
  deployments: [{ state: 'READY', ready: 'True', stalled: 'False', reason: 'Serving', count: 3 }],
  databases: [{ reason: 'Ready', count: 4 }],
  datastores: [{ datastore: 'postgres', version: '17.5', behind: 'true', count: 4 }],
  backups: [{ reason: 'BackedUp', count: 2 }],
  unprotected: 5,
  retained: { count: 6, bytes: 2048 },
  oldestBackup: 1_700_000_000,
  archives: [{ reason: 'Archived', count: 3 }],
  verifications: [{ reason: 'Verified', count: 1 }],
  oldestVerification: 1_600_000_000,
  dataAtRisk: [{ reason: 'VolumeLost', count: 1 }],
  unavailableSince: [{ type: 'prod', reason: 'ContainerCrashed', at: 900 }],
  degradedSince: [{ type: 'none', reason: 'Unschedulable', at: 950 }],
  stalledSince: [{ type: 'dev', reason: 'VolumeLost', at: 1000 }],
  tenants: [{ ready: 'True', count: 2 }],
  tasks: [{ result: 'failed', count: 2 }],
  builds: [{ phase: 'Queued', count: 2 }],
  queuedSince: 900,
};

async function values(metrics: ReturnType<typeof makeAllMetrics>, name: RegExp): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => name.test(line) && !line.startsWith('#'));
}

it('records are counted at each scrape, by the one who counts; without one there is no series', async () => {
  const metrics = makeAllMetrics();
  const ofRecords = /^davit_(deployments|databases?|datastore|tasks|builds)_?/;
  expect(await values(metrics, ofRecords)).toEqual([]);
  let census: typeof CENSUS = CENSUS;
  const stop = metrics.countRecords(() => census);
  expect(await values(metrics, ofRecords)).toEqual([
    'davit_deployments{state="READY",ready="True",stalled="False",reason="Serving"} 3',
    'davit_databases_at_risk{reason="VolumeLost"} 1',
    'davit_databases{reason="Ready"} 4',
    'davit_datastore_version_info{datastore="postgres",version="17.5",behind="true"} 4',
    'davit_databases_unprotected 5',
    'davit_databases_retained 6',
    'davit_databases_retained_bytes 2048',
    'davit_database_backups{reason="BackedUp"} 2',
    'davit_database_backups_oldest_timestamp_seconds 1700000000',
    'davit_database_archives{reason="Archived"} 3',
    'davit_database_verifications{reason="Verified"} 1',
    'davit_database_verifications_oldest_timestamp_seconds 1600000000',
    'davit_deployments_unavailable_oldest_timestamp_seconds{deployment_type="prod",reason="ContainerCrashed"} 900',
    'davit_deployments_degraded_oldest_timestamp_seconds{deployment_type="none",reason="Unschedulable"} 950',
    'davit_deployments_stalled_oldest_timestamp_seconds{deployment_type="dev",reason="VolumeLost"} 1000',
    'davit_tasks{result="failed"} 2',
    'davit_builds{phase="Queued"} 2',
    'davit_builds_queued_oldest_timestamp_seconds 900',
  ]);
  census = { ...CENSUS, stalledSince: [], builds: [] };
  expect(await values(metrics, /stalled_oldest|^davit_builds\{/)).toEqual([]);
  const stopNext = metrics.countRecords(() => CENSUS);
  stop();
  expect(await values(metrics, ofRecords)).toHaveLength(18);
  stopNext();
  expect(await values(metrics, ofRecords)).toEqual([]);
});

it('the names follow the conventions of Prometheus: counters end in _total, times and durations in _seconds', () => {
  const all = makeAllMetrics().registry.getMetricsAsArray() as unknown as {
    name: string;
    type: string;
    help: string;
  }[];
  expect(all.length).toBeGreaterThan(20);
  const wrong = all.filter(({ name, type }) => {
    const isRight = { counter: /_total$/, histogram: /_seconds$/, gauge: /^(?!.*_total$)/ }[type] ?? /^$/;
    return !isRight.test(name) || !/^davit_[a-z_]+$/.test(name);
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
  expect(all.filter(({ help }) => help.length < 10)).toEqual([]);
});
