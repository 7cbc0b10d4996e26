// The last lines of what failed: of the build of the newest revision, or of a container that exited.

import type { ContainerStatus, Pod } from '../deployments/assess/observed.ts';
import { runsBeside } from '../schema/listed-events.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { LAST_LINES, NoBuildLog, printBuildLog } from './build-log.ts';
import { type Context, Misuse } from './command.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord, readRevisions } from './records.ts';

/** Prints them, or which command does. A failure to read them is no failure of its own: why something failed is known. */
export async function printLastWords(context: Context, name: string): Promise<void> {
  const { kubectl, warn } = context;
  try {
    const record = await readRecord(kubectl, name);
    const [newest] = await readRevisions(kubectl, record);
    if (newest?.status?.build?.phase === 'Failed') await printBuild(context, name, newest.spec.id);
    else await printCrash(context, await listOf<Pod>(kubectl, 'pods', name));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    warn(`The last lines of its log cannot be read: ${error.message}`);
  }
}

async function printBuild(context: Context, name: string, revision: string): Promise<void> {
  const { warn, suggested } = context;
  try {
    const api = await context.api();
    warn('The last lines of the build:');
    await printBuildLog(api, name, { revision, follow: false, tail: LAST_LINES, say: warn });
  } catch (error) {
    if (error instanceof NoBuildLog) return warn(error.message);
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    warn(`To read the log of the build: ${PROGRAM} logs ${name} --build${suggested}`);
  }
}

async function printCrash({ kubectl, warn }: Context, pods: readonly Pod[]): Promise<void> {
  // Those of an earlier revision may still be there, and say what was corrected since.
  const newestFirst = pods.filter(isOfDeployment).toSorted((a, b) => (madeAt(a) < madeAt(b) ? 1 : -1));
  const [crashed] = newestFirst.flatMap((pod) => crashesOf(pod));
  if (crashed === undefined) return;
  const { pod, container, isBefore } = crashed;
  const previous = isBefore ? ['--previous'] : [];
  const text = await kubectl(['logs', pod, `--container=${container}`, `--tail=${LAST_LINES}`, ...previous]);
  warn(`The last lines of container ${container} of pod ${pod}:`);
  for (const line of text.trimEnd().split('\n')) warn(line);
}

/** Runs of commands, backups and proofs fail for reasons of their own. */
function isOfDeployment({ metadata }: Pod): boolean {
  return !runsBeside(metadata.labels?.[COMPONENT_LABEL]);
}

interface Crash {
  readonly pod: string;
  readonly container: string;
  /** It was started again: the log is that of the container before. */
  readonly isBefore: boolean;
}

function madeAt({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}

function crashesOf({ metadata, status }: Pod): Crash[] {
  if (metadata.deletionTimestamp !== undefined) return [];
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers
    .filter(hasCrashed)
    .map(({ name, state }) => ({ pod: metadata.name, container: name, isBefore: state?.running !== undefined }));
}

function hasCrashed({ ready, state, lastState }: ContainerStatus): boolean {
  if (state?.running && ready) return false;
  const ended = state?.terminated ?? lastState?.terminated;
  return ended !== undefined && ended.exitCode !== 0;
}
