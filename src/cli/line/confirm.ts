// Asks before what nobody could take back.

import { Failure } from '../transport/kubectl.ts';
import { type Context, type FlagDefinition, Misuse } from './command.ts';

export const YES: FlagDefinition = {
  name: 'yes',
  short: 'y',
  help: 'do not ask for confirmation; required without a terminal',
};

interface Question {
  /** The name of the deployment. */
  readonly name: string;
  /** Ends with a question mark. */
  readonly question: string;
  /** What is said where the answer is another one. */
  readonly refusal: string;
}

/** Asks for the name of the deployment. Throws Misuse without a terminal and without --yes, and Failure for another answer. */
export async function confirm(
  { flags, terminal }: Pick<Context, 'flags' | 'terminal'>,
  { name, question, refusal }: Question,
): Promise<void> {
  if (flags.has(YES.name)) return;
  if (!terminal.isInteractive)
    throw new Misuse(`Confirmation needs a terminal. ${refusal} To confirm in advance, repeat the command with --yes.`);
  const answer = await terminal.ask(`${question} Type ${name} to confirm: `);
  if (answer.trim() !== name) throw new Failure(refusal);
}
