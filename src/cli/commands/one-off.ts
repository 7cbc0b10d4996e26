// Runs a command once, in a Job with the pod template of the active revision. The Job is created with the caller's rights; a run of a
// task counts as one of the task's runs. It is deleted with the deployment.

import type { RunResponse, TaskRunResponse, TaskStatusList } from '../../deploy/http/task-runs/payloads.ts';
import { TASK_CONTAINER } from '../../kinds/meta.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, Misuse, timeoutFlag } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { shown } from '../text/terminal.ts';
import { type HttpApi, undefinedIf } from '../transport/http-api.ts';
import { Failure, ignoreFailure, TimedOut } from '../transport/kubectl.ts';
import { needDeployment, openLog } from './build-log.ts';

const TIMEOUT_SECONDS = 3600;
const EVERY_MS = 1000;

export const runCommand: Command = {
  name: 'run',
  purpose: 'run a command once, in a pod of its own with the image and the values of the active revision',
  words: [DEPLOYMENT],
  rest: 'COMMAND [ARGUMENT ...]',
  noJson: "its standard output and exit code are the command's",
  flags: [
    timeoutFlag(
      TIMEOUT_SECONDS,
      'stop the command (SIGTERM) after this time, and kill it after the grace period of the server',
      1,
    ),
    { name: 'task', value: 'TASK', help: 'run the command of this task of the active revision' },
    ...API_FLAGS,
  ],
  about: `The pod has the image, variables, volumes, service account and sizes of the server, and is not part of the deployment. The exit
code is the command's, or 124 after a timeout. Its output is printed as lines of text of at most 64 KiB each. The command is never repeated. It continues after Ctrl-C; kubectl delete job stops it.

  PROGRAM run shop -- python manage.py clearsessions
  PROGRAM run shop --task clean`,
  changes: { nothing: 'Nothing was run.' },
  async run(context) {
    const {
      words: [name = ''],
      rest,
      flags,
      warn,
      onInterrupt,
    } = context;
    const task = flags.text('task');
    if (task !== undefined && rest.length > 0)
      throw new Misuse('A task has its own command: leave out --task or the command.');
    if (task === undefined && rest.length === 0)
      throw new Misuse(`Which command? Write it after --: ${PROGRAM} run ${name} -- COMMAND`);
    const api = await context.api();
    const path = `/v2/deployments/${(await needDeployment(api, name)).id}`;
    const timeout = { timeout_seconds: flags.number('timeout') ?? null };
    const { job } = await (task === undefined
      ? api.call<TaskRunResponse>('POST', `${path}/runs`, { command: rest, ...timeout })
      : api.call<TaskRunResponse>('POST', `${path}/tasks/${encodeURIComponent(task)}/runs`, timeout));
    warn(`Job ${job} runs the command.`);
    onInterrupt(() => `Job ${job} continues. To stop it: ${['kubectl delete job', job, ...context.cluster].join(' ')}`);
    try {
      return await follow(context, api, { path, job });
    } finally {
      if (task !== undefined) await untilReported(context, api, { path, job });
    }
  },
};

interface Started {
  /** That of the deployment in the API. */
  readonly path: string;
  readonly job: string;
}

/** How long the report of the end of a run may take, in milliseconds. */
const REPORTED_MS = 10_000;

/** Until `tasks` shows that the run has ended. It is no failure if that takes too long. */
async function untilReported({ clock }: Context, api: HttpApi, { path, job }: Started): Promise<void> {
  const end = clock.now() + REPORTED_MS;
  for (;;) {
    const seen = await api.call<TaskStatusList>('GET', `${path}/tasks`).catch(ignoreFailure);
    const run = seen?.resources.flatMap(({ runs }) => runs).find((one) => one.job === job);
    if (seen === undefined || (run !== undefined && run.state !== 'Running') || clock.now() >= end) return;
    await clock.sleep(EVERY_MS);
  }
}

/** Prints the log and resolves to the exit code. */
async function follow(context: Context, api: HttpApi, { path, job }: Started): Promise<number> {
  const { write, terminal, warn, clock } = context;
  const logs = `${path.replace('/v2/deployments', '/v1/projects')}/deploy_logs`;
  const more = openLog(api, logs, { query: { run: job, escapes: true }, warn });
  let warned: string | null = null;
  for (;;) {
    const run = await api.patiently<RunResponse>('GET', `${path}/runs/${job}`).catch(undefinedIf(404));
    if (run === undefined) throw new Failure(`Job ${job} was deleted before it ended.`);
    const hasEnded = run.state !== 'Running';
    for (let isRest = run.pod !== null; isRest; ) {
      const lines = await more();
      // Init containers are Davit's or the record's: programs read what the command prints.
      for (const { container, message } of lines) if (container === TASK_CONTAINER) write(shown(message, terminal));
      // A read has a limit.
      isRest = hasEnded && lines.length > 0;
    }
    if (hasEnded) return codeOf(run);
    if (run.message !== null && run.message !== warned) warn(run.message);
    warned = run.message;
    await clock.sleep(EVERY_MS);
  }
}

/** Throws Failure where no command has ended. */
function codeOf({ job, state, exit_code: code, reason, message }: RunResponse): number {
  if (state === 'Succeeded') return 0;
  if (reason === 'DeadlineExceeded')
    throw new TimedOut(`Job ${job} was stopped: it timed out (--timeout, or timeout_seconds of the task).`);
  if (code !== null) return code;
  throw new Failure(`Job ${job} failed: ${message ?? reason}`);
}
