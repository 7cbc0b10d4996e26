// The series over which the chart's alerts and its dashboard are evaluated with Prometheus (test/suites/e2e/install/monitoring.test.ts)
// have every metric that these name, and a reason of every alert that names reasons. Prometheus is not needed to see that.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { isFailure, REASONS } from '../../../src/kinds/app-deployment-conditions.ts';
import { DATA_AT_RISK } from '../../../src/main/monitoring/census.ts';
import { scrapes } from '../e2e/install/series.ts';

const files = join(import.meta.dirname, '../../../charts/davit/files');
const MINUTES = 35;

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}
interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

it('a platform out of order has a series for every metric and every reason of alerts and dashboard', async () => {
  const rules = parse(await readFile(join(files, 'alerts.yaml'), 'utf8')) as Rules;
  const { panels } = JSON.parse(await readFile(join(files, 'dashboard.json'), 'utf8')) as Dashboard;
  const expressions = [
    ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ];
  const series = (await scrapes('out of order', MINUTES)).map((one) => one.series);
  const metrics = new Set(expressions.flatMap((expr) => expr.match(/\bdavit_[a-z_]+/g) ?? []));
  expect(metrics.size).toBeGreaterThan(30);
  expect([...metrics].filter((metric) => !series.some((one) => one.startsWith(`${metric}{`)))).toEqual([]);
  const reasons = expressions.flatMap((expr) => [...expr.matchAll(/\b(davit_[a-z_]+)\{[^}]*\breason=~"([^"]+)"/g)]);
  expect(reasons.length).toBeGreaterThan(2);
  const without = reasons.filter(([, metric = '', wanted = '']) => {
    const matches = new RegExp(`[{,]reason="(?:${wanted})"`);
    return !series.some((one) => one.startsWith(`${metric}{`) && matches.test(one));
  });
  expect(without.map(([matcher]) => matcher)).toEqual([]);
});

/** What decides BackupReady, ArchiveReady and BackupVerified. */
const OF_BACKUPS = ['backup', 'backup-store', 'wal-archive', 'archive-restore', 'verification'];
/** Of backups that the record cannot have, and of a restore, which Ready waits for. */
const NOT_ALERTED = [
  'BackupNotPossible',
  'ArchiveNotPossible',
  'ArchiveMissing',
  'RestoreNotPossible',
  'RestoreFailed',
];

it('every reason for which backups fail has an alert, or is listed as one that has none', async () => {
  const assess = join(import.meta.dirname, '../../../src/deploy/assess');
  const sources = await Promise.all(OF_BACKUPS.map((file) => readFile(join(assess, `${file}.ts`), 'utf8')));
  const given = [...sources.join('').matchAll(/'([A-Z]\w+)'/g)].map(([, word = '']) => word);
  const failures = new Set(given.filter((word) => word in REASONS && isFailure(word)));
  const { groups } = parse(await readFile(join(files, 'alerts.yaml'), 'utf8')) as Rules;
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert.startsWith('DavitBackup'));
  const alerted = new Set(alerts.flatMap(({ expr }) => expr.match(/\b[A-Z]\w+\b/g) ?? []).filter(isReason));
  expect([...failures].toSorted()).toEqual([...alerted, ...NOT_ALERTED].toSorted());
});

const isReason = (word: string): boolean => word in REASONS;

it('an alert names the same reasons of one deployment as of all', async () => {
  const { groups } = parse(await readFile(join(files, 'alerts.yaml'), 'utf8')) as Rules;
  const rules = Map.groupBy(
    groups.flatMap((group) => group.rules),
    ({ alert }) => alert,
  );
  const reasonsIn = ({ expr }: { readonly expr: string }): string[] =>
    [...new Set([...expr.matchAll(/\breason=~"([^"]+)"/g)].flatMap(([, list = '']) => list.split('|')))].toSorted();
  const ofOne = ([, [, one]]: readonly [string, readonly { readonly expr: string }[]]): boolean =>
    one?.expr.includes('davit_deployment_trouble_timestamp_seconds{') === true;
  const both = [...rules].filter(ofOne);
  expect(both.map(([alert]) => alert)).toEqual([
    'DavitDataAtRisk',
    'DavitDatabaseDegraded',
    'DavitDatabaseVolumeFull',
    'DavitBackupsFailing',
    'DavitDatabaseUnprotected',
    'DavitBackupNotVerified',
    'DavitDeploymentUnavailable',
    'DavitDeploymentFlapping',
    'DavitDeploymentDegraded',
  ]);
  for (const [alert, [all, one]] of both) {
    // The metric of data at risk has no other reasons.
    const expected = alert === 'DavitDataAtRisk' ? DATA_AT_RISK.toSorted() : all && reasonsIn(all);
    expect([alert, one && reasonsIn(one)]).toEqual([alert, expected]);
  }
});
