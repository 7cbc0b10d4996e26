// Prints the logs of a deployment's pods, one kubectl for each: `kubectl logs --selector` ends at the first pod that has none yet.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerStatus, Pod } from '../../deployments/assess/observed.ts';
import { podFailure } from '../../deployments/assess/pod-failures.ts';
import { podsIdOf } from '../../deployments/record/shared-pods.ts';
import type { AppLog, AppLogSpec } from '../../schema/app-log.ts';
import { COMPONENT_LABEL, COMPONENTS, GROUP, MIGRATION, REVISION_LABEL, TASK, TASK_LABEL } from '../../schema/meta.ts';
import { isPart } from '../../schema/worker-parts.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, Misuse, withFlags } from '../line/command.ts';
import { componentOf, needPart } from '../line/component.ts';
import { PROGRAM } from '../line/program.ts';
import { needScale } from '../text/scaled-to-zero.ts';
import { forTerminal } from '../text/terminal.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { listOf, readRecord, readRevisions } from '../transport/records.ts';
import { isMeant, matching, printBuildLog } from './build-log.ts';

const KNOWN_COMPONENTS: readonly string[] = [...COMPONENTS, MIGRATION];

export const logsCommand: Command = {
  name: 'logs',
  purpose: 'print the logs of its pods, or with --build of its latest build',
  words: [DEPLOYMENT],
  noJson: 'it prints what containers and builds wrote, as they wrote it',
  flags: [
    {
      name: 'component',
      short: 'c',
      value: 'PART',
      help: `${KNOWN_COMPONENTS.join(', ')} or the name of a worker; server by default`,
      suggested: KNOWN_COMPONENTS,
    },
    {
      name: 'revision',
      value: 'REVISION',
      help: 'name of a revision, or the beginning of its id; of one that failed, its last lines are kept for seven days',
    },
    {
      name: 'task',
      value: 'TASK',
      help: 'the runs of a task; of those that failed, the last lines are kept for seven days',
    },
    { name: 'follow', short: 'f', help: 'go on with what is written; with --build until the build ends' },
    { name: 'previous', short: 'p', help: 'what the containers wrote before their last restart' },
    {
      name: 'tail',
      value: 'LINES',
      help: 'number of last lines; by default 100 of each container, and all of a build',
      isNumber: true,
    },
    { name: 'build', help: 'the log of the latest build, or of the one of --revision' },
    ...API_FLAGS,
  ],
  about: 'The flags --server, --davit-namespace and --token are for --build, which calls the HTTP API.',
  run: (context) => (context.flags.has('build') ? buildLog(context) : podLogs(context)),
};

async function buildLog({ words: [name = ''], flags, facade, say }: Context): Promise<number> {
  for (const flag of ['component', 'previous', 'task'])
    if (flags.has(flag)) throw new Misuse(`--${flag} is about pods, and not for --build.`);
  const options = { revision: flags.text('revision'), follow: flags.has('follow'), tail: flags.number('tail'), say };
  await printBuildLog(await facade(), name, options);
  return 0;
}

async function podLogs(context: Context): Promise<number> {
  const {
    words: [name = ''],
    flags,
    kubectl,
    onTerminal,
    terminal,
    suggested,
  } = context;
  const [task, revision] = [flags.text('task'), flags.text('revision')];
  if (task !== undefined && flags.has('component')) throw new Misuse('--task and --component exclude each other.');
  const component = task === undefined ? componentOf(flags, KNOWN_COMPONENTS) : TASK;
  const record = await readRecord(kubectl, name);
  const isKept = task !== undefined || revision !== undefined;
  const there = isKept ? await listOf<Pod>(kubectl, 'pods', name) : [];
  const printed = isKept ? await printKept(context, namesOf(there)) : [];
  const hasKept = printed.length > 0;
  // A revision that failed may be gone from the history.
  const revisions = (revision === undefined ? [] : await readRevisions(kubectl, record)).map((made) => ({
    made,
    id: made.spec.id,
    name: made.metadata.name,
    status: made.status?.state ?? 'CREATING',
  }));
  if (hasKept && revision !== undefined && !revisions.some((one) => isMeant(one, revision))) return 0;
  const id = revision === undefined ? undefined : podsIdOf(matching(revisions, revision).made, component);
  const ended = new AbortController();
  const onInterrupt = (): void => ended.abort();
  process.once('SIGINT', onInterrupt);
  // A file or a pipe gets them unchanged.
  const onLine = terminal.isShown
    ? (line: string): void => void process.stdout.write(`${forTerminal(line)}\n`)
    : undefined;
  const tools: PodLogTools = {
    kubectl,
    async run(args) {
      const ran = await onTerminal(args, { onLine });
      if (ran === 0) printed.push(args[1] ?? '');
      return ran;
    },
  };
  const labels = {
    [COMPONENT_LABEL]: component,
    ...(id !== undefined && { [REVISION_LABEL]: id }),
    ...(task !== undefined && { [TASK_LABEL]: task }),
  };
  const isMeantPod = ({ metadata }: Pod): boolean =>
    Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value);
  const code = await printPodLogs(tools, name, {
    component,
    hasKept: hasKept || there.some(isMeantPod),
    needPart() {
      if (task !== undefined)
        throw new Failure(`${name} has no run of a task "${task}". See: ${PROGRAM} tasks ${name}`);
      needPart(record, component, KNOWN_COMPONENTS);
      needScale(record, component);
    },
    labels,
    follow: flags.has('follow'),
    previous: flags.has('previous'),
    tail: flags.number('tail') ?? 100,
    warn: (line) => context.warn(withFlags(line, suggested)),
    signal: ended.signal,
  });
  process.off('SIGINT', onInterrupt);
  // A pod may have gone since they were listed.
  const others = there.filter((pod) => !isMeantPod(pod));
  const late = isKept ? await printKept(context, [...printed, ...namesOf(others)]) : [];
  return late.length > 0 ? 0 : code;
}

