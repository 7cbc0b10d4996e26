import { describe, expect, it } from 'vitest';
import { makeRevision } from '../../../src/deploy/children/app-revision.ts';
import { desiredChildren } from '../../../src/deploy/children/desired.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APPLIED_ANNOTATION } from '../../../src/kinds/meta.ts';
import { SETTINGS, TENANT, UID } from '../../support/builders.ts';
import { countsOf, type Filling, filled, renderChildren } from './children.ts';
import { recordsOf } from './records.ts';

const rendering = renderChildren(SETTINGS);
const [bare] = recordsOf(1, 41);
if (bare === undefined) throw new Error('no record');
const record: AppDeployment = { ...bare, metadata: { ...bare.metadata, uid: UID, generation: 1 } };
const id = serialRevisionId(UID, 1);
const filling: Filling = {
  name: record.metadata.name,
  namespace: bare.metadata.namespace,
  uid: UID,
  tenantId: TENANT,
  image: record.spec.sourceRevisionConfig.imageUri ?? '',
  revisionId: id,
  revisionShort: id.slice(0, 8),
  now: '2026-01-01T00:00:00Z',
};

describe('the rendering', () => {
  const wanted = wantedRevision(record, [], SETTINGS, {});
  if (!('create' in wanted)) throw new Error('no revision is wanted');
  const revision = makeRevision(record, wanted.create);

  it("filled for another record is that record's children, byte for byte but for their digest", () => {
    const children = desiredChildren({ record, revision, tenantId: TENANT, settings: SETTINGS });
    const same = rendering.children.map((child) => filled(child, filling, { digest: '0'.repeat(16) }));
    const withDigest = children.map((child) => ({
      ...child,
      metadata: {
        ...child.metadata,
        annotations: { ...child.metadata.annotations, [APPLIED_ANNOTATION]: '0'.repeat(16) },
      },
    }));
    expect(same).toEqual(withDigest);
  });
  it('filled for another record is its revision', () => {
    expect(filled(rendering.revision, filling)).toEqual(revision);
  });
  it('has nothing of the fixture left in it', () => {
    const text = JSON.stringify(rendering);
    expect(text).not.toMatch(/fixture|f1f1f1f1|2001-02-03/);
  });
  it('counts every object that a record becomes', () => {
    expect(Object.fromEntries(countsOf(rendering))).toEqual({
      AppRevision: 1,
      Deployment: 1,
      NetworkPolicy: 2,
      PersistentVolumeClaim: 1,
      Secret: 2,
      Service: 3,
      StatefulSet: 2,
      TracingProject: 1,
    });
  });
  it("says in the revision's status what the record's says is in its way", () => {
    const messages = rendering.statuses.flatMap((object) => {
      const { status } = object as { status?: { message?: string; conditions?: { type: string; message: string }[] } };
      return object.kind === 'AppRevision'
        ? [status?.message]
        : object.kind === 'AppDeployment'
          ? [status?.conditions?.find(({ type }) => type === 'Ready')?.message]
          : [];
    });
    expect(messages).toEqual(Array(2).fill('PostgreSQL has started but does not answer yet.'));
  });
  it('is not filled with what nobody knows', () => {
    expect(() => filled({ a: '{{colour}}' }, filling)).toThrow('{{colour}}');
  });
});
