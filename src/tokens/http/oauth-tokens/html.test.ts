import { expect, it } from 'vitest';
import type { OpenFlow } from '../../oauth/flow.ts';
import { consentPage } from './html.ts';

const RIGHT_TO_LEFT = '\u202E';
const UNSEEN = ['\u200B', '\u2060', '\u2066', '\u00AD', '\uFEFF', '\u{E0041}', RIGHT_TO_LEFT];

function page(agentId: string | undefined, user: string, name: string): string {
  const requester = { username: 'system:serviceaccount:team:agents' };
  return consentPage({
    entry: { subject: { tenant: 'team', user, provider: 'tracker' } },
    request: { agentId, requester, scopes: [] },
    provider: { spec: { name, authUrl: 'https://tracker.example' } },
  } as unknown as OpenFlow);
}

it('a name shows every character that it has, so that none looks like another', () => {
  for (const unseen of UNSEEN) {
    const text = page(`tri${unseen}age`, `ada${unseen}`, `Tracker${unseen}`);
    expect(text).toContain('tri\uFFFDage');
    expect(text).toContain('ada\uFFFD');
    expect(text).toContain('Tracker\uFFFD');
    expect(text).not.toContain(unseen);
  }
});

it('an account is named where the access is for its agent alone', () => {
  expect(page('triage', 'ada', 'Tracker')).toContain('system:serviceaccount:team:agents');
  const shared = page(undefined, 'ada', 'Tracker');
  expect(shared).toContain('<dt>Agent</dt><dd>Every agent in &#34;team&#34;</dd>');
  expect(shared).not.toContain('system:serviceaccount');
});

it('a name cannot become a part of the page', () => {
  const text = page('<b>a</b>', `"'&`, '<script>');
  expect(text).toContain('&#60;b&#62;a&#60;/b&#62;');
  expect(text).toContain('&#34;&#39;&#38;');
  expect(text).not.toContain('<script>');
});
