// Runs a command in a ready pod of a deployment.

import type { Pod } from '../../deploy/assess/observed.ts';
import { isScaledToZero } from '../../deploy/record/revisions.ts';
import { unknownPart } from '../../deploy/record/unknown-part.ts';
import { COMPONENT_LABEL, COMPONENTS } from '../../kinds/meta.ts';
import { type Command, DEPLOYMENT, Misuse } from '../line/command.ts';
import { componentOf } from '../line/component.ts';
import { PROGRAM } from '../line/program.ts';
import { zeroSentence } from '../text/scaled-to-zero.ts';
import { Failure, isForbidden, type Kubectl } from '../transport/kubectl.ts';
import { listOf, readRecord, readyPods } from '../transport/records.ts';

export const execCommand: Command = {
  name: 'exec',
  purpose: 'run a command in one of its ready pods',
  words: [DEPLOYMENT],
  rest: 'COMMAND [ARGUMENT ...]',
  noJson: "its standard output is the command's",
  flags: [
    {
      name: 'component',
      short: 'c',
      value: 'PART',
      help: `part whose pod is used: ${COMPONENTS.join(', ')} or the name of a worker; server by default`,
      suggested: COMPONENTS,
    },
  ],
  about: `Standard input is passed to the command. If it is a terminal, the command gets a terminal. The exit code is the command's.

  PROGRAM exec shop -- sh
  PROGRAM exec shop -c postgres -- psql -U postgres app`,
  async run({ kubectl, onTerminal, words: [name = ''], rest, flags, terminal }) {
    if (rest.length === 0) throw new Misuse(`Which command? Write it after --: ${PROGRAM} exec ${name} -- sh`);
    const component = componentOf(flags, COMPONENTS);
    const pod = await readyPod(kubectl, name, component);
    const tty = terminal.isInteractive && terminal.isShown ? ['--tty'] : [];
    // The container of a part has its name.
    return onTerminal(['exec', pod, `--container=${component}`, '--stdin', ...tty, '--', ...rest]);
  },
};

/** Name of the newest ready pod. Throws Failure if there is none. */
async function readyPod(kubectl: Kubectl, name: string, component: string): Promise<string> {
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: component }).catch(async (error) => {
    // Whoever may not read the record is told of the namespace.
    if (isForbidden(error)) await readRecord(kubectl, name);
    throw error;
  });
  const [newest] = readyPods(pods);
  if (newest) return newest.metadata.name;
  // A deployment or a worker that is not there has no pods either.
  const record = await readRecord(kubectl, name);
  const none = isScaledToZero(record) ? zeroSentence(name, component) : undefined;
  const sentence = unknownPart(record, component, COMPONENTS) ?? none;
  if (sentence !== undefined) throw new Failure(sentence);
  const why = pods.length === 0 ? `${name} has no pod of ${component}.` : `No pod of ${component} of ${name} is ready.`;
  throw new Failure(`${why} See: ${PROGRAM} status ${name}`);
}
