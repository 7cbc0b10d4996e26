import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { revisionsOf } from './revisions.ts';

const record = aRecord();

function revision(name: string, spec: Partial<AppRevision['spec']>): AppRevision {
  const deploymentUid = record.metadata.uid ?? '';
  return { metadata: { name }, spec: { deploymentUid, ...spec } } as AppRevision;
}

it('are those of this very record, newest first, in whatever order they come', () => {
  const revisions = [
    revision('first', { deploymentGeneration: 1 }),
    revision('asked-again', { deploymentGeneration: 2, revisionSerial: 1 }),
    revision('of-an-earlier-record', { deploymentGeneration: 9, deploymentUid: 'another' }),
    revision('edited', { deploymentGeneration: 10 }),
    revision('of-one-generation', { deploymentGeneration: 2 }),
  ];
  const named = revisionsOf(record, revisions).map(({ metadata }) => metadata.name);
  expect(named).toEqual(['edited', 'asked-again', 'of-one-generation', 'first']);
});
