import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.ts';

const TOLD = { command: 'npm run walk', usage: 'npm run walk\n  --far  further\n' };
const OPTIONS = { far: { type: 'boolean', default: false }, steps: { type: 'string' } } as const;

describe('options', () => {
  it.each([
    { reason: 'none', args: [], want: { values: { far: false } } },
    { reason: 'some', args: ['--far', '--steps', '3'], want: { values: { far: true, steps: '3' } } },
    { reason: 'help', args: ['--far', '--help'], want: { ended: { code: 0, text: TOLD.usage } } },
    {
      reason: 'short help, even beside a mistake',
      args: ['--fra', '-h'],
      want: { ended: { code: 0, text: TOLD.usage } },
    },
    {
      reason: 'an unknown option',
      args: ['--fra'],
      want: { ended: { code: 2, text: "Unknown option '--fra'. See: npm run walk -- --help\n" } },
    },
    {
      reason: 'a missing value',
      args: ['--steps'],
      want: { ended: { code: 2, text: "Option '--steps <value>' argument missing. See: npm run walk -- --help\n" } },
    },
  ])('$reason', ({ args, want }) => {
    expect(parseOptions(args, OPTIONS, TOLD)).toEqual(want);
  });
});

describe('npm run', () => {
  it.each([
    { program: 'harness/faults/main.ts', option: '--match' },
    { program: 'harness/bench/main.ts', option: '--only' },
    { program: 'harness/fuzz/main.ts', option: '--examples' },
    { program: 'demo/demo.ts', option: '--once' },
    { program: 'compat.ts', option: 'npm run compat' },
  ])('$program prints its options, and what is wrong with others', ({ program, option }) => {
    const run = (arg: string): ReturnType<typeof spawnSync> =>
      spawnSync(process.execPath, [join(import.meta.dirname, '..', program), arg], { encoding: 'utf8' });
    const help = run('--help');
    expect([help.status, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toContain(option);
    // `npm run compat` hands the others on to vitest.
    if (program === 'compat.ts') return;
    const wrong = run('--nonsense');
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toContain("Unknown option '--nonsense'");
    expect(wrong.stderr).not.toContain('    at ');
  });
});
