// The image of a datastore that is in force: the status takes precedence over every revision that it has seen, and an operation over both.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision, Resolved } from '../../kinds/app-revision.ts';
import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { withImagesInForce } from './image-in-force.ts';

const [OLD, NEW, NEWER] = ['postgres:17.5-trixie', 'postgres:17.6-trixie', 'postgres:17.7-trixie'];
const made = aRevision(aRecord());

function having(image: string, more: Partial<Resolved> = {}): AppRevision {
  const { postgres } = made.spec.resolved;
  if (!postgres) throw new Error('It has no PostgreSQL.');
  const resolved = { ...made.spec.resolved, postgres: { ...postgres, image }, ...more };
  return { ...made, spec: { ...made.spec, resolved } };
}

interface World {
  readonly revision?: AppRevision;
  readonly status?: AppDeploymentStatus;
  readonly operation?: DatastoreOperation['status'];
  readonly isNewest?: boolean;
}

const SEEN = made.spec.id;
const PATCHED: AppDeploymentStatus = { latestRevisionId: SEEN, datastores: { postgres: { image: NEW } } };

function imageOf({ revision = having(OLD), status = {}, operation, isNewest = true }: World): string | undefined {
  const record = aRecord({}, { status });
  const patched = { record, ...(operation && { operation: { status: operation } as DatastoreOperation }) };
  return withImagesInForce(patched, revision, isNewest).spec.resolved.postgres?.image;
}

const patch = { datastore: 'postgres', from: OLD, to: NEW } as const;

describe('the image of PostgreSQL', () => {
  it.each<[what: string, World, string]>([
    ['nothing is reported: it is that of the revision', {}, OLD],
    ['it was patched', { status: PATCHED }, NEW],
    ['an older revision is looked at', { status: PATCHED, isNewest: false }, NEW],
    [
      'a newer revision has a newer image',
      { status: { ...PATCHED, latestRevisionId: 'other' }, revision: having(NEWER) },
      NEWER,
    ],
    ['a newer revision has an older image', { status: { ...PATCHED, latestRevisionId: 'other' } }, NEW],
    [
      'an older revision has a newer image that was never in force',
      { status: PATCHED, revision: having(NEWER), isNewest: false },
      NEW,
    ],
    [
      'the revision has another database',
      { status: PATCHED, revision: having(OLD, { movedDatabase: { number: 1 } }) },
      OLD,
    ],
    [
      'the revision has another major version',
      { status: PATCHED, revision: having('postgres:16.1-trixie') },
      'postgres:16.1-trixie',
    ],
    [
      'the revision has another base',
      { status: PATCHED, revision: having('pgvector:0.8.6-pg17-trixie') },
      'pgvector:0.8.6-pg17-trixie',
    ],
    ['a patch works', { operation: { phase: 'Running', patch } }, NEW],
    ['a patch goes back', { status: PATCHED, operation: { phase: 'Returning', patch } }, OLD],
    ['Redis is patched', { operation: { phase: 'Running', patch: { ...patch, datastore: 'redis' } } }, OLD],
  ])('%s', (_what, world, image) => {
    expect(imageOf(world)).toBe(image);
  });

  it('leaves a revision as it is where nothing differs', () => {
    const revision = having(NEW);
    expect(withImagesInForce({ record: aRecord({}, { status: PATCHED }) }, revision, true)).toBe(revision);
  });
});
