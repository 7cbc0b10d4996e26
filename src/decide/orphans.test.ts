import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../test/builders.ts';
import type { KubeObject } from '../kube/client.ts';
import { orphanhoodOf } from './orphans.ts';

const MADE = '2026-01-01T00:00:00Z';
const after = (seconds: number): Date => new Date(Date.parse(MADE) + seconds * 1000);
const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'shop--vars-1', namespace: 'team', creationTimestamp: MADE, labels: { 'davit.dev/variables': '' } },
};
const naming = aRecord({ secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
const other = aRecord({ secrets: [{ name: 'A', secretName: 'shop--vars-2', secretKey: 'A' }] });

describe('orphanhoodOf', () => {
  it.each([
    { name: 'a record names it', records: [naming], revisions: [], at: 600, want: { is: 'needed' } },
    {
      name: 'only an older revision names it',
      records: [other],
      revisions: [aRevision(naming)],
      at: 600,
      want: { is: 'needed' },
    },
    {
      name: 'nobody names it, and its record may still be on its way',
      records: [other],
      revisions: [],
      at: 20,
      want: { is: 'young', forMs: 40_000 },
    },
    { name: 'nobody names it', records: [other], revisions: [aRevision(other)], at: 60, want: { is: 'orphan' } },
  ])('$name', ({ records, revisions, at, want }) => {
    expect(orphanhoodOf(secret, records, revisions, after(at))).toEqual(want);
  });

  it("a Secret that isn't of values is nobody's business here", () => {
    const theirs = { ...secret, metadata: { ...secret.metadata, labels: {} } };
    expect(orphanhoodOf(theirs, [], [], after(600))).toEqual({ is: 'needed' });
  });
});
