import { expect, it } from 'vitest';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { databaseDeletion, deletionDefault } from './database-deletion.ts';

type Policy = AppDeployment['spec']['databaseDeletionPolicy'];

const fixed = (databaseDeletionDefault: 'Delete' | 'Retain'): AppDeployment['status'] => ({
  state: 'READY',
  databaseDeletionDefault,
});

it.each<[string, Policy, AppDeployment['status'], 'Delete' | 'Retain', 'Delete' | 'Retain']>([
  ['a new record follows the settings', undefined, undefined, 'Retain', 'Retain'],
  ['and they may say Delete', undefined, undefined, 'Delete', 'Delete'],
  ['the default of the CRD for a status says nothing', undefined, { observedGeneration: 0 }, 'Retain', 'Retain'],
  ['other settings change nothing later', undefined, fixed('Retain'), 'Delete', 'Retain'],
  ['in either direction', undefined, fixed('Delete'), 'Retain', 'Delete'],
  ['a record with a status of before keeps Delete', undefined, { state: 'READY' }, 'Retain', 'Delete'],
  ['the spec comes first', 'Delete', fixed('Retain'), 'Retain', 'Delete'],
  ['also for a record of before', 'Retain', { state: 'READY' }, 'Delete', 'Retain'],
])('%s', (_what, databaseDeletionPolicy, status, ofPlatform, inForce) => {
  const spec = { source: 'external_docker', databaseDeletionPolicy } as AppDeployment['spec'];
  expect(databaseDeletion({ spec, ...(status && { status }) }, ofPlatform)).toBe(inForce);
});

it('a value that was taken back leaves the one that the record began with', () => {
  expect(deletionDefault({ status: { ...fixed('Retain'), databaseDeletionPolicy: 'Delete' } }, 'Delete')).toBe(
    'Retain',
  );
});
