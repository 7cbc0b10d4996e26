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

it('an address is whole or refused', () => {
  expect(findings({ address: { kind: 'gateway' } })).toEqual([
    'address.gateway: kind gateway needs the name and namespace of a Gateway',
  ]);
  expect(findings({ address: { kind: 'ingress', tls: 'secret' } })).toEqual([
    'address.tlsSecretName: tls secret needs the name of the Secret',
  ]);
  expect(findings({ address: { kind: 'gateway', gateway: { name: 'a', namespace: 'b' } } })).toEqual([]);
});
