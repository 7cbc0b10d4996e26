// Asks before what nobody could take back.

import { Failure } from '../transport/kubectl.ts';
import { type Context, type FlagDefinition, Misuse } from './command.ts';
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
export function confirm(
  context: Pick<Context, 'words' | 'flags' | 'terminal'>,
  { question, verb, refusal, command }: Question,
): Promise<void> {
  const [name = ''] = context.words;
  return askForName(context, {
    name,
    asks: `${question} Type ${name} to ${verb} it: `,
    refusal,
    nobody: nobodySentence({ verb, refusal, command }),
  });
}

function nobodySentence({ verb, refusal, command }: Omit<Question, 'question'>): string {
  return `Nobody can be asked here. ${refusal} To ${verb} it: ${[PROGRAM, ...command].join(' ')} --yes`;
}

interface NameQuestion {
  readonly name: string;
  /** All of it. */
  readonly asks: string;
  readonly refusal: string;
  /** What is said where nobody can be asked. */
  readonly nobody: string;
}

/** The same in words of one's own. */
export async function askForName(
  { flags, terminal }: Pick<Context, 'flags' | 'terminal'>,
  { name, asks, refusal, nobody }: NameQuestion,
): Promise<void> {
  if (flags.has(YES.name)) return;
  if (!terminal.isInteractive) throw new Misuse(nobody);
  const answer = await terminal.ask(asks);
  if (answer.trim() !== name) throw new Failure(refusal);
}
