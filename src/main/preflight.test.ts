import { expect, it } from 'vitest';
import { Settings } from '../kinds/settings.ts';
import { settingsWarnings } from './preflight.ts';

it.each([
  ['no registry', undefined, undefined],
  ['tokens', { host: 'r.example', tokens: true }, undefined],
  ['one pull Secret for all', { host: 'r.example', pullSecret: 'pull' }, 'images and uploads of all tenants'],
  ['no credential', { host: 'r.example' }, 'everybody who reaches it'],
])('a registry with %s', (_what, registry, warning) => {
  const warnings = settingsWarnings(Settings.parse({ builds: { ...(registry && { registry }) } }));
  expect(warnings.join(' ')).toContain(warning ?? '');
  expect(warnings).toHaveLength(warning === undefined ? 0 : 1);
});

it('warns of each image whose tag moves, by its setting', () => {
  const images = { postgres: 'docker.io/library/postgres:17', redis: 'r.example:5000/valkey' };
  expect(settingsWarnings(Settings.parse({ images, backups: { image: 'davit:latest' } }))).toEqual([
    expect.stringContaining('settings.images.postgres is docker.io/library/postgres:17. Its tag moves'),
    expect.stringMatching(
      /^settings\.images\.redis is r\.example:5000\/valkey\. Its tag moves.*\. Set the full version/,
    ),
    expect.stringContaining('settings.backups.image is davit:latest. Its tag moves'),
  ]);
});

it('takes a version of two numbers for a fixed one only of PostgreSQL, whose versions have two', () => {
  const images = { postgres: 'postgres:17.11-trixie', redis: 'valkey:8.1-trixie' };
  expect(settingsWarnings(Settings.parse({ images }))).toEqual([
    expect.stringContaining('settings.images.redis is valkey:8.1-trixie. Its tag moves'),
  ]);
});

it.each(['postgres:17.11-trixie', 'postgres:18.1.0', `r.example:5000/postgres@sha256:${'0'.repeat(64)}`])(
  '%s does not move',
  (postgres) => {
    expect(settingsWarnings(Settings.parse({ images: { postgres } }))).toEqual([]);
  },
);
