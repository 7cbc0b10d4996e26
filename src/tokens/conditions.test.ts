import { expect, it } from 'vitest';
import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { SENT_TO_ANNOTATION } from '../kinds/meta.ts';
import { clientSecretFor, type OAuthProvider } from '../kinds/oauth-provider.ts';
import { Settings } from '../kinds/settings.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { organizationVerdict } from './conditions.ts';

const { codeHosts, oauth } = Settings.parse({
  codeHosts: [{ host: 'Git.example:8443' }, { host: 'api.github.com' }],
  oauth: { hosts: [{ host: 'A.example' }, { host: 'evil.example' }] },
});
const seen = {
  codeHosts,
  oauth,
  secret(name: string): KubeObject | undefined {
    if (name === 'there' || name.includes('--client-')) return { apiVersion: 'v1', kind: 'Secret', metadata: { name } };
    if (name !== 'given') return undefined;
    const annotations = { [SENT_TO_ANNOTATION]: clientSecretFor(provider({}).spec) };
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name, annotations } };
  },
};

function provider(spec: Partial<OAuthProvider['spec']>): OAuthProvider {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: 'tracker' },
    spec: {
      name: 'Tracker',
      clientId: 'a',
      authUrl: 'https://a.example',
      tokenUrl: 'https://a.example',
      usesPkce: false,
      tokenEndpointAuthMethod: 'client_secret_post',
      isDynamicClient: false,
      ...spec,
    },
  };
}

function integration(apiUrl: string, name: string): CodeHostIntegration {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'code' },
    spec: { kind: 'gitea', apiUrl, credentialsRef: { name }, tenants: [] },
  };
}

it.each([
  {
    name: 'a provider with its secret',
    given: provider({ clientSecretRef: { name: 'there', key: 'k' } }),
    want: 'True SecretFound',
  },
  {
    name: 'a provider whose secret is away',
    given: provider({ clientSecretRef: { name: 'gone', key: 'k' } }),
    want: 'False SecretMissing',
  },
  {
    name: 'a provider with a secret that was given for its addresses',
    given: provider({ clientSecretRef: { name: 'given', key: 'k' } }),
    want: 'True SecretFound',
  },
  ...(['authUrl', 'tokenUrl', 'issuer', 'revocationUrl'] as const).map((field) => ({
    name: `a provider with a secret that was given for another ${field}`,
    given: provider({ clientSecretRef: { name: 'given', key: 'k' }, [field]: 'https://evil.example' }),
    want: 'False SecretForOtherAddress',
  })),
  {
    name: 'a provider whose secret has a name that editors may use, and says not what it was given for',
    given: provider({ clientSecretRef: { name: 'tracker--client-manual', key: 'k' } }),
    want: 'False SecretForOtherAddress',
  },
  { name: 'a provider that needs a secret and has none', given: provider({}), want: 'False SecretNotGiven' },
  {
    name: 'a provider whose id belongs to another name',
    given: provider({ providerId: 'google_workspace', tokenEndpointAuthMethod: 'none' }),
    want: 'False NameOfAnotherId',
  },
  ...(['tokenUrl', 'revocationUrl'] as const).map((field) => ({
    name: `a provider whose ${field} is at a host that is not on the list`,
    given: provider({ tokenEndpointAuthMethod: 'none', [field]: 'https://a.example:8443/x' }),
    want: 'False HostNotAllowed',
  })),
  { name: 'a public client', given: provider({ tokenEndpointAuthMethod: 'none' }), want: 'True NoSecretNeeded' },
  { name: 'an integration', given: integration('https://api.github.com:443', 'there'), want: 'True SecretFound' },
  {
    name: 'a host with a port',
    given: integration('https://git.example:8443/api/v1', 'there'),
    want: 'True SecretFound',
  },
  { name: 'another port', given: integration('https://git.example/api/v1', 'there'), want: 'False HostNotAllowed' },
  {
    name: 'a host that is not on the list',
    given: integration('https://evil.example', 'there'),
    want: 'False HostNotAllowed',
  },
  {
    name: 'credentials that are away',
    given: integration('https://api.github.com', 'gone'),
    want: 'False SecretMissing',
  },
])('says whether it can be used: $name', ({ given, want }) => {
  const { type, status, reason, message } = organizationVerdict(given, seen);
  expect([type, `${status} ${reason}`]).toEqual(['Ready', want]);
  expect(message).toMatch(/\.$/);
});

it('asks for no host where the platform gives no tokens', () => {
  const given = provider({ tokenEndpointAuthMethod: 'none', tokenUrl: 'https://elsewhere.example' });
  expect(organizationVerdict(given, { ...seen, oauth: { hosts: [] } }).status).toBe('True');
});
