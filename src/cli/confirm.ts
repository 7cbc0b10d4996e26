// Asks before what nobody could take back.

import { type Context, type FlagDefinition, Misuse } from './command.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';

export const YES: FlagDefinition = { name: 'yes', short: 'y', help: 'do not ask; needed where nobody can be asked' };

interface Question {
  /** Ends with a question mark. */
  readonly question: string;
  readonly verb: string;
  /** What is said where the answer is another one. */
  readonly refusal: string;
  /** The command after the program, as somebody would repeat it without --yes. */
  readonly command: readonly string[];
}

/** Asks for the name of the deployment. Throws Misuse where nobody can be asked and --yes is not given, and Failure for another answer. */
export async function confirm(
  { words: [name = ''], flags, terminal }: Pick<Context, 'words' | 'flags' | 'terminal'>,
  { question, verb, refusal, command }: Question,
): Promise<void> {
  if (flags.has(YES.name)) return;
  if (!terminal.isInteractive)
    throw new Misuse(`Nobody can be asked here. ${refusal} To ${verb} it: ${[PROGRAM, ...command].join(' ')} --yes`);
  const answer = await terminal.ask(`${question} Type ${name} to ${verb} it: `);
  if (answer.trim() !== name) throw new Failure(refusal);
}
