import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../test/support/builders.ts';
import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../kinds/name-patterns.ts';

import { DNS_LABEL_PATTERN, HOST_PATTERN } from '../../kinds/primitives.ts';
import { type AddressSettings, Settings } from '../../kinds/settings.ts';
import { claimable, defaultHost, mayClaim, type Place, wantedHost } from './hostnames.ts';

function address(more: object = {}): AddressSettings {
  return Settings.parse({ address: { kind: 'ingress', baseDomain: 'apps.example', ...more } }).address;
}
const HYPHEN = address();
const DOT = address({ hostPattern: '{name}.{namespace}' });
const shop: Place = { name: 'shop', namespace: 'team' };

const recordName = fc
  .stringMatching(new RegExp(NAME_PATTERN))
  .filter((name) => name.length <= NAME_MAX_LENGTH && !name.includes('--') && name !== 'xn');
const namespace = fc.stringMatching(new RegExp(DNS_LABEL_PATTERN)).filter((name) => name.length <= 63);
const place = fc.record({ name: recordName, namespace });

describe('the default host', () => {
  it.each([
    { place: shop, settings: HYPHEN, want: 'shop-team.apps.example' },
    { place: shop, settings: DOT, want: 'shop.team.apps.example' },
    { place: { name: 'shop', namespace: 'a-b' }, settings: HYPHEN, want: 'shop-a-b.apps.example' },
    { place: { name: 'shop-a', namespace: 'b' }, settings: HYPHEN, want: 'shop-a-b-ad551f46.apps.example' },
    { place: shop, settings: address({ baseDomain: undefined }), want: undefined },
  ])('of $place.name in $place.namespace: $want', ({ place: of, settings, want }) => {
    expect(defaultHost(of, settings)).toBe(want);
  });

  it('is a host, however long the names are', () => {
    const longest = address({ baseDomain: `${'a'.repeat(48)}.${'b'.repeat(50)}.${'c'.repeat(48)}` });
    const longestDot = { ...longest, hostPattern: '{name}.{namespace}' as const };
    fc.assert(
      fc.property(place, fc.constantFrom(longest, longestDot), (of, settings) => {
        const host = defaultHost(of, settings) ?? '';
        expect(host).toMatch(new RegExp(HOST_PATTERN));
        expect(host.length).toBeLessThanOrEqual(253);
      }),
    );
  });

  it('is never that of another record, wherever the hyphens are', () => {
    const parts = fc.array(fc.constantFrom('a', 'b', 'cc', '1a2b3c4d'), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(parts, fc.nat(), fc.nat(), (words, first, second) => {
        const split = (at: number): Place => {
          const index = 1 + (at % (words.length - 1));
          return { name: words.slice(0, index).join('-'), namespace: words.slice(index).join('-') };
        };
        const [a, b] = [split(first), split(second)];
        fc.pre(a.name !== b.name);
        expect(defaultHost(a, HYPHEN)).not.toBe(defaultHost(b, HYPHEN));
      }),
    );
  });
});

describe('the host that a record asks for', () => {
  it.each([
    { name: 'its own', config: { customUrl: 'https://shop.example.com' }, settings: HYPHEN, want: 'shop.example.com' },
    { name: 'a bare one', config: { customUrl: 'shop.example.com' }, settings: HYPHEN, want: 'shop.example.com' },
    { name: 'that of the base domain', config: {}, settings: HYPHEN, want: 'shop-team.apps.example' },
    { name: 'none where none are made', config: {}, settings: address({ kind: 'none' }), want: undefined },
    {
      name: 'none where the ingress controller is not let in',
      config: { access: { from: ['front'] }, customUrl: 'shop.example.com' },
      settings: address({ controllerNamespaceLabels: { 'kubernetes.io/metadata.name': 'ingress' } }),
      want: undefined,
    },
    {
      name: 'its own where the ingress controller is let in, or the platform does not name it',
      config: { access: { from: ['ingress'] } },
      settings: address({ controllerNamespaceLabels: { 'kubernetes.io/metadata.name': 'ingress' } }),
      want: 'shop-team.apps.example',
    },
    {
      name: 'none where a listener looks after it',
      config: { customUrl: 'shop.example.com', listenerId: '0f8fad5b-d9cb-469f-a165-70867728950e' },
      settings: HYPHEN,
      want: undefined,
    },
  ])('$name', ({ config, settings, want }) => {
    expect(wantedHost(aSpec({ sourceConfig: config }), shop, settings)).toBe(want);
  });
});

