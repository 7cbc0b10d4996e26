// Up to which generation the newest revision has all that a record asks of revisions.

import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { latestRevisionGeneration } from './latest-generation.ts';
import { wantedRevision } from './wanted-revision.ts';

function revisionOf(record: AppDeployment): AppRevision {
  const wanted = wantedRevision(record, [], SETTINGS);
  if (!('create' in wanted)) throw new Error('nothing to make');
  return { metadata: { name: 'shop--1' }, spec: wanted.create } as AppRevision;
}

const IMAGE: Partial<AppDeploymentSpec> = { sourceRevisionConfig: { imageUri: 'a:1' } };
const latest = revisionOf(aRecord(IMAGE, { generation: 5 }));
const at = (generation: number, spec: Partial<AppDeploymentSpec>, status?: AppDeployment['status']): AppDeployment => ({
  ...aRecord({ ...IMAGE, ...spec }, { generation }),
  ...(status && { status }),
});
const scaled = (scale: number): Partial<AppDeploymentSpec> => ({
  sourceConfig: { resourceSpec: { minScale: scale, maxScale: scale } },
});
const known = (latestRevisionGeneration: number, latestRevisionId = latest.spec.id): AppDeployment['status'] => ({
  latestRevisionId,
  latestRevisionGeneration,
});

describe('the newest generation that a revision has all values of', () => {
  it.each([
    ['the one that it was made of', at(5, {}), undefined],
    ['a change of the scale', at(6, scaled(2)), 6],
    ['the next one after it', at(7, scaled(3), known(6)), 7],
    ['a change of the address', at(6, { sourceConfig: { customUrl: 'https://shop.example' } }), 6],
    ['a change that was taken back before it was seen', at(7, {}), 7],
    ['another image', at(6, { sourceRevisionConfig: { imageUri: 'a:2' } }), undefined],
    ['another image after a change of the scale', at(7, { sourceRevisionConfig: { imageUri: 'a:2' } }, known(6)), 6],
    ['a request for a revision without a change', at(6, { revisionSerial: 2 }), undefined],
    ['the same after what was said of an older revision', at(7, { revisionSerial: 2 }, known(6, 'older')), undefined],
    ['other variables, and no image', at(6, { sourceRevisionConfig: {}, ...scaled(2) }), undefined],
    ['no image, after a change of the scale', at(7, { sourceRevisionConfig: {} }, known(6)), 6],
  ] as const)('%s', (_reason, record, expected) => {
    expect(latestRevisionGeneration(record, [latest], latest)).toEqual(
      expected === undefined ? {} : { latestRevisionGeneration: expected },
    );
  });
});
