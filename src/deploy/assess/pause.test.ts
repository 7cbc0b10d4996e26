import { expect, it } from 'vitest';
import { aRecord, SETTINGS } from '../../../test/support/builders.ts';
import { pausedBy } from './pause.ts';

const ALL = { ...SETTINGS, paused: true };
it.each([
  { reason: 'nobody', annotations: {}, settings: SETTINGS, want: undefined },
  { reason: 'false', annotations: { 'davit.dev/paused': 'False' }, settings: SETTINGS, want: undefined },
  ...['true', '1', 'yes', 'True', ''].map((value) => ({
    reason: `the value "${value}"`,
    annotations: { 'davit.dev/paused': value },
    settings: SETTINGS,
    want: 'To continue',
  })),
  {
    reason: 'the record',
    annotations: { 'davit.dev/paused': 'true' },
    settings: SETTINGS,
    want: 'kubectl annotate appd shop -n team davit.dev/paused-',
  },
  {
    reason: 'all of Davit',
    annotations: {},
    settings: ALL,
    want: 'Davit is paused (setting paused) and changes nothing until the setting is removed.',
  },
])('paused by $reason', ({ annotations, settings, want }) => {
  const said = pausedBy(aRecord({}, { annotations }), settings);
  if (want === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(want);
});
