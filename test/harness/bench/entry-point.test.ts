import { expect, it } from 'vitest';
import { entryPoint } from './entry-point.ts';

it('starts what the image starts', async () => {
  expect(await entryPoint('api')).toEqual([
    '--max-semi-space-size=8',
    expect.stringMatching(/^\/.*\/dist\/main\.js$/),
    'api',
  ]);
});
