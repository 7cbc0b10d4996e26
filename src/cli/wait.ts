// Waits until a deployment is ready, or fails with the reason if it is Stalled, for which `kubectl wait` would time out.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../deployments/assess/observed.ts';
import { isReadyPod } from '../deployments/assess/pod-failures.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import type { Condition } from '../schema/primitives.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, timeoutFlag } from './command.ts';
import { Failure, type Kubectl, TimedOut } from './kubectl.ts';
import { printLastWords } from './last-words.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord } from './records.ts';

export const waitCommand: Command = {
  name: 'wait',
  purpose: 'wait until it is ready, or cannot become ready without a person',
  words: [DEPLOYMENT],
  flags: [timeoutFlag(600), OUTPUT, ...API_FLAGS],
  about: `Where it fails, it prints the last lines of the container that exited or of the build that failed. The flags --server,
--davit-namespace and --token are for the log of a build, which the HTTP API has.`,
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      say,
      report,
    } = context;
    try {
      const record = await waitUntilReady(kubectl, name, { timeoutMs: (flags.number('timeout') ?? 600) * 1000, say });
      report(readyResult(record));
    } catch (error) {
      if (error instanceof NotReady || error instanceof TimedOut) await printLastWords(context, name);
      throw error;
    }
    return 0;
  },
};

/** The deployment is there, and not ready. */
class NotReady extends Failure {}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
  /** Interval of the checks. */
  readonly everyMs?: number;
}

export type Verdict =
  | { readonly is: 'ready' | 'waiting'; readonly words: string }
  | { readonly is: 'stalled'; readonly words: string };

/** Resolves to the record that is ready. Throws Failure when it stalls or is deleted, and TimedOut after `timeoutMs`. */
export async function waitUntilReady(kubectl: Kubectl, name: string, options: WaitOptions): Promise<AppDeployment> {
  const end = Date.now() + options.timeoutMs;
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one check after the other
    const record = await readRecord(kubectl, name);
    const { is, words } = verdictOn(record);
    if (words !== said) options.say(words);
    said = words;
    if (is === 'ready') return record;
    if (is === 'stalled') throw new NotReady(`${name} needs a change by a person. See: ${PROGRAM} status ${name}`);
    if (Date.now() >= end) throw new TimedOut(`${name} is not ready after ${options.timeoutMs / 1000} s.`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(options.everyMs ?? 1000);
  }
}

function readyResult({ metadata: { name }, status }: AppDeployment): object {
  const { state = null, activeRevisionId = null, url = null } = status ?? {};
  return { name, state, activeRevisionId, url };
}

/** Throws Failure if no pod can answer: `kubectl port-forward` waits for one without a word. */
export async function needReadyPod(kubectl: Kubectl, name: string): Promise<void> {
  const record = await readRecord(kubectl, name);
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: 'server' });
  if (pods.some((pod) => pod.metadata.deletionTimestamp === undefined && isReadyPod(pod))) return;
  const { is, words } = verdictOn(record);
  throw new Failure(`No pod of ${name} is ready. ${words}\n${NEXT[is](name)}`);
}

/** A deployment that is ready without pods is scaled to zero. */
const NEXT: Readonly<Record<Verdict['is'], (name: string) => string>> = {
  ready: () => 'To start one, raise minScale and maxScale of its resourceSpec.',
  waiting: (name) => `To wait for one: ${PROGRAM} wait ${name}`,
  stalled: (name) => `What is wrong: ${PROGRAM} status ${name}`,
};

/** Considers only a status of the record's current generation. */
export function verdictOn({ metadata, status }: AppDeployment): Verdict {
  if (metadata.deletionTimestamp) return { is: 'stalled', words: 'It is being deleted.' };
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return { is: 'waiting', words: 'Davit has not observed its latest change yet.' };
  const find = (type: string): Condition | undefined => status?.conditions?.find((each) => each.type === type);
  const ready = find('Ready');
  const stalled = find('Stalled');
  if (ready?.status === 'True') return { is: 'ready', words: `Ready: ${ready.message || ready.reason}` };
  if (stalled?.status === 'True') return { is: 'stalled', words: `Stalled: ${stalled.reason}. ${stalled.message}` };
  return { is: 'waiting', words: ready ? `${ready.reason}. ${ready.message}` : 'Davit has not reported yet.' };
}
