import { describe, expect, it } from 'vitest';
import { Settings } from '../../kinds/settings.ts';
import { databaseOffers, whyNotOffered } from './database-offers.ts';

const settings = (more: object = {}): Settings =>
  Settings.parse({
    images: { postgres: 'mirror.example:5000/postgres:17.2-alpine', cloudNativePg: 'pg:16-x' },
    ...more,
  });

describe('what the platform has for the next database', () => {
  it.each([
    ['alone', settings(), false, [{ driver: 'pod', postgresVersion: 17 }]],
    [
      'with CloudNativePG',
      settings(),
      true,
      [
        { driver: 'pod', postgresVersion: 17 },
        { driver: 'cloudnative-pg', postgresVersion: 16 },
      ],
    ],
    [
      'with a tag that says no version',
      settings({ images: { postgres: 'postgres:latest' } }),
      false,
      [{ driver: 'pod' }],
    ],
  ])('%s', (_what, given, hasCloudNativePg, offers) => {
    expect(databaseOffers(given, hasCloudNativePg)).toEqual(offers);
  });

  const offers = databaseOffers(settings(), true);
  it.each([
    ['the same version', 'pod', 17, undefined],
    ['a newer one', 'pod', 15, undefined],
    [
      'an older one',
      'cloudnative-pg',
      17,
      'It is PostgreSQL 17, but with driver cloudnative-pg this platform has PostgreSQL 16.',
    ],
    ['from one that is not known', 'cloudnative-pg', undefined, undefined],
  ] as const)('refuses an older PostgreSQL alone: %s', (_what, driver, from, why) => {
    expect(whyNotOffered(offers, driver, from)).toBe(why);
  });

  it('takes a version that its image does not say', () => {
    expect(whyNotOffered([{ driver: 'pod' }], 'pod', 17)).toBeUndefined();
  });

  it.each(['pod', 'cloudnative-pg'] as const)('names what is missing: %s', (driver) => {
    expect(whyNotOffered([], driver, 17)).toMatch(/^This platform has no /);
  });
});
