import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, aRevision, aWorkload } from '../../../test/support/builders.ts';
import { SECRETS_ANNOTATION } from '../../kinds/meta.ts';
import type { Observed, SecretsRead, Workload } from '../assess/observed.ts';
import { rotationOf } from './rotation.ts';

const record = aRecord();
const revision = aRevision(record);

function seen(digest: string, msAgo?: number): SecretsRead {
  return { is: 'complete', digest, ...(msAgo !== undefined && { quietForMs: msAgo }) };
}

function workload(digests: { pods?: string; workload?: string }, of = revision): Workload {
  const made = aWorkload('server', of);
  return {
    ...made,
    metadata: {
      ...made.metadata,
      ...(digests.workload !== undefined && { annotations: { [SECRETS_ANNOTATION]: digests.workload } }),
    },
    spec: {
      ...made.spec,
      template: {
        metadata: {
          ...made.spec?.template?.metadata,
          ...(digests.pods !== undefined && { annotations: { [SECRETS_ANNOTATION]: digests.pods } }),
        },
      },
    },
  };
}

function observed(secretsRead: SecretsRead, ...children: readonly Workload[]): Observed {
  return anObserved(record, { secretsRead, children, revisions: [revision] });
}

describe('the digests of a workload', () => {
  const old = { pods: 'k.1', workload: 'k.1' };
  it.each([
    { name: 'nothing is read: none', given: observed({ is: 'nothing' }, workload(old)), digests: {} },
    { name: 'a new workload', given: observed(seen('k.1')), digests: old },
    { name: 'the same values', given: observed(seen('k.1'), workload(old)), digests: old },
    {
      name: 'other values',
      given: observed(seen('k.2', 5000), workload(old)),
      digests: { pods: 'k.2', workload: 'k.2' },
    },
    {
      name: 'other values since before this process began',
      given: observed(seen('k.2'), workload(old)),
      digests: { pods: 'k.2', workload: 'k.2' },
    },
    {
      name: 'other values since a moment ago: more may come',
      given: observed(seen('k.2', 500), workload(old)),
      digests: old,
      waitMs: 1500,
    },
    {
      name: 'other values since a moment ago, and a new revision: the pods are rolled anyway',
      given: observed(seen('k.2', 500), workload(old, aRevision(record, undefined, 2))),
      digests: { pods: 'k.2', workload: 'k.2' },
      waitMs: 1500,
    },
    { name: 'something is missing: as they are', given: observed({ is: 'incomplete' }, workload(old)), digests: old },
    {
      name: 'pods of before there were digests are not rolled',
      given: observed(seen('k.1'), workload({})),
      digests: { workload: 'k.1' },
    },
    {
      name: 'but for the next rotation',
      given: observed(seen('k.2'), workload({ workload: 'k.1' })),
      digests: { pods: 'k.2', workload: 'k.2' },
    },
    {
      name: 'another key rolls nothing',
      given: observed(seen('l.9'), workload(old)),
      digests: { pods: 'k.1', workload: 'l.9' },
    },
  ])('$name', ({ given, digests, waitMs }) => {
    const rotation = rotationOf(given, revision);
    expect(rotation.digests['server']).toEqual(digests);
    expect(rotation.waitMs).toBe(waitMs);
  });

  it('each workload has its own: a new one beside one of before', () => {
    const { digests } = rotationOf(observed(seen('k.1'), workload({})), revision);
    expect(digests).toMatchObject({ server: { workload: 'k.1' }, queue: { pods: 'k.1', workload: 'k.1' } });
  });
});
