import { expect, it } from 'vitest';
import { stepsOf } from './build-steps.ts';

it('reads steps, seconds, what was cached and what failed from the progress of BuildKit', () => {
  const lines = [
    '#1 [internal] load build definition from Dockerfile',
    '#1 DONE 0.0s',
    '#5 [1/4] FROM docker.io/library/python:3.13',
    '#5 CACHED',
    '#6 [base 2/4] COPY . .',
    '#6 0.1 [9/9] not a step',
    '#6 DONE 0.4s',
    '#7 [3/4] RUN pip install -r requirements.txt',
    '#7 1.204 ERROR: no version',
    '#7 ERROR: process "/bin/sh -c pip" did not complete successfully: exit code: 1',
    'Line 4 of the Dockerfile failed: exit code 1',
    '#8 [4/4] RUN make',
  ];
  expect(stepsOf(lines)).toEqual([
    { number: '5', title: '[1/4] FROM docker.io/library/python:3.13', tone: 'off' },
    { number: '6', title: '[base 2/4] COPY . .', tone: 'good', seconds: 0.4 },
    {
      number: '7',
      title: '[3/4] RUN pip install -r requirements.txt',
      tone: 'bad',
      lastLine: 'process "/bin/sh -c pip" did not complete successfully: exit code: 1',
    },
    { number: '8', title: '[4/4] RUN make', tone: 'busy' },
  ]);
});
