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

/** What the commands of the page need. */
export const CALL = `call() { curl -sS --fail-with-body -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' "$@"; }`;

export const NEXT = {
  ask: 'call "$API/v2/deployments/$ID"',
  wait: 'call "$API/v2/deployments/$ID?wait=DEPLOYED&timeout=300"',
};

const INTRODUCTION = `<!-- Written by test/suites/e2e/troubleshooting.test.ts, which breaks and repairs every one of these deployments on real pods. To change the page,
change the test and run it with -u. -->

# Troubleshooting a deployment

This page shows broken deployments as people see them, and the commands that repaired each. The examples are the deployment \`shop\` in the namespace \`team\`. Set \`API\` to the address of
Davit, \`TOKEN\` to a Kubernetes token for the namespace, and \`ID\` to the deployment's id, which \`$API/v2/deployments?name=shop\` shows. Then:

\`\`\`sh
${CALL}
\`\`\`

1. **Ask what is wrong.** \`status_message\` says it, and what to do. The condition Ready has the reason. The page at \`$API/\` shows the same at the top of the deployment, and
   \`kubectl get appd shop -n team -o wide\` as well.

   \`\`\`sh
   ${NEXT.ask}
   \`\`\`

2. **Look the reason up** in the table below. [The reference](reference.md#conditions-and-reasons) lists all reasons.
3. **Do what the message says.** Most failures need no restart afterwards: Davit continues automatically.
4. **Wait until the latest revision is deployed.** After each repair on this page the status was READY, the condition Ready was True with reason Serving, and the page said "in order".

   \`\`\`sh
   ${NEXT.wait}
   \`\`\`

READY beside a failure means that the earlier revision still serves: users notice nothing yet. If Stalled is True, waiting does not help. A rollout is Stalled after
\`settings.pods.progressDeadlineSeconds\`, which is 20 s in these examples and 600 s by default.

Each section has an excerpt of the API's answer, and a table of what else shows the failure at the same time:

| Where | What |
|---|---|
| Latest revision | its status in \`$API/v2/deployments/$ID/revisions\`; it has the same message |
| Page | status, summary, and the advice beside the message |
| Event | type and reason of the event on the AppDeployment (\`kubectl describe appd shop -n team\`) |
| Log | the controller's line, without its time and its \`message\`, which is that of the condition |
| Metric | the series in which the deployment is counted; metrics name no deployment |
| Alerts | those that fire if nobody acts for two hours ([what to do about an alert](monitoring.md#alerts)) |

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="page/broken-dark.png">
  <img alt="The page of a deployment whose container crashes: reason, message, parts, revisions and log" src="page/broken.png">
</picture>

## Reasons
`;

export function troubleshootingPage(groups: readonly Group[], seen: ReadonlyMap<string, Seen>): string {
  const all = groups.flatMap(({ failures }) => failures);
  const contents = all.map(({ reason, title }) => `| ${reason} | [${title}](#${anchorOf(title)}) |`);
  const sections = all.map(({ title, what, reason, alerts, look, note }) => {
    const one = seen.get(title);
    if (one === undefined) throw new Error(`${title}: it was not seen, or not repaired`);
    const excerpt = {
      status: one.status,
      status_message: one.message,
      conditions: [
        { type: 'Ready', status: 'False', reason },
        { type: 'Stalled', status: one.stalled, ...(one.stalled === 'True' && { reason }) },
      ],
    };
    const advice = one.todo === undefined ? '' : `, "What to do: ${one.todo}"`;
    const links = alerts.map((alert) => `[${alert}](monitoring.md#${alert.toLowerCase()})`);
    const rows = [
      ['Latest revision', `\`${one.revision}\``],
      ['Page', `${one.status}, ${one.word}${advice}`],
      ['Event', `\`${one.event}\``],
      ['Log', `\`${JSON.stringify(one.line)}\``],
      ['Metric', `\`${one.series}\``],
      ['Alerts', links.length === 0 ? 'none with this reason' : links.join(', ')],
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
      ...(look ? ['The revision keeps the last words:', '', '```sh', `call ${look.command}`, '```', ''] : []),
      `Repaired by:${note === undefined ? '' : ` ${note}`}`,
      '',
      '```sh',
      ...one.mended,
      '```',
      '',
    ].join('\n');
  });
  return [INTRODUCTION, '| Reason | Example |', '|---|---|', ...contents, '', sections.join('\n')].join('\n');
}

/** A line for each field and each condition. */
function jsonOf({ conditions, ...rest }: { readonly conditions: readonly object[] }): string {
  const fields = Object.entries(rest).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  const lines = conditions.map((one) => `    ${spaced(one)}`).join(',\n');
  return ['{', ...fields, '  "conditions": [', lines, '  ]', '}'].join('\n');
}

function spaced(object: object): string {
  const fields = Object.entries(object).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{ ${fields.join(', ')} }`;
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
