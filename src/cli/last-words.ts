// The last lines of what failed: of the build of the newest revision, or of a container that exited.

import { endedContainers } from '../deployments/assess/ended-containers.ts';
import type { Pod } from '../deployments/assess/observed.ts';
import { runsBeside } from '../schema/listed-events.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { LAST_LINES, NoBuildLog, printBuildLog } from './build-log.ts';
import { type Context, Misuse, withFlags } from './command.ts';
import { headingOf, keptContainers, linesOf } from './kept-logs.ts';
import { Failure } from './kubectl.ts';
import { commandForLog } from './logs.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord, readRevisions } from './records.ts';

/** Prints them, or which command does. A failure to read them is no failure of its own: why something failed is known. */
export async function printLastWords(context: Context, name: string): Promise<void> {
  const { kubectl, warn } = context;
  try {
    const record = await readRecord(kubectl, name);
    const [newest] = await readRevisions(kubectl, record);
    if (newest?.status?.build?.phase === 'Failed') await printBuild(context, name, newest.spec.id);
    else if (!(await printCrash(context, name, await listOf<Pod>(kubectl, 'pods', name))) && newest?.status?.failure)
      await printKept(context, name, newest.metadata.name);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    warn(`The last lines of its log cannot be read: ${error.message}`);
  }
}

async function printBuild(context: Context, name: string, revision: string): Promise<void> {
  const { warn, suggested } = context;
  try {
    const api = await context.facade();
    warn('The last lines of the build:');
    await printBuildLog(api, name, { revision, follow: false, tail: LAST_LINES, say: warn });
  } catch (error) {
    if (error instanceof NoBuildLog) return warn(error.message);
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    warn(`To read the log of the build: ${PROGRAM} logs ${name} --build${suggested}`);
  }
}

/** Resolves to whether a container of the pods has crashed. */
async function printCrash({ kubectl, warn, suggested }: Context, name: string, pods: readonly Pod[]): Promise<boolean> {
  // Those of an earlier revision may still be there, and say what was corrected since.
  const newestFirst = pods.filter(isOfDeployment).toSorted((a, b) => (madeAt(a) < madeAt(b) ? 1 : -1));
  const [crashed] = newestFirst.flatMap((pod) => endedContainers(pod));
  if (crashed === undefined) return false;
  const { pod, container, component, previous: isBefore } = crashed;
  const previous = isBefore ? ['--previous'] : [];
  const text = (
    await kubectl(['logs', pod, `--container=${container}`, `--tail=${LAST_LINES}`, ...previous])
  ).trimEnd();
  warn(
    text === ''
      ? `Container ${container} of pod ${pod} wrote nothing before it exited.`
      : `The last lines of container ${container} of pod ${pod}:`,
  );
  if (text === '') return true;
  for (const line of text.split('\n')) warn(line);
  // What the command prints is of the container that has the name of its part.
  if (container === component)
    warn(withFlags(`More of its log: ${commandForLog(name, { component, isBefore })}`, suggested));
  return true;
}

/** The pods of a revision that failed are being removed. Davit keeps what they wrote, in the pass after the one that reported it. */
const KEPT_WITHIN_MS = 5000;

async function printKept({ kubectl, clock, warn, suggested }: Context, name: string, revision: string): Promise<void> {
  const end = clock.now() + KEPT_WITHIN_MS;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it is there
    const kept = (await keptContainers(kubectl, name, { revision })).at(-1);
    if (kept !== undefined) {
      warn(headingOf(kept));
      for (const line of linesOf(kept, LAST_LINES)) warn(line);
      return warn(withFlags(`More of its log: ${PROGRAM} logs ${name} --revision ${revision}`, suggested));
    }
    if (clock.now() >= end) return undefined;
    // oxlint-disable-next-line no-await-in-loop -- as above
    await clock.sleep(500);
  }
}

/** Runs of commands, backups and proofs fail for reasons of their own. The log of a pod that is being deleted is read from what Davit keeps. */
function isOfDeployment({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && !runsBeside(metadata.labels?.[COMPONENT_LABEL]);
}

function madeAt({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
