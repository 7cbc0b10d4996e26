// Waits until a deployment is ready, or says why it never will be. `kubectl wait` would sit out its time on the latter.

import { setTimeout as sleep } from 'node:timers/promises';
import type { AppDeployment } from '../api/app-deployment.ts';
import type { Condition } from '../api/primitives.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { readRecord } from './records.ts';

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
  /** Between two looks. */
  readonly everyMs?: number;
}

export type Verdict =
  | { readonly is: 'ready' | 'waiting'; readonly words: string }
  | { readonly is: 'stalled'; readonly words: string };

/** Resolves when it is ready. Throws Failure when it stalls, is deleted, or `timeoutMs` is over. */
export async function waitUntilReady(kubectl: Kubectl, name: string, options: WaitOptions): Promise<void> {
  const end = Date.now() + options.timeoutMs;
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    const { is, words } = verdictOn(await readRecord(kubectl, name));
    if (words !== said) options.say(words);
    said = words;
    if (is === 'ready') return;
    if (is === 'stalled') throw new Failure(`${name} needs a change by a person. See: kubectl davit status ${name}`);
    if (Date.now() >= end) throw new Failure(`${name} is not ready after ${options.timeoutMs / 1000} s.`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(options.everyMs ?? 1000);
  }
}

/** Judged at the record's own generation: what was said of an older one says nothing of this. */
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
