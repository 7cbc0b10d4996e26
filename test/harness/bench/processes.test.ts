import { expect, it } from 'vitest';
import { cpuMs, cpuMsOf, rssMiB, rssMiBOf } from './processes.ts';

it.each([
  { reason: 'user and system time together', name: 'node', want: 1750 },
  { reason: 'whatever the program is called', name: 'a) R (b', want: 1750 },
])('processor time: $reason', ({ name, want }) => {
  expect(cpuMsOf(`42 (${name}) S 1 42 42 0 -1 4194304 100 0 0 0 150 25 7 8 20 0 11 0 1000 1 2`)).toBe(want);
});

it('memory is what is resident', () => {
  expect(rssMiBOf('Name:\tnode\nVmHWM:\t  9999 kB\nVmRSS:\t   2048 kB\nThreads:\t1\n')).toBe(2);
});

it('a process that has ended has none', () => {
  expect(() => rssMiBOf('Name:\tnode\nState:\tZ (zombie)\n')).toThrow('ended');
});

it.runIf(process.platform === 'linux')('reads its own', async () => {
  expect(await cpuMs(process.pid)).toBeGreaterThan(0);
  expect(await rssMiB(process.pid)).toBeGreaterThan(10);
});
