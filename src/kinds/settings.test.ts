import { describe, expect, it } from 'vitest';
import { Settings } from './settings.ts';

function findings(settings: object): string[] {
  return (Settings.safeParse(settings).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('http.trustedProxies', () => {
  it.each(['10.0.0.7', '10.0.0.0/8', '::1', '2001:db8::/32'])('takes %s', (proxy) => {
    expect(findings({ http: { trustedProxies: [proxy] } })).toEqual([]);
  });

  it.each(['proxy.example', '10.0.0.*', '10.0.0.300', '10.0.0.0/33', ''])('says in words what %j is not', (proxy) => {
    expect(findings({ http: { trustedProxies: [proxy] } })).toEqual([
      'http.trustedProxies.0: must be an IP address such as 10.0.0.7 or a range such as 10.0.0.0/8, not a host name or a wildcard',
    ]);
  });
});

describe('http.oidc', () => {
  const publicUrl = 'https://davit.example.com';
  const oidc = { issuer: 'https://id.example.com', clientId: 'davit' };

  it.each(['https://id.example.com', 'https://id.example.com:8443/realms/a', 'https://id.example.com/'])(
    'takes the issuer %s as it is, with scopes for names and groups',
    (issuer) => {
      expect(Settings.parse({ http: { publicUrl, oidc: { ...oidc, issuer } } }).http.oidc).toEqual({
        issuer,
        clientId: 'davit',
        scopes: ['openid', 'profile', 'email'],
        origins: [],
      });
    },
  );

  it.each([
    [{ issuer: 'http://id.example.com' }, 'issuer: must be the https URL of the issuer'],
    [{ issuer: 'id.example.com' }, 'issuer: must be the https URL of the issuer'],
    [{ issuer: 'https://id.example.com?realm=a' }, 'issuer: must be the https URL of the issuer'],
    [{ issuer: 'https://id.example.com; script-src *' }, 'issuer: must be the https URL of the issuer'],
    [{ clientId: '' }, 'clientId: '],
    [{ clientId: 'two words' }, 'clientId: '],
    [{ scopes: ['email'] }, 'scopes: must contain openid, without which an issuer issues no ID token'],
    [{ scopes: ['openid', 'a b'] }, 'scopes.1: '],
    [{ origins: ['https://tokens.example.com/path'] }, 'origins.0: must be https://HOST or https://HOST:PORT'],
    [{ origins: ['*'] }, 'origins.0: must be https://HOST or https://HOST:PORT'],
    [{ clientSecret: 'canary' }, ': Unrecognized key: "clientSecret"'],
  ])('says in words what is wrong with %j', (wrong, says) => {
    const found = findings({ http: { publicUrl, oidc: { ...oidc, ...wrong } } });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`http.oidc${says.startsWith(':') ? '' : '.'}${says}`);
  });

  it('needs the address to which the issuer leads back', () => {
    expect(findings({ http: { oidc } })).toEqual([
      'http.oidc: needs publicUrl: the issuer leads browsers back to PUBLICURL/',
    ]);
  });
});

it('an address is whole or refused', () => {
  expect(findings({ address: { kind: 'gateway' } })).toEqual([
    'address.gateway: kind gateway needs the name and namespace of a Gateway',
  ]);
  expect(findings({ address: { kind: 'ingress', tls: 'secret' } })).toEqual([
    'address.tlsSecretName: tls secret needs the name of the Secret',
  ]);
  expect(findings({ address: { kind: 'gateway', gateway: { name: 'a', namespace: 'b' } } })).toEqual([]);
});
