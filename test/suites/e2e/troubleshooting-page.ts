// The page of docs about broken deployments, from what the tests have seen. Pure.

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
  /** Whether the page says that it needs attention. */
  readonly isBad: boolean;
  /** What the page says to do beside the message. */
  readonly todo: string | undefined;
  readonly line: object;
  readonly series: string;
  /** The commands that mended it. */
  readonly mended: readonly string[];
}

const INTRODUCTION = `<!-- Written by test/suites/e2e/troubleshooting.test.ts, which breaks and mends every one of these deployments. To change it,
change the test and run it with -u. -->

# Troubleshooting a deployment

What is to be seen of a deployment that is broken, and what mends it. Each failure is named by its reason, which is the same everywhere:

- \`curl -s "$API/v2/deployments/$ID" -H "X-Api-Key: $TOKEN"\` has \`status\`, \`status_message\` and \`conditions\`, of which an excerpt is shown here. The latest revision, under
  \`$API/v2/deployments/$ID/revisions\`, has the same message. \`kubectl get appd -o wide\` shows it as well.
- The page at \`/\` shows reason and message at the top of the deployment, with what to do.
- The controller logs one line for each change of status or reason. \`message\`, which is left out here, is that of the condition.
- The metrics count deployments by reason, without their names. The alerts are those that are raised if nobody acts for two hours.

A status READY beside a failure means that the revision before goes on serving.
[Operating Davit](operations.md#conditions-and-reasons) lists all reasons, and [what to do about an alert](operations.md#alerts).

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="page/broken-dark.png">
  <img alt="The page of a deployment whose container crashes: reason, message, parts, revisions and log" src="page/broken.png">
</picture>
`;

export function troubleshootingPage(groups: readonly Group[], seen: ReadonlyMap<string, Seen>): string {
  const all = groups.flatMap(({ failures }) => failures);
  const contents = all.map(({ reason, title }) => `| ${reason} | [${title}](#${anchorOf(title)}) |`);
  const sections = all.map(({ title, what, reason, alerts }) => {
    const one = seen.get(title);
    if (one === undefined) throw new Error(`${title}: it was not seen, or not mended`);
    const excerpt = {
      status: one.status,
      status_message: one.message,
      conditions: [
        { type: 'Ready', status: 'False', reason },
        { type: 'Stalled', status: one.stalled, ...(one.stalled === 'True' && { reason }) },
      ],
    };
    const rows = [
      ['Latest revision', `\`${one.revision}\``],
      [
        'Page',
        `${one.status}, ${one.isBad ? 'needs attention' : 'in progress'}; reason and message${one.todo === undefined ? '' : `; "What to do: ${one.todo}"`}`,
      ],
      ['Log', `\`${JSON.stringify(one.line)}\``],
      ['Metric', `\`${one.series}\``],
      [
        'Alerts',
        alerts.length === 0
          ? 'none with this reason'
          : alerts.map((alert) => `[${alert}](operations.md#${alert.toLowerCase()})`).join(', '),
      ],
    ];
    return [
      `## ${title}`,
      '',
      what,
      '',
      '```json',
      jsonOf(excerpt),
      '```',
      '',
      '| Where | What |',
      '|---|---|',
      ...rows.map(([where, text]) => `| ${where} | ${text} |`),
      '',
      'Mended by:',
      '',
      '```sh',
      ...one.mended,
      '```',
      '',
    ].join('\n');
  });
  return [INTRODUCTION, '| Reason | |', '|---|---|', ...contents, '', sections.join('\n')].join('\n');
}

/** Two levels with a line each, deeper ones within it. */
function jsonOf({ conditions, ...rest }: { readonly conditions: readonly object[] }): string {
  const fields = Object.entries(rest).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  const lines = conditions.map((one) => `    ${JSON.stringify(one)}`).join(',\n');
  return ['{', ...fields, '  "conditions": [', lines, '  ]', '}'].join('\n');
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