function namesOf(pods: readonly Pod[]): string[] {
  return pods.map(({ metadata }) => metadata.name);
}

/** Prints the logs that Davit has kept of deleted pods. Leaves out the pods that `except` names. Resolves to the names of the printed pods. */
async function printKept(
  { words: [name = ''], flags, kubectl, say, warn, terminal }: Context,
  except: readonly string[],
): Promise<string[]> {
  const [revision, task] = [flags.text('revision'), flags.text('task')];
  const kept = await keptContainers(kubectl, name, { revision, task, component: flags.text('component') }, except);
  for (const container of kept) {
    warn(headingOf(container));
    for (const line of linesOf(container, flags.number('tail') ?? 100))
      say(terminal.isShown ? forTerminal(line) : line);
  }
  return kept.map(({ pod }) => pod);
}

interface KeptOf {
  /** A revision's name, or the beginning of its id. */
  readonly revision?: string | undefined;
  /** Without it, of revisions that failed. */
  readonly task?: string | undefined;
  readonly component?: string | undefined;
}

type KeptContainer = AppLogSpec['containers'][number];

/**
 * The last lines of containers that ended a revision or a run of a task, which Davit keeps for a week after their pods. Oldest first. Leaves out
 * the containers of the pods that `except` names. Also empty if the caller may not read AppLogs.
 */
async function keptContainers(
  kubectl: Kubectl,
  name: string,
  { revision, task, component }: KeptOf,
  except: readonly string[] = [],
): Promise<readonly KeptContainer[]> {
  const logs = await listOf<AppLog>(kubectl, `applogs.${GROUP}`, name).catch((error: unknown) => {
    if (error instanceof Failure) return [];
    throw error;
  });
  return logs
    .filter(({ metadata, spec }) => {
      const isOf =
        revision === undefined ||
        metadata.name === revision ||
        spec.revisionId?.startsWith(revision.toLowerCase()) === true;
      return isOf && spec.task === task;
    })
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1))
    .flatMap(({ spec }) => spec.containers)
    .filter((one) => !except.includes(one.pod) && (component === undefined || one.component === component));
}

/** The last lines of its log, without their times. */
function linesOf({ log }: KeptContainer, tail: number): readonly string[] {
  const lines = log.trimEnd().split('\n');
  return (log === '' ? [] : lines).slice(-tail).map((line) => line.slice(line.indexOf(' ') + 1));
}

/** What stands before its lines. */
function headingOf({ pod, container, exitCode, reason }: KeptContainer): string {
  return `Container ${container} of pod ${pod} exited with code ${exitCode}${reason === undefined ? '' : ` (${reason})`}. Its last lines:`;
}

