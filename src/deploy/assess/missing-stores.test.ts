import { expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aWorkload } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { pass } from './entry.ts';
import { checkWorkloads } from './workloads.ts';

const NO_DATABASE = { runtime: { database: 'none' } } as const;
const NO_REDIS = { runtime: { redis: 'none' } } as const;

it.each<[string, string, Partial<AppDeploymentSpec>, string]>([
  [
    'PostgreSQL',
    "KeyError: 'POSTGRES_URI'",
    { sourceConfig: NO_DATABASE },
    'database is none, so POSTGRES_URI is not set.',
  ],
  [
    'its other name',
    'DATABASE_URI missing',
    { sourceConfig: NO_DATABASE },
    'database is none, so DATABASE_URI is not set.',
  ],
  ['Redis', "KeyError: 'REDIS_URI'", { sourceConfig: NO_REDIS }, 'redis is none, so REDIS_URI is not set.'],
  ['a store that is there', "KeyError: 'POSTGRES_URI'", { sourceConfig: NO_REDIS }, ''],
  ['no store', 'KeyError: SHOP', { sourceConfig: NO_DATABASE }, ''],
  ['another variable', 'MY_POSTGRES_URI_2', { sourceConfig: NO_DATABASE }, ''],
  [
    'a secret of the record',
    'DATABASE_URI cannot be read',
    { sourceConfig: NO_DATABASE, secrets: [{ name: 'DATABASE_URI', secretName: 'a', secretKey: 'b' }] },
    '',
  ],
])('says why a variable is missing, where the last words name %s', (_what, words, spec, clause) => {
  const record = aRecord(spec);
  const revision = aRevision(record);
  const ended = { terminated: { exitCode: 1, reason: 'Error', message: words } };
  const crashed = { name: 'server', restartCount: 3, state: ended };
  const observed = anObserved(record, {
    children: [aWorkload('server', revision, { ready: 0 })],
    pods: [aPod('server', revision, { main: [crashed] })],
  });
  const stores = [pass('Answering', ''), pass('Answering', '')];
  const patience = {
    maxCrashes: 3,
    unavailableSeconds: 300,
    exhausted: new Set<never>(),
    progressDeadlineSeconds: 600,
    overdue: new Set<never>(),
  };
  for (const seen of [observed, { ...observed, patience }]) {
    const { reason, message } = checkWorkloads(seen, revision, stores);
    expect(reason).toBe('ContainerCrashed');
    const says = clause === '' ? '' : ` runtime.${clause}`;
    // The command that shows the log of a failed revision follows.
    expect(message.split(' Its log: ')[0]).toMatch(new RegExp(`deploy a corrected revision\\.${says}$`));
  }
});
