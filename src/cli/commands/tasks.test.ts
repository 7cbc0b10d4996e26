import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aRecord, type CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import type { TaskStatus } from '../../kinds/tasks.ts';

const NOW = Date.parse('2026-07-01T12:20:00Z');
const at = (minutesAgo: number): string => `${new Date(NOW - minutesAgo * 60_000).toISOString().slice(0, 19)}Z`;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }));
afterEach(() => void vi.useRealTimers());

const TASKS: TaskStatus[] = [
  {
    name: 'clean',
    state: 'Scheduled',
    schedule: '@hourly',
    runs: [
      {
        job: 'shop--clean-2',
        state: 'Failed',
        startedAt: at(10),
        finishedAt: at(7),
        exitCode: 3,
        reason: 'ContainerCrashed',
        message: 'The command failed (Error, exit code 3): no such table.',
      },
      { job: 'shop--clean-1', state: 'Succeeded', startedAt: at(180), finishedAt: at(180) },
    ],
  },
  { name: 'report', state: 'Suspended', schedule: '0 3 * * *', message: 'No run begins while …', runs: [] },
  { name: 'ask', state: 'OnDemand', runs: [{ job: 'shop--run-x', state: 'Running', startedAt: at(5) }] },
];

const ran = async (tasks: unknown, ...flags: string[]): Promise<CliRan> =>
  makeOwnCli({ record: aRecord({}, { tasks }) }).run(['tasks', 'shop', ...flags]);

describe('tasks', () => {
  it('lists each task with its runs, and why the last one failed', async () => {
    const { code, out } = await ran(TASKS);
    expect([code, out]).toEqual([
      0,
      [
        'TASK    SCHEDULE               NEXT    RUN            STARTED  TOOK  RESULT',
        'clean   @hourly                in 40m  shop--clean-2  10m ago  3m    Failed (exit code 3)',
        '                                       shop--clean-1  3h ago   0s    Succeeded',
        'report  0 3 * * * (suspended)  -       -              -        -     -',
        'ask     -                      -       shop--run-x    5m ago   -     Running',
        'clean: The command failed (Error, exit code 3): no such table.',
        'report: No run begins while …',
      ].join('\n'),
    ]);
  });

  it('says that there are none, and prints JSON', async () => {
    expect(await ran(undefined)).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('has no tasks. To add one, '),
    });
    const [clean, ...others] = TASKS;
    const shown = [{ ...clean, nextRunAt: '2026-07-01T13:00:00Z' }, ...others];
    expect(JSON.parse((await ran(TASKS, '-o', 'json')).out)).toEqual(shown);
    expect(JSON.parse((await ran(undefined, '-o', 'json')).out)).toEqual([]);
  });
});
