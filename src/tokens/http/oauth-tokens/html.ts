// The pages of consent as HTML, without scripts. Pure. Every text is escaped: names come from callers and providers.

import { createHash } from 'node:crypto';
import { printable } from '../../../kinds/text.ts';
import type { OpenFlow } from '../../oauth/flow.ts';

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}h1{overflow-wrap:anywhere}dt{font-weight:600}dd{margin:0 0 .75rem;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1rem}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The query of the answer of a person who refuses. The form has no fields. */
export const REFUSE = 'refuse';

/** `forms`: where a form and the redirects of its answer may lead; `self`, or an origin. */
export function policyFor(forms: readonly string[]): string {
  const targets = forms.map((form) => (form === 'self' ? "'self'" : form));
  return [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "base-uri 'none'",
    `form-action ${targets.length > 0 ? targets.join(' ') : "'none'"}`,
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The consent page, with the agent, the person and the permissions. Its form is sent to its own address. `verifier`: the page that confirms the person. */
export function consentPage({ entry: { subject }, request, provider }: OpenFlow, verifier?: URL): string {
  const { agentId, requester, scopes } = request;
  const rows = [
    // Without an agent it is the person's default token, for all who have the right in the tenant. They share this page, and the account that
    // asked first says nothing about who sent the link.
    ...(agentId !== undefined && requester.deployment ? [['Deployment', requester.deployment.name]] : []),
    ['Agent', agentId ?? `Every agent in "${subject.tenant}"`],
    ...(agentId === undefined ? [] : [['Account', requester.username]]),
    ['Tenant', subject.tenant],
    ['For the person', subject.user],
    ['Permissions', scopes.length > 0 ? scopes.join(', ') : "The provider's default permissions"],
  ];
  const list = rows.map(([term = '', text = '']) => `<dt>${escaped(term)}</dt><dd>${escaped(text)}</dd>`).join('');
  const name = escaped(provider.spec.name);
  const confirmed = verifier
    ? `<p>Afterwards <strong>${escaped(verifier.host)}</strong> confirms that you are ${escaped(subject.user)}. Only then does the agent get access.</p>\n`
    : '';
  return document(
    `Access to ${provider.spec.name}`,
    `<p>An agent asks for access to your account at <strong>${name}</strong>, and may use it until you revoke it.</p>
<dl>${list}</dl>
<p>Continue only if you started this agent yourself. If somebody sent you this link, refuse: they would get access to your account.</p>
${confirmed}<form method="post"><button type="submit">Continue to ${name}</button>
<button type="submit" formaction="?${REFUSE}">Refuse</button></form>`,
  );
}

/** Leads the browser on. A redirect would be one of the consent page's form, whose policy allows the provider alone. */
export function confirmPage(verifier: URL): string {
  const href = escaped(verifier.href);
  const body = `<p>You allowed it at the provider. Now <a href="${href}">${escaped(verifier.host)}</a> confirms who you are.</p>`;
  return document('One more step', body, `<meta http-equiv="refresh" content="0;url=${href}">\n`);
}

/** What happened. */
export function endPage(title: string, text: string): string {
  return document(title, `<p>${escaped(text)}</p>`);
}

function document(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${head}<title>${escaped(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/** Agents and editors write the names. What cannot be seen, or turns the direction of a text, could make one name look like another. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

function escaped(text: string): string {
  return printable(text)
    .replaceAll(UNSEEN, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
