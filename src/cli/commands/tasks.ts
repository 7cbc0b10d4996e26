// Lists the tasks of a deployment with their last runs.

import type { TaskStatus } from '../../kinds/tasks.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, printList } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { needDeployment } from './build-log.ts';

export const tasksCommand: Command = {
  name: 'tasks',
  purpose: 'list its tasks with their last runs, and why they failed',
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `This lists the tasks of the active revision. NEXT is computed from the schedule, in UTC if the task has no time zone. The log of its runs: PROGRAM logs NAME --task TASK. To run a task now: PROGRAM run NAME --task TASK`,
  async run(context) {
    const [name = ''] = context.words;
    const api = await context.api();
    const { id } = await needDeployment(api, name);
    const { resources } = await api.call<{ readonly resources: unknown }>('GET', `/v2/deployments/${id}/tasks`);
    printList(
      context,
      inCamelCase(resources) as readonly Shown[],
      (all) => taskLines(all, Date.now()),
      `The active revision of ${name} has no tasks. To add one, name it in tasks of its davit.yaml or of source_config (docs/tasks.md). To run a command once: ${PROGRAM} run ${name} -- COMMAND`,
    );
    return 0;
  },
};

type Shown = TaskStatus & { readonly nextRunAt?: string };

/** An answer of the API as -o json has it: without null. */
function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  const known = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(
    known.map(([key, one]) => [key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()), inCamelCase(one)]),
  );
}

/** `now` in milliseconds. */
function taskLines(tasks: readonly Shown[], now: number): string[] {
  const rows = tasks.flatMap((task) => rowsOf(task, now));
  return [
    ...tableOf([['TASK', 'SCHEDULE', 'NEXT', 'RUN', 'STARTED', 'TOOK', 'RESULT'], ...rows]),
    ...tasks.flatMap(wordsOf),
  ];
}

function rowsOf({ name, schedule, state, runs, nextRunAt }: Shown, now: number): string[][] {
  const when =
    state === 'Suspended' || state === 'Pending' ? `${schedule} (${state.toLowerCase()})` : (schedule ?? '-');
  const [first, ...others] = runs.map(({ job, startedAt, finishedAt, state: result, exitCode }) => [
    job,
    startedAt === undefined ? '-' : `${ageOf(startedAt, now)} ago`,
    finishedAt === undefined ? '-' : ageOf(startedAt, Date.parse(finishedAt)),
    exitCode === undefined ? result : `${result} (exit code ${exitCode})`,
  ]);
  const next = nextRunAt === undefined ? '-' : `in ${ageOf(new Date(now).toISOString(), Date.parse(nextRunAt))}`;
  return [[name, when, next, ...(first ?? ['-', '-', '-', '-'])], ...others.map((run) => ['', '', '', ...run])];
}

/** Why no run begins, and of the newest run why it failed or waits. */
function wordsOf({ name, message, runs }: TaskStatus): string[] {
  const run = runs[0]?.message;
  return [message, run].flatMap((words) => (words === undefined ? [] : [`${name}: ${words}`]));
}
