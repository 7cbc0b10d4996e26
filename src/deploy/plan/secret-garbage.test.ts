import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { secretUsage, valuesNamed } from './secret-garbage.ts';

const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'shop--vars-1', namespace: 'team', labels: { 'davit.dev/variables': '' } },
};
const naming = aRecord({ secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
const other = aRecord({ secrets: [{ name: 'A', secretName: 'shop--vars-2', secretKey: 'A' }] });

describe('secretUsage', () => {
  it.each([
    { name: 'a record names it', records: [naming], revisions: [], knownFor: 600_000, want: { is: 'needed' } },
    {
      name: 'only an older revision names it',
      records: [other],
      revisions: [aRevision(naming)],
      knownFor: 600_000,
      want: { is: 'needed' },
    },
    {
      name: 'nobody names it, and its record may still be on its way',
      records: [other],
      revisions: [],
      knownFor: 20_000,
      want: { is: 'young', forMs: 40_000 },
    },
    {
      name: 'nobody names it',
      records: [other],
      revisions: [aRevision(other)],
      knownFor: 60_000,
      want: { is: 'orphan' },
    },
  ])('$name', ({ records, revisions, knownFor, want }) => {
    expect(secretUsage(secret, valuesNamed(records, revisions), knownFor)).toEqual(want);
  });

  it("a Secret that isn't of values is nobody's business here", () => {
    const theirs = { ...secret, metadata: { ...secret.metadata, labels: {} } };
    expect(secretUsage(theirs, new Set(), 600_000)).toEqual({ is: 'needed' });
  });
});
