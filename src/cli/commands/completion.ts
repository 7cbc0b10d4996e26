// Completion in shells. The scripts ask the program itself, which answers from the definitions of commands.

import type { DeploymentList } from '../../deploy/http/payloads.ts';
import { CLUSTER_FLAGS, type Command, type Context, type FlagDefinition, HELP, Misuse } from '../line/command.ts';
import { Failure } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { PAGE } from './build-log.ts';

/** Not in the help: the shells' scripts call it. */
const COMPLETE = '__complete';

/** Values of the protocol between kubectl and the completion of its plugins. */
const DIRECTIVES = { files: 0, noFiles: 4 } as const;

/** As kubectl names it, for a plugin kubectl-davit. */
const FILE = 'kubectl_complete-davit';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Completion of davit in bash: source <(davit completion bash)
_davit() {
  local lines directive word="\${COMP_WORDS[COMP_CWORD]}"
  mapfile -t lines < <("\${COMP_WORDS[0]}" ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ "\${#lines[@]}" -gt 0 ] || return
  directive="\${lines[-1]#:}"
  unset 'lines[-1]'
  # bash takes the sign between a flag and its value for a word.
  [ "$word" = "=" ] && word=""
  mapfile -t COMPREPLY < <(compgen -W "\${lines[*]}" -- "$word")
  if [ "$directive" = ${DIRECTIVES.files} ]; then compopt -o default; COMPREPLY=(); fi
}
complete -F _davit davit kubectl-davit`,
  zsh: `#compdef davit kubectl-davit
# Completion of davit in zsh: source <(davit completion zsh)
_davit() {
  local -a lines
  lines=("\${(@f)$("\${words[1]}" ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${lines[-1]}" == ":${DIRECTIVES.files}" ]]; then _files; else compadd -- "\${(@)lines[1,-2]}"; fi
}
compdef _davit davit kubectl-davit`,
  kubectl: `#!/bin/sh
# Completion of kubectl davit. kubectl asks a file ${FILE} on the PATH, which must be executable.
exec kubectl-davit ${COMPLETE} -- "$@"`,
};

export const completionCommand: Command = {
  name: 'completion',
  purpose: 'print the completion script of a shell',
  words: [{ word: 'SHELL', names: 'other', choices: Object.keys(SCRIPTS) }],
  noJson: 'it prints a script for a shell',
  flags: [],
  about: `  source <(davit completion bash)

