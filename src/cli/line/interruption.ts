// What Ctrl-C and the signals TERM and HUP say of a command that changes something: whether its request was sent.

import type { HttpApi } from '../transport/http-api.ts';
import type { Kubectl } from '../transport/kubectl.ts';
import { PROGRAM } from './program.ts';

/** A command that changes something, as its definition has it. */
export interface Change {
  /** What is said before the request was sent: a sentence. */
  readonly nothing: string;
  /** The words of kubectl that send it; absent where the command tells itself that it was sent. The HTTP API is sent anything but a GET. */
  readonly by?: readonly string[];
  /** What is said afterwards, where the command has nothing of its own to say. `words`: as Context has them. */
  readonly sent?: (words: readonly string[]) => string;
}

/** How far the request is. `on its way`: an interruption cannot tell whether it was received. */
type Stage = 'not sent' | 'on its way' | 'sent';

type Register = (sentence: () => string | undefined) => void;

interface Watched {
  readonly onInterrupt: Register;
  kubectl(kubectl: Kubectl): Kubectl;
  api(api: HttpApi): HttpApi;
}

interface Watching {
  /** The words after the command. */
  readonly words: readonly string[];
  /** Registers what is said, and with it that this program ends then. */
  readonly register: Register;
}

/** As a command is defined. */
interface Defined {
  readonly changes?: Change;
  readonly words: readonly { readonly names: string }[];
}

/**
 * Watches what a command sends. What the command itself says at an interruption replaces what its definition says; a sentence of its own
 * that is undefined does not.
 */
export function watched({ changes, words: defined }: Defined, { words, register }: Watching): Watched {
  if (changes === undefined) return { onInterrupt: register, kubectl: (one) => one, api: (one) => one };
  const own: (() => string | undefined)[] = [];
  let stage: Stage = 'not sent';
  const sending = async <T>(work: () => Promise<T>): Promise<T> => {
    const before = stage;
    stage = 'on its way';
    try {
      const result = await work();
      stage = 'sent';
      return result;
    } catch (error) {
      stage = before;
      throw error;
    }
  };
  register(() => {
    const said = own.map((sentence) => sentence()).filter((one) => one !== undefined);
    return said.length > 0
      ? said.join('\n')
      : sentenceOf(changes, stage, { words, name: words[defined.findIndex((one) => one.names === 'deployment')] });
  });
  return {
    onInterrupt: (sentence) => void own.push(sentence),
    kubectl: (kubectl) => (args, input) =>
      isSending(changes, args) ? sending(() => kubectl(args, input)) : kubectl(args, input),
    api: (api) => ({
      ...api,
      call: (method, ...others) =>
        method === 'GET' ? api.call(method, ...others) : sending(() => api.call(method, ...others)),
    }),
  };
}

function isSending({ by = [] }: Change, args: readonly string[]): boolean {
  return by.includes(args[0] ?? '') && !args.some((arg) => arg.startsWith('--dry-run'));
}

interface Named {
  readonly words: readonly string[];
  /** Undefined where the command is about no deployment. */
  readonly name: string | undefined;
}

function sentenceOf({ nothing, sent }: Change, stage: Stage, { words, name }: Named): string {
  const see = name === undefined ? '' : ` To see what there is now: ${PROGRAM} status ${name}`;
  if (stage === 'not sent') return nothing;
  if (stage === 'on its way') return `The request may or may not have been received.${see}`;
  return sent?.(words) ?? `The request was sent.${see}`;
}
