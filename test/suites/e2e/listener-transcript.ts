// The section of docs/listeners.md with a whole life, from what the tests have typed and seen. Pure.

export const HEADING = '## From two clusters to READY, and back';

export interface Typed {
  /** What is said before it; begins a new fence. */
  readonly prose?: string;
  readonly command: string;
  readonly output: string;
  /** Whether the output is another one each time. */
  readonly varies?: boolean;
}

const INTRODUCTION = `<!-- Written by test/suites/e2e/listener.test.ts, which types these commands. To record them again,
run that file with -u. -->

Davit runs on the hub with \`settings.listeners.enabled\`, and serves its API at \`$API\`. \`$TOKEN\` is a token of the
tenant \`team\`. \`$HUB\` is the address of the hub's API server as the other cluster reaches it. \`KUBECONFIG\` names
the kubeconfig of the hub, and the file \`edge\` is the kubeconfig of the other cluster.`;

export function transcript(typed: readonly Typed[]): string {
  const parts: string[] = [HEADING, '', INTRODUCTION];
  let isOpen = false;
  for (const { prose, command, output } of typed) {
    if (prose !== undefined || !isOpen) {
      if (isOpen) parts.push('```');
      parts.push('', ...(prose === undefined ? [] : [prose, '']), '```console');
      isOpen = true;
    }
    parts.push(`$ ${command}`);
    if (output.trim() !== '') parts.push(output.trimEnd());
  }
  parts.push('```', '');
  return parts.join('\n');
}

/** The ids, addresses and names of one run, as those of every run. */
export function timeless(text: string): string {
  const ids = new Map<string, string>();
  return text
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, (id) => {
      const known = ids.get(id) ?? `${String(ids.size + 1).repeat(8)}-0000-4000-8000-000000000000`;
      ids.set(id, known);
      return known;
    })
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, 'https://hub.example:6443')
    .replaceAll(/\b(shop)-[0-9a-z]{8,10}-[0-9a-z]{5}\b/g, '$1-6f9d8c7b5d-x2kqp');
}

/**
 * The document with the transcript that was seen, or as it is if it says the same: numbers, ages and what varies may differ.
 * `document` may have no such section yet.
 */
export function withTranscript(document: string, typed: readonly Typed[]): string {
  const begin = document.indexOf(`\n${HEADING}\n`);
  const [rest, written] =
    begin < 0 ? [`${document.trimEnd()}\n\n`, ''] : [document.slice(0, begin + 1), document.slice(begin + 1)];
  const seen = transcript(typed);
  const varying = typed.filter(({ varies }) => varies === true).map(({ command }) => command);
  return comparable(written, varying) === comparable(seen, varying) ? document : rest + seen;
}

/** Without numbers and what is printed by the commands in `varying`. */
function comparable(text: string, varying: readonly string[]): string {
  const lines: string[] = [];
  let isLeftOut = false;
  for (const line of text.trimEnd().split('\n')) {
    if (line.startsWith('```')) isLeftOut = false;
    if (line.startsWith('$ ')) isLeftOut = varying.some((command) => command.split('\n')[0] === line.slice(2));
    if (!isLeftOut || line.startsWith('$ ')) lines.push(line.replaceAll(/\d[\d.:TZms-]*/g, '#').replaceAll(/ +/g, ' '));
  }
  return lines.join('\n');
}
