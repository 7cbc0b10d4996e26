import { describe, expect, it } from 'vitest';
import type { CodeHostIntegration } from '../../kinds/code-host-integration.ts';
import { buildsAnew, codeHostProblem, repositoryOfUrl } from './code-host.ts';

const ID = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';

function integration(apiUrl: string, tenants = ['team'], kind: 'github' | 'gitea' = 'github'): CodeHostIntegration {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'git', namespace: 'davit-org', uid: ID },
    spec: { kind, apiUrl, credentialsRef: { name: 'git' }, tenants },
  };
}
const cloud = integration('https://api.github.com');

it.each([
  { name: 'github.com', has: cloud, repoUrl: 'https://github.com/team/shop', want: undefined },
  { name: 'another case', has: cloud, id: ID.toUpperCase(), repoUrl: 'https://GitHub.com/team/shop', want: undefined },
  {
    name: 'an Enterprise Server',
    has: integration('https://git.example/api/v3'),
    repoUrl: 'https://git.example/team/shop',
    want: undefined,
  },
  {
    name: 'a tenant of ghe.com',
    has: integration('https://api.acme.ghe.com/'),
    repoUrl: 'https://acme.ghe.com/team/shop',
    want: undefined,
  },
  {
    name: 'a Gitea whose host begins like that, on a port of its own',
    has: integration('https://api.example:3000/api/v1', ['team'], 'gitea'),
    repoUrl: 'https://api.example:3000/team/shop.git',
    want: undefined,
  },
  { name: 'an id of nothing', has: undefined, repoUrl: 'https://github.com/team/shop', want: { is: 'unknown' } },
  {
    name: "another tenant's",
    has: integration('https://api.github.com', ['other']),
    repoUrl: 'https://github.com/team/shop',
    want: { is: 'unknown' },
  },
  ...[
    'https://evil.example/team/shop',
    'https://github.com.evil.example/team/shop',
    'https://github.com:8443/team/shop',
    'https://github.com@evil.example/team/shop',
    'https://evil.example@github.com/team/shop',
    'https://github.com\\@evil.example/team/shop',
    'https://api.github.com/team/shop',
    'https://[::1/team/shop',
  ].map((repoUrl) => ({ name: repoUrl, has: cloud, repoUrl, want: { is: 'another host', host: 'github.com' } })),
])('$name', ({ has, repoUrl, want, ...more }) => {
  const integrationId = 'id' in more && typeof more.id === 'string' ? more.id : ID;
  const spec = { sourceConfig: { integrationId, repoUrl } };
  expect(codeHostProblem(spec, 'team', has ? [has] : [])).toEqual(want);
});

it('is no question of other sources', () => {
  expect(codeHostProblem({ sourceConfig: {} }, 'team', [])).toBeUndefined();
});

it.each([
  [{ repoRef: 'main' }, { repoRef: 'main' }, false],
  [{ repoRef: 'main' }, { repoRef: 'next' }, true],
  [{ workflowConfigPath: 'a' }, { workflowConfigPath: 'b' }, true],
])('%j to %j builds again: %s', (before, after, want) => {
  expect(buildsAnew(before, after)).toBe(want);
});

describe('the repository of a URL, as webhooks name it', () => {
  it.each([
    ['https://code.example/Team/Shop.git', 'team/shop'],
    ['https://code.example/team/shop/', 'team/shop'],
    ['https://example.com/gitea/team/shop', 'team/shop'],
    ['https://code.example/team', 'team'],
    ['no URL', ''],
  ])('%s: %s', (url, repository) => expect(repositoryOfUrl(url)).toBe(repository));
});
