// Runs a command once, in a Job with the pod template of the active revision. The Job is created with the caller's rights; a run of a
// task counts as one of the task's runs. It is deleted with the deployment.

import type { ContainerState, Pod } from '../deployments/assess/observed.ts';
import { podFailure } from '../deployments/assess/pod-failures.ts';
import type { ReplicaSet, Run } from '../deployments/record/one-off-job.ts';
import { TASK_CONTAINER } from '../schema/meta.ts';
import { type Command, type Context, DEPLOYMENT, Misuse, timeoutFlag } from './command.ts';
import { conditionsOfJob, createJob, podsOfJob } from './jobs.ts';
import { Failure, ignoreFailure, type Kubectl, TimedOut } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord, readRevisions } from './records.ts';
import { untilReported } from './until-reported.ts';

const TIMEOUT_SECONDS = 3600;
const EVERY_MS = 1000;
/** Reason of a Job whose activeDeadlineSeconds are over. */
const OVER_TIME = 'DeadlineExceeded';
/** A Job gets the first of these when its pods are to be ended, and the second when they have ended. */
const FAILED = new Set(['FailureTarget', 'Failed']);

export const runCommand: Command = {
  name: 'run',
  purpose: 'run a command once, in a pod of its own with the image and the values of the active revision',
  words: [DEPLOYMENT],
  rest: 'COMMAND [ARGUMENT ...]',
  noJson: 'its standard output is that of the command, and its exit code too',
  flags: [
    timeoutFlag(
      TIMEOUT_SECONDS,
      'ask the command to end (SIGTERM) after this time, and kill it after the grace period of the server',
      1,
    ),
    { name: 'task', value: 'TASK', help: 'run the command of this task of the active revision' },
  ],
  about: `The pod has image, variables, volumes, service account and sizes of the server, and is no part of the deployment. The exit
code is that of the command, or 124 if it was ended for its time. The command is never repeated. After Ctrl-C it goes on; kubectl delete job ends it.

  PROGRAM run shop -- python manage.py clearsessions
  PROGRAM run shop --task clean`,
  changes: { nothing: 'Nothing was run.', by: ['create'] },
  async run(context) {
    const {
      words: [name = ''],
      rest,
      kubectl,
      flags,
      warn,
      onInterrupt,
    } = context;
    const task = flags.text('task');
    if (task !== undefined && rest.length > 0)
      throw new Misuse('A task has its own command: leave out --task or the command.');
    if (task === undefined && rest.length === 0)
      throw new Misuse(`Which command? It follows --: ${PROGRAM} run ${name} -- COMMAND`);
    const asked = task === undefined ? { command: rest, seconds: TIMEOUT_SECONDS } : { task };
    const job = await startJob(kubectl, name, asked, flags.number('timeout'));
    warn(`Job ${job} runs the command.`);
    onInterrupt(() => `Job ${job} goes on. To end it: kubectl delete job ${job}${context.suggested}`);
    try {
      return await follow(context, job);
    } finally {
      if (task !== undefined) await untilTold(context, { name, job });
    }
  },
};

/** Returns the name of the Job. Throws Failure if nothing can be run, or the caller may not. */
async function startJob(
  kubectl: Kubectl,
  name: string,
  asked: Run | { readonly task: string },
  timeout: number | undefined,
): Promise<string> {
  const { activeOf, NotRunnable, oneOffJob, runOf, serverLabels, templateOf } = await import(
    '../deployments/record/one-off-job.ts'
  );
  const record = await readRecord(kubectl, name);
  try {
    const active = activeOf(record, await readRevisions(kubectl, record));
    const what = runOf(asked, active, name);
    const sets = await listOf<ReplicaSet>(kubectl, 'replicasets.apps', name, serverLabels(record, active));
    const template = templateOf(sets, name, `See: ${PROGRAM} status ${name}`);
    return await createJob(kubectl, oneOffJob({ record, active, template, ...what, seconds: timeout ?? what.seconds }));
  } catch (error) {
    throw error instanceof NotRunnable ? new Failure(error.message) : error;
  }
}

/** So long the end of a run may take to be told: by the Job, and then by the controller. */
const REPORTED_MS = 10_000;

/** Whoever asks for the tasks next is told that the run has ended, and not that it goes on. It is no failure if that is not told in time. */
async function untilTold(
  context: Context,
  { name, job }: { readonly name: string; readonly job: string },
): Promise<void> {
  await untilReported(context, name, {
    forMs: REPORTED_MS,
    find({ status }) {
      const run = status?.tasks?.flatMap(({ runs }) => runs).find((one) => one.job === job);
      return run?.state === 'Running' ? undefined : run;
    },
  }).catch(ignoreFailure);
}

/** Prints the log and resolves to the exit code. */
async function follow({ kubectl, onTerminal, warn, clock }: Context, job: string): Promise<number> {
  let isPrinted = false;
  let warned: string | undefined;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until the command has ended
    const [pod] = await podsOfJob(kubectl, job);
    const state = pod && stateOf(pod);
    if (state?.terminated && NOT_STARTED.has(state.terminated.reason ?? ''))
      throw new Failure(`The command could not be started. ${state.terminated.message ?? state.terminated.reason}`);
    if (pod && !isPrinted && (state?.running ?? state?.terminated)) {
      isPrinted = true;
      // oxlint-disable-next-line no-await-in-loop -- the log of the only container
      await onTerminal(['logs', pod.metadata.name, `--container=${TASK_CONTAINER}`, '--follow']);
      continue;
    }
    // oxlint-disable-next-line no-await-in-loop -- asked until the command has ended
    const failed = (await conditionsOfJob(kubectl, job)).find(({ type }) => FAILED.has(type));
    // A command that exits fails its Job, too. One that is ended for its time has an exit code that says nothing of it.
    if (state?.terminated && failed?.reason !== OVER_TIME) return state.terminated.exitCode;
    if (failed?.reason === OVER_TIME)
      throw new TimedOut(`Job ${job} was ended: its time is over (--timeout, or timeout_seconds of the task).`);
    if (failed) throw new Failure(`Job ${job} failed: ${[failed.reason, failed.message].filter(Boolean).join(': ')}`);
    const trouble = pod && podFailure([pod])?.message;
    if (trouble !== undefined && trouble !== warned) warn(trouble);
    warned = trouble;
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** Reasons of the kubelet for a container of which no process ran; its exit code is none of the command. */
const NOT_STARTED: ReadonlySet<string> = new Set(['StartError', 'ContainerCannotRun']);

function stateOf({ status }: Pod): ContainerState | undefined {
  return status?.containerStatuses?.find(({ name }) => name === TASK_CONTAINER)?.state;
}
