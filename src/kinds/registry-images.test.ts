import { describe, expect, it } from 'vitest';
import { FOREIGN_IMAGES, OWN } from '../../test/support/foreign-images.ts';
import { foreignImages, isForeignImage } from './registry-images.ts';

const host = 'r.example:5000';

describe.each(FOREIGN_IMAGES)('isForeignImage in $registry', ({ registry, cases }) => {
  const path = typeof registry['repository'] === 'string' ? `${registry['repository']}/${OWN}` : OWN;
  it.each(cases)('$what: $isForeign', ({ image, isForeign }) => {
    expect(isForeignImage(image, registry, path)).toBe(isForeign);
  });
});

it('knows the default port of http', () => {
  expect(isForeignImage('r.example:80/b-22222222/shop', { host: 'r.example', insecure: true }, OWN)).toBe(true);
});

it('foreignImages finds each place where a record names an image, and leaves alone what was named before', () => {
  const image = `${host}/other-22222222/shop`;
  const spec = {
    sourceRevisionConfig: { imageUri: image },
    sourceConfig: {
      resourceSpec: {
        initContainers: [{ name: 'a', image: 'redis' }, { name: 'b', image: `${image}:1` }, 'not validated'],
        sidecars: [{ name: 'c', image: `${image}:2` }],
      },
    },
  };
  const paths = (before?: Readonly<Record<string, unknown>>): string[] =>
    Array.from(foreignImages(spec, { host }, OWN, before), ({ at }) => at.join('.'));
  expect(paths()).toEqual([
    'sourceRevisionConfig.imageUri',
    'sourceConfig.resourceSpec.initContainers.1.image',
    'sourceConfig.resourceSpec.sidecars.0.image',
  ]);
  expect(paths(spec)).toEqual([]);
  expect(paths({ sourceRevisionConfig: { imageUri: image } })).toHaveLength(2);
  expect(Array.from(foreignImages({}, { host }, OWN))).toEqual([]);
});
