// What somebody has left behind. The smallest file, so that it comes last, when the minute that the collector waits is over.

import { expect, inject, it } from 'vitest';
import { attach, eventually } from '../../support/running-davit.ts';
import { LEFT } from './orphaned-secret.ts';

it('a Secret of values that no record ever named is collected after a minute', async () => {
  const davit = attach(inject('davit'));
  await eventually(async () => {
    const left = await davit.kubectl(['get', 'secret', LEFT.name, '-n', LEFT.namespace, '--ignore-not-found']);
    expect(left).toBe('');
  }, 90_000);
});
