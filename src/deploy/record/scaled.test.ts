import { describe, expect, it } from 'vitest';
import { aRecord, aRevision, aSpec, SETTINGS } from '../../../test/support/builders.ts';
import { NUMBER_FIELDS, type ResourceSpec } from '../../kinds/resource-spec.ts';
import { Settings } from '../../kinds/settings.ts';
import { asksForPart, SCALE_FIELDS, SCALED_PARTS, sameScaleAsked } from './requested-scale.ts';
import { resolve } from './resolve.ts';
import { scaledBy } from './scaled.ts';

const specOf = (resourceSpec: ResourceSpec): ReturnType<typeof aSpec> => aSpec({ sourceConfig: { resourceSpec } });
const revisionOf = (resourceSpec: ResourceSpec): ReturnType<typeof aRevision> =>
  aRevision(aRecord(specOf(resourceSpec)));
/** Defaults that a setting has changed since the revision was made. */
const LARGER = Settings.parse({
  sizes: { plain: { server: { ...SETTINGS.sizes.plain.server, cpu: 2, cpuLimit: 4, minScale: 4, maxScale: 8 } } },
});

function numbers(before: ResourceSpec, now: ResourceSpec, settings = SETTINGS): Record<string, string> {
  const { resolved } = scaledBy(specOf(now), revisionOf(before), settings).spec;
  return Object.fromEntries(
    SCALED_PARTS.flatMap((part) => {
      const { minScale, maxScale } = resolved[part] ?? {};
      return minScale === undefined ? [] : [[part, `${minScale} to ${maxScale}`]];
    }),
  );
}

it('names every number of the scale, and no other', () => {
  const scale = NUMBER_FIELDS.filter(({ limitedBy }) => limitedBy === 'scale').map(({ field }) => field);
  expect(SCALE_FIELDS.toSorted()).toEqual(scale.toSorted());
});

it.each(NUMBER_FIELDS.map(({ field }) => field))('%s asks for the part that is resolved', (field) => {
  for (const value of [0, 1]) {
    const spec: ResourceSpec = { [field]: value };
    const resolved = resolve(specOf(spec), SETTINGS);
    expect(SCALED_PARTS.filter((part) => asksForPart(part, spec))).toEqual(
      SCALED_PARTS.filter((part) => resolved[part] !== undefined),
    );
  }
});

describe('a revision runs', () => {
  const base = { cpu: 1 };
  it.each<{ name: string; before: ResourceSpec; now: ResourceSpec; want: Record<string, string>; settings?: Settings }>(
    [
      { name: 'what the record asks for', before: base, now: { minScale: 2, maxScale: 5 }, want: { server: '2 to 5' } },
      { name: 'a maximum that fits', before: base, now: { minScale: 3 }, want: { server: '3 to 3' } },
      { name: 'nothing', before: { minScale: 2 }, now: { maxScale: 0 }, want: { server: '0 to 0' } },
      { name: 'the default again', before: { minScale: 0, maxScale: 0 }, now: {}, want: { server: '1 to 1' } },
      {
        name: 'its own number while a default changes',
        before: base,
        now: { cpu: 2 },
        want: { server: '1 to 1' },
        settings: LARGER,
      },
      {
        name: 'its own number of a part that does not change',
        before: { queueMinScale: 1, queueMaxScale: 1 },
        now: { queueMinScale: 2, queueMaxScale: 2 },
        want: { server: '1 to 1', queue: '2 to 2' },
        settings: LARGER,
      },
      {
        name: 'as many queue workers as servers, where their number is not asked for',
        before: { queueCpu: 1 },
        now: { queueCpu: 1, minScale: 2, maxScale: 4 },
        want: { server: '2 to 4', queue: '2 to 4' },
      },
      {
        name: 'what it has of a part that the record has no longer',
        before: { queueMinScale: 2, queueMaxScale: 2 },
        now: { minScale: 3, queueMinScale: 0, queueMaxScale: 0 },
        want: { server: '3 to 3', queue: '2 to 2' },
      },
      {
        name: 'no part that it does not have',
        before: base,
        now: { minScale: 2, queueMinScale: 2, orchestratorMinScale: 1 },
        want: { server: '2 to 2' },
      },
      {
        name: 'an orchestrator of no pods',
        before: { orchestratorMinScale: 1 },
        now: { orchestratorMaxScale: 0 },
        want: { server: '1 to 1', orchestrator: '0 to 0' },
      },
      {
        name: 'a default within the limit',
        before: { minScale: 0, maxScale: 0 },
        now: {},
        want: { server: '2 to 2' },
        settings: { ...LARGER, limits: { ...LARGER.limits, scale: 2 } },
      },
    ],
  )('$name', ({ before, now, want, settings }) => {
    expect(numbers(before, now, settings)).toEqual(want);
    // Once more changes nothing.
    const once = scaledBy(specOf(now), revisionOf(before), settings ?? SETTINGS);
    expect(scaledBy(specOf(now), once, settings ?? SETTINGS)).toEqual(once);
  });

  it('and is itself where nothing differs, with all its other values', () => {
    const revision = revisionOf({ minScale: 2, cpu: 1 });
    expect(scaledBy(specOf({ minScale: 2, cpu: 4 }), revision, LARGER)).toBe(revision);
    const { server, ...rest } = scaledBy(specOf({ minScale: 3 }), revision, LARGER).spec.resolved;
    const { server: before, ...restBefore } = revision.spec.resolved;
    expect([rest, { ...server, minScale: 2, maxScale: 2 }]).toEqual([restBefore, before]);
  });
});

it('null is none', () => {
  expect(sameScaleAsked('server', { resourceSpec: { minScale: null } as unknown as ResourceSpec }, {})).toBe(true);
});
