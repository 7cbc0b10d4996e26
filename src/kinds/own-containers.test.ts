import { expect, it } from 'vitest';
import * as meta from './meta.ts';
import { containerEnded, containerText, isDatabaseStep } from './own-containers.ts';

it('every container of a Job of Davit has words of its own', () => {
  const own = Object.values(meta).filter((value) => typeof value === 'string' && /^davit-[a-z]+$/.test(value));
  const containers = Object.entries(meta).flatMap(([name, value]) =>
    name.endsWith('_CONTAINER') && typeof value === 'string' ? [value] : [],
  );
  expect(containers.length).toBeGreaterThan(8);
  for (const name of containers) {
    expect(own).toContain(name);
    expect(containerText(name)).not.toContain('container');
    expect(containerText(name)).not.toContain('davit-');
  }
});

it.each([
  ['davit-fetch', 'The fetch of the backup failed', true],
  ['davit-migration', 'The command of the migration failed', false],
  ['davit-task', 'The command failed', false],
  ['server', 'Container server exited', false],
  ['toString', 'Container toString exited', false],
])('%s', (name, ended, ofDatabase) => {
  expect([containerEnded(name), isDatabaseStep(name)]).toEqual([ended, ofDatabase]);
});