describe('what a tenant may claim', () => {
  it.each([
    { host: 'shop-team.apps.example', may: true, reason: 'its default host' },
    { host: 'other-team.apps.example', may: true, reason: 'can be no other tenant’s default' },
    { host: 'shop.apps.example', may: true, reason: 'no default host is without a hyphen' },
    { host: 'shop-other.apps.example', may: false, reason: 'the default of shop in namespace other' },
    { host: 'x-a-team.apps.example', may: false, reason: 'the default of x in namespace a-team' },
    { host: 'a.shop-team.apps.example', may: false, reason: 'below a host' },
    { host: 'apps.example', may: false, reason: 'the base domain itself' },
    { host: 'evilapps.example', may: false, reason: 'only looks like it' },
    { host: 'shop.example.com', may: false, reason: 'nobody allowed it' },
    { host: 'shop.example.com', allowed: 'other.example.com, shop.example.com', may: true, reason: 'allowed by name' },
    { host: 'shop.example.com', allowed: '*.EXAMPLE.com', may: true, reason: 'allowed by pattern' },
    { host: 'a.shop.example.com', allowed: '*.example.com', may: false, reason: 'a star is one label' },
    { host: 'example.com', allowed: '*.example.com', may: false, reason: 'a star is a label' },
    { host: 'shop.example.com', allowed: '*', may: false, reason: 'not a pattern' },
    { host: `${'a'.repeat(63)}.`.repeat(4).concat('example.com'), allowed: '', may: false, reason: 'too long' },
    { host: 'shop.team.apps.example', settings: DOT, may: true, reason: 'its default host' },
    { host: 'other.team.apps.example', settings: DOT, may: true, reason: 'in its own folder' },
    { host: 'shop.other.apps.example', settings: DOT, may: false, reason: 'in another’s' },
    { host: 'other.apps.example', settings: DOT, may: false, reason: 'above another’s' },
  ])('$host with "$allowed": $may ($reason)', ({ host, allowed, settings = HYPHEN, may }) => {
    expect(mayClaim(host, shop, allowed, settings)).toBe(may);
  });

  it("never another tenant's default host", () => {
    fc.assert(
      fc.property(place, place, fc.constantFrom(HYPHEN, DOT), (theirs, mine, settings) => {
        fc.pre(theirs.namespace !== mine.namespace);
        expect(mayClaim(defaultHost(theirs, settings) ?? '', mine, undefined, settings)).toBe(false);
      }),
    );
  });

  it('is said in words', () => {
    expect(claimable(shop, '*.example.com', HYPHEN)).toBe('NAME.apps.example, NAME-team.apps.example, *.example.com');
    expect(claimable(shop, undefined, DOT)).toBe('*.team.apps.example');
    expect(claimable(shop, undefined, address({ baseDomain: undefined }))).toBe('none');
  });
});

it("the platform's own hosts belong to no record, whatever an annotation says", () => {
  const settings = address({ reservedHosts: ['registry.apps.example', 'shop-team.apps.example'] });
  for (const host of settings.reservedHosts) expect(mayClaim(host, shop, '*.apps.example', settings)).toBe(false);
  expect(mayClaim('davit.apps.example', shop, undefined, settings)).toBe(true);
  expect(claimable(shop, undefined, settings)).toContain("except the platform's own hosts");
});
