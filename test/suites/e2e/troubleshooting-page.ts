// The page of docs about broken deployments, from what the tests have seen. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { Group } from './broken-deployments.ts';

/** One failure as it was seen, without what is of one run alone. */
export interface Seen {
  /** Of the deployment, in the HTTP API. */
  readonly status: string;
  readonly message: string;
  /** Status of the condition Stalled. */
  readonly stalled: string;
  /** Status of the latest revision. */
  readonly revision: string;
  /** How the page says that the deployment is. */
  readonly word: string;
  /** What the page says to do beside the message. */
  readonly todo: string | undefined;
  /** Type and reason. */
  readonly event: string;
  readonly line: object;
  readonly series: string;
  /** The commands that mended it. */
  readonly mended: readonly string[];
}

/** What the commands of the page need. The introduction of the page shows these commands. */
export const CALL = `call() { curl -sS --fail-with-body -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' "$@"; }`;

export const NEXT = {
  ask: 'call "$API/v2/deployments/$ID"',
  wait: 'call "$API/v2/deployments/$ID?wait=DEPLOYED&timeout=300"',
};

const REASONS = '\n## Reasons\n';

/**
 * `page` with the sections about `groups` in place of all that follows its introduction. Throws an Error if the introduction lacks a
 * command that the tests type, if a failure was not seen, or if its event, log or metric has another form than the introduction shows.
 */
export function troubleshootingPage(page: string, groups: readonly Group[], seen: ReadonlyMap<string, Seen>): string {
  const introduction = page.slice(0, page.indexOf(REASONS));
  for (const command of [CALL, NEXT.ask, NEXT.wait])
    if (!introduction.includes(command)) throw new Error(`docs/troubleshooting.md does not introduce ${command}`);
  const all = groups.flatMap(({ failures }) => failures);
  const contents = all.map(({ reason, title }) => `| ${reason} | [${title}](#${anchorOf(title)}) |`);
  const sections = all.map(({ title, what, reason, alerts, look, note }) => {
    const one = seen.get(title);
    if (one === undefined) throw new Error(`${title}: it was not seen, or not repaired`);
    const { event, line, series } = one;
    if (!isDeepStrictEqual({ event, line, series }, introduced(one, reason)))
      throw new Error(
        `${title}: event, log or metric are not as the introduction says: ${JSON.stringify({ event, line, series })}`,
      );
    const advice = one.todo === undefined ? '' : `, "What to do: ${one.todo}"`;
    const links = alerts.map((alert) => `[${alert}](monitoring.md#${alert.toLowerCase()})`);
    const rows = [
      ['Reason', one.stalled === 'True' ? `${reason}, Stalled` : reason],
      ['Latest revision', `\`${one.revision}\``],
      ['Page', `${one.status}, ${one.word}${advice}`],
      ['Alerts', links.length === 0 ? 'none with this reason' : links.join(', ')],
    ];
    return [
      `## ${title}`,
      '',
      what,
      '',
      '```json',
      JSON.stringify({ status: one.status, status_message: one.message }, null, 2),
      '```',
      '',
      '| Where | What |',
      '|---|---|',
      ...rows.map(([where, text]) => `| ${where} | ${text} |`),
      '',
      ...(look ? ['The revision keeps the last words:', '', '```sh', `call ${look.command}`, '```', ''] : []),
      `Repaired by:${note === undefined ? '' : ` ${note}`}`,
      '',
      '```sh',
      ...one.mended,
      '```',
      '',
    ].join('\n');
  });
  return [introduction + REASONS, '| Reason | Example |', '|---|---|', ...contents, '', sections.join('\n')].join('\n');
}

/** Event, line of the log and series of each failure: the introduction shows their form. */
function introduced({ status, stalled }: Seen, reason: string): Pick<Seen, 'event' | 'line' | 'series'> {
  return {
    event: `Warning ${reason}`,
    line: {
      level: 'info',
      kind: 'AppDeployment',
      namespace: 'team',
      name: 'shop',
      status: 'False',
      reason,
      msg: 'Condition Ready changed',
    },
    series: `davit_deployments{state="${status}",ready="False",stalled="${stalled}",reason="${reason}"}`,
  };
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