For kubectl davit, kubectl's own completion runs a file next to the plugin:

  PROGRAM completion kubectl > ${FILE} && chmod +x ${FILE}
  source <(kubectl completion bash)`,
  async run({ words: [shell = ''], say }) {
    say(SCRIPTS[shell] ?? '');
    return 0;
  },
};

/** Prints the candidates for the last of the words, and a directive, as kubectl expects of a plugin. */
export function completeCommand(commands: () => readonly Command[]): Command {
  return {
    name: COMPLETE,
    isHidden: true,
    purpose: 'print the candidates for the last word',
    words: [],
    rest: 'WORDS',
    flags: [],
    async run(context) {
      const { candidates, files } = await complete(
        commands().filter(({ isHidden }) => !isHidden),
        context.rest,
        (cluster) => deploymentNames(context, cluster),
      );
      for (const candidate of candidates) context.say(candidate);
      context.say(`:${files ? DIRECTIVES.files : DIRECTIVES.noFiles}`);
      return 0;
    },
  };
}

/** Over the HTTP API if the environment names its address. Empty if they cannot be read: a completion prints no message. */
async function deploymentNames({ kubectl, api, server }: Context, cluster: readonly string[]): Promise<string[]> {
  const [, namespace] = cluster.find((flag) => flag.startsWith('--namespace='))?.split('=') ?? [];
  try {
    if (server !== undefined) {
      const { resources } = await (await api(namespace)).call<DeploymentList>('GET', `/v2/deployments?limit=${PAGE}`);
      return resources.map(({ name }) => name);
    }
    const names = await kubectl([
      'get',
      RECORDS,
      ...cluster,
      '--request-timeout=3s',
      '-o',
      'jsonpath={.items[*].metadata.name}',
    ]);
    return names.split(' ').filter((name) => name !== '');
  } catch (error) {
    if (error instanceof Failure || error instanceof Misuse) return [];
    throw error;
  }
}

export interface Completion {
  readonly candidates: readonly string[];
  /** The shell completes a path. */
  readonly files?: boolean;
}

/** `typed`: the words after the program, of which the last is completed. `names`: called with the flags that select the cluster. */
export async function complete(
  commands: readonly Command[],
  typed: readonly string[],
  names: (cluster: readonly string[]) => Promise<readonly string[]>,
): Promise<Completion> {
  const { command, words, cluster, open, isRest } = read(commands, typed.slice(0, -1));
  const given = typed.at(-1) ?? '';
  // bash takes --output=json for three words.
  const last = open && given === '=' ? '' : given;
  const starting = (all: readonly string[]): Completion => ({ candidates: all.filter((one) => one.startsWith(last)) });
  if (isRest) return { candidates: [], files: true };
  if (open) return open.isFile ? { candidates: [], files: true } : starting(open.choices ?? open.suggested ?? []);
  const [, flag = ''] = /^(--[a-z-]+)=/.exec(last) ?? [];
  const joined = valueFlag(command, flag);
  if (joined?.isFile) return { candidates: [], files: true };
  if (joined) return starting((joined.choices ?? joined.suggested ?? []).map((choice) => `${flag}=${choice}`));
  if (last.startsWith('-')) return starting(flagsOf(command).map(({ name }) => `--${name}`));
  if (command === undefined) return starting([...commands.map(({ name }) => name), 'help']);
  const word = command.words[words];
  if (word?.names === 'folder') return { candidates: [], files: true };
  return starting(word?.names === 'deployment' ? await names(cluster) : (word?.choices ?? []));
}

interface Read {
  readonly command: Command | undefined;
  /** Number of words after the command. */
  readonly words: number;
  readonly cluster: readonly string[];
  /** The flag whose value follows. */
  readonly open: FlagDefinition | undefined;
  /** What follows is for another program. */
  readonly isRest: boolean;
}

function read(commands: readonly Command[], typed: readonly string[]): Read {
  const found: { command?: Command; words: number; open?: FlagDefinition | undefined; isRest: boolean } = {
    words: 0,
    isRest: false,
  };
  const cluster: string[] = [];
  for (const word of typed) {
    const { open } = found;
    // bash takes --namespace=team for three words.
    if (found.isRest || (open && word === '=')) continue;
    if (open) {
      if (CLUSTER_FLAGS.includes(open)) cluster.push(`--${open.name}=${word}`);
      found.open = undefined;
    } else if (word === '--') {
      found.isRest = true;
    } else if (word.startsWith('-')) {
      found.open = valueFlag(found.command, word);
      if (CLUSTER_FLAGS.some(({ name }) => word.startsWith(`--${name}=`))) cluster.push(word);
    } else if (found.command) {
      found.words += 1;
    } else {
      const command = commands.find(({ name }) => name === word);
      if (command) found.command = command;
    }
  }
  return { command: found.command, words: found.words, cluster, open: found.open, isRest: found.isRest };
}

/** The flag that takes the next word as its value. */
function valueFlag(command: Command | undefined, word: string): FlagDefinition | undefined {
  return flagsOf(command).find(
    ({ name, short, value }) =>
      value !== undefined && (word === `--${name}` || (short !== undefined && word === `-${short}`)),
  );
}

function flagsOf(command: Command | undefined): readonly FlagDefinition[] {
  return [...(command?.flags ?? []), ...CLUSTER_FLAGS, HELP];
}
