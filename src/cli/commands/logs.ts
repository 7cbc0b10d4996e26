// Prints what the pods of a deployment wrote, or with --build the log of a build.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { LOGGED_PARTS } from '../../deploy/record/unknown-part.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, Misuse, withFlags } from '../line/command.ts';
import { componentOf } from '../line/component.ts';
import { PROGRAM } from '../line/program.ts';
import { zeroSentence } from '../text/scaled-to-zero.ts';
import { shown } from '../text/terminal.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { matching, needDeployment, openLog, PAGE, printBuildLog, readEvents, readRevisions } from './build-log.ts';

/** The most that the API gives. */
const MOST_LAST_LINES = 100_000;
const LAST_LINES = 100;
const EVERY_MS = 2000;
/** Each read of a listener's cluster is an object in the API server of the hub. */
const ELSEWHERE_MS = 10_000;

export const logsCommand: Command = {
  name: 'logs',
  purpose: 'print the logs of its pods, or with --build of its latest build',
  words: [DEPLOYMENT],
  noJson: 'it prints the output of containers and builds unchanged',
  flags: [
    {
      name: 'component',
      short: 'c',
      value: 'PART',
      help: `${LOGGED_PARTS.join(', ')} or the name of a worker; by default server, and with --revision all parts that run its image`,
      suggested: LOGGED_PARTS,
    },
    {
      name: 'revision',
      value: 'REVISION',
      help: 'name of a revision, or the beginning of its id; the last lines of a failed one are kept for seven days',
    },
    {
      name: 'task',
      value: 'TASK',
      help: 'the runs of a task; the last lines of failed ones are kept for seven days',
    },
    { name: 'follow', short: 'f', help: 'follow the log until Ctrl-C; with --build until the build ends' },
    { name: 'previous', short: 'p', help: 'only lines from before the last restart of the containers' },
    {
      name: 'tail',
      value: 'LINES',
      help: 'number of last lines; by default 100 of each container, and all of a build',
      isNumber: true,
      most: MOST_LAST_LINES,
    },
    { name: 'build', help: 'the log of the latest build, or of the build of --revision' },
    ...API_FLAGS,
  ],
  run: (context) => (context.flags.has('build') ? buildLog(context) : podLogs(context)),
};

async function buildLog({ words: [name = ''], flags, facade, say }: Context): Promise<number> {
  for (const flag of ['component', 'previous', 'task'])
    if (flags.has(flag)) throw new Misuse(`--${flag} is for pods, not for --build.`);
  const options = { revision: flags.text('revision'), follow: flags.has('follow'), tail: flags.number('tail'), say };
  await printBuildLog(await facade(), name, options);
  return 0;
}

/** Which lines are read. */
interface Wanted {
  readonly component: string | undefined;
  readonly task: string | undefined;
  readonly previous: boolean;
}

async function podLogs(context: Context): Promise<number> {
  const {
    words: [name = ''],
    flags,
    clock,
    terminal,
    write,
    warn,
    suggested,
  } = context;
  const wanted = wantedLines(context);
  const [follow, tail] = [flags.has('follow'), flags.number('tail') ?? LAST_LINES];
  const own = await context.api();
  const deployment = await needDeployment<Deployment>(own, name);
  // The facade alone has the rights to ask a listener's cluster.
  const isElsewhere = deployment.source_config.listener_id !== null;
  const api = isElsewhere ? await context.facade() : own;
  const more = openLog(api, await pathOf(api, deployment, flags.text('revision')), {
    query: { ...wanted, escapes: true },
    begin: { tail: Math.max(tail, 1) },
    warn,
  });
  let [isSilent, said] = [true, ''];
  for (let isFirst = true; ; isFirst = false) {
    const lines = await more();
    if (!isFirst || tail > 0)
      // As kubectl logs --prefix prints it.
      for (const { pod, container, message } of lines) write(`[pod/${pod}/${container}] ${shown(message, terminal)}`);
    isSilent &&= lines.length === 0;
    const why = isSilent ? await whySilent(api, deployment, wanted) : said;
    if (!follow && isSilent) throw new Failure(why);
    if (!follow) return 0;
    if (why !== said) warn(withFlags(why, suggested));
    said = why;
    await clock.sleep(isElsewhere ? ELSEWHERE_MS : EVERY_MS);
  }
}

/** Throws Misuse. */
function wantedLines({ flags }: Context): Wanted {
  const task = flags.text('task');
  if (task !== undefined && flags.has('component')) throw new Misuse('Use either --task or --component, not both.');
  const component = componentOf(flags, LOGGED_PARTS);
  // What ended a revision may be any of its parts.
  const isOfAll = !flags.has('component') && (task ?? flags.text('revision')) !== undefined;
  return { component: isOfAll ? undefined : component, task, previous: flags.has('previous') };
}

async function pathOf(api: HttpApi, { id }: Deployment, revision: string | undefined): Promise<string> {
  if (revision === undefined) return `/v1/projects/${id}/deploy_logs`;
  const { id: revisionId } = matching(await readRevisions(api, id, PAGE), revision);
  return `/v1/projects/${id}/revisions/${revisionId}/deploy_logs`;
}

/** What a person reads where there is no line. */
async function whySilent(
  api: HttpApi,
  { id, name, conditions }: Deployment,
  { component, task, previous }: Wanted,
): Promise<string> {
  const whose = component === undefined ? name : `${component} of ${name}`;
  if (task !== undefined)
    return `No run of task "${task}" of ${name} has written a line. See: ${PROGRAM} tasks ${name}`;
  if (previous)
    return `No container of ${whose} was restarted, so there is no earlier log. See: ${PROGRAM} status ${name}`;
  const atZero = conditionOf(conditions, 'Ready')?.reason === 'ScaledToZero' && component !== undefined;
  const zero = atZero ? zeroSentence(name, component) : undefined;
  if (zero !== undefined) return zero;
  const reported = await readEvents(api, id, 'patiently');
  const waiting = (reported?.pods ?? []).filter(
    ({ part, phase, problem }) =>
      (component === undefined || part === component) && (problem !== null || phase === 'Pending'),
  );
  return waiting.length === 0
    ? `No pod of ${whose} has written a line. See: ${PROGRAM} status ${name}`
    : waiting
        .map((pod) => `Pod ${pod.name} has no log yet: ${pod.problem?.message ?? 'it is being started.'}`)
        .join('\n');
}
