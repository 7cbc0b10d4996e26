import { expect, it } from 'vitest';
import { Settings } from '../schema/settings.ts';
import { settingsWarnings } from './preflight.ts';

it.each([
  ['no registry', undefined, undefined],
  ['tokens', { host: 'r.example', tokens: true }, undefined],
  ['one pull Secret for all', { host: 'r.example', pullSecret: 'pull' }, 'images and uploads of all tenants'],
  ['no credential', { host: 'r.example' }, 'whoever reaches it'],
])('a registry with %s', (_what, registry, warning) => {
  const warnings = settingsWarnings(Settings.parse({ builds: { ...(registry && { registry }) } }));
  expect(warnings.join(' ')).toContain(warning ?? '');
  expect(warnings).toHaveLength(warning === undefined ? 0 : 1);
});