export interface PodLogOptions {
  readonly component: string;
  /** Whether the log of such pods was printed already, so that there need not be any now. */
  readonly hasKept?: boolean;
  /** Called where there are no pods. Throws Failure if the deployment has no such part, or is scaled to zero. */
  readonly needPart?: () => void;
  /** Selects pods besides deployment and component. */
  readonly labels: Readonly<Record<string, string>>;
  readonly follow: boolean;
  /** Prints what the containers wrote before their last restart. */
  readonly previous: boolean;
  /** Number of last lines of each container. */
  readonly tail: number;
  /** Prints what is no log. */
  readonly warn: (line: string) => void;
  /** Ends waiting for pods. */
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

export interface PodLogTools {
  readonly kubectl: Kubectl;
  /** Runs kubectl on this terminal and resolves to its exit code. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** Resolves to the exit code: 0 if any log was printed. A follower waits for pods that have not started. */
export async function printPodLogs(
  { kubectl, run }: PodLogTools,
  name: string,
  options: PodLogOptions,
): Promise<number> {
  const { component, follow, warn, signal, everyMs = 1000 } = options;
  const told = new Set<string>();
  let isHinted = options.previous;
  const begun = new Map<string, Promise<number>>();
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until no pod waits
    const pods = await listOf<Pod>(kubectl, 'pods', name, options.labels);
    if (pods.length === 0 && begun.size === 0) {
      if (options.hasKept) return 0;
      options.needPart?.();
      throw new Failure(`${name} has no pod of ${component}. See: ${PROGRAM} status ${name}`);
    }
    const printed = options.previous && isPart(component) ? pods.filter((pod) => startedAgain(pod, component)) : pods;
    if (printed.length === 0 && begun.size === 0)
      throw new Failure(
        `No container of ${component} of ${name} was started again, so none has an earlier log. See: ${PROGRAM} status ${name}`,
      );
    let waiting = 0;
    for (const pod of printed.filter(({ metadata }) => !begun.has(metadata.name))) {
      const why = options.previous ? undefined : waitsFor(pod);
      if (why === undefined) {
        const ended = run(argumentsOf(pod, options));
        begun.set(pod.metadata.name, ended);
        // oxlint-disable-next-line no-await-in-loop -- logs that are not followed come one after the other
        if (!follow) await ended;
        const hint = isHinted ? undefined : hintAtPrevious(name, pod, component);
        if (hint !== undefined) warn(hint);
        isHinted ||= hint !== undefined;
        continue;
      }
      waiting += 1;
      const line = `Pod ${pod.metadata.name} has no log yet: ${why}`;
      if (!told.has(line)) warn(line);
      told.add(line);
    }
    if (!follow || waiting === 0 || signal.aborted) break;
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  const codes = await Promise.all(begun.values());
  return codes.includes(0) ? 0 : (codes[0] ?? 1);
}

function argumentsOf(pod: Pod, { component, follow, previous, tail }: PodLogOptions): string[] {
  return [
    'logs',
    pod.metadata.name,
    // A pod of a store may have a container that has not started beside one that has.
    ...(isPart(component) ? [`--container=${component}`] : ['--all-containers', '--ignore-errors']),
    '--prefix',
    `--tail=${tail}`,
    ...(follow ? ['--follow'] : []),
    ...(previous ? ['--previous'] : []),
  ];
}

/** Whether the part's container has a log of before. */
function startedAgain({ status }: Pod, component: string): boolean {
  return status?.containerStatuses?.find(({ name }) => name === component)?.lastState?.terminated !== undefined;
}

/** What exited longer ago than this, and is ready, is no news. In milliseconds. */
const NEWS_MS = 3_600_000;

/** Where a container that has exited runs again: the log is that of the new one, and does not say why it exited. */
function hintAtPrevious(name: string, { metadata, status }: Pod, component: string): string | undefined {
  const crashed = status?.containerStatuses?.find(
    (one) =>
      (one.name === component || !isPart(component)) &&
      one.state?.running !== undefined &&
      (!one.ready || Date.parse(one.lastState?.terminated?.finishedAt ?? '') > Date.now() - NEWS_MS) &&
      (one.lastState?.terminated?.exitCode ?? 0) !== 0,
  );
  if (crashed === undefined) return undefined;
  const { exitCode } = crashed.lastState?.terminated ?? {};
  return `Container ${crashed.name} of pod ${metadata.name} was started again after it exited with code ${exitCode}. What it wrote before: ${commandForLog(name, { component, isBefore: true })}`;
}

/** `isBefore`: what containers wrote before they were started again. */
function commandForLog(
  name: string,
  { component, isBefore }: { readonly component: string; readonly isBefore: boolean },
): string {
  const part = component === 'server' ? '' : ` --component ${component}`;
  return `${PROGRAM} logs ${name}${part}${isBefore ? ' --previous' : ''}`;
}

/** Why none of the pod's containers has written anything; undefined if one may have. */
function waitsFor(pod: Pod): string | undefined {
  const containers = pod.status?.containerStatuses ?? [];
  if (containers.some(hasRun)) return undefined;
  const reasons = containers.flatMap(({ name, state }) =>
    state?.waiting?.reason === undefined ? [] : [`container ${name} waits (${state.waiting.reason}).`],
  );
  return podFailure([pod])?.message ?? (reasons.join(' ') || 'it is being started.');
}

function hasRun({ state, lastState }: ContainerStatus): boolean {
  return (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined;
}
