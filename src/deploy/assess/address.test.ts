import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, ownLabels } from '../../../test/support/builders.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { type AddressSettings, Settings } from '../../kinds/settings.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type AddressOutcome, checkAddress, reportedAddress, requestedAddress, undecided } from './address.ts';
import type { ActionFailure, Observed } from './observed.ts';

const NOW = new Date('2026-02-02T02:02:02Z');
const HOST = 'shop.example.com';
const HELD: AddressOutcome = { is: 'held', host: HOST };
const INGRESS = Settings.parse({ address: { kind: 'ingress' } }).address;

function asking(host: string | undefined, status?: AppDeployment['status']): AppDeployment {
  return aRecord({ sourceConfig: host === undefined ? {} : { customUrl: host } }, status ? { status } : {});
}

function ingress(loadBalancer: object = {}, host = HOST): KubeObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'shop', namespace: 'team', uid: 'i', generation: 1, labels: ownLabels('server') },
    spec: { rules: [{ host }] },
    status: { loadBalancer },
  } as KubeObject;
}

function route(...conditions: readonly object[]): KubeObject {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'shop', namespace: 'team', uid: 'r', generation: 2, labels: ownLabels('server') },
    spec: { hostnames: [HOST] },
    ...(conditions.length > 0 && { status: { parents: [{ conditions }] } }),
  } as KubeObject;
}

function says(type: string, status: string, reason = 'Accepted', observedGeneration = 2): object {
  return { type, status, reason, message: 'in its words', observedGeneration };
}

function seen(...children: readonly KubeObject[]): Observed {
  return anObserved(asking(HOST), { children });
}

describe('what is asked for', () => {
  const none: AddressSettings = Settings.parse({}).address;
  it.each([
    { name: 'nothing', host: undefined, address: INGRESS, want: { is: 'unwanted' } },
    { name: 'an address where none are made', host: HOST, address: none, want: { is: 'unconfigured', host: HOST } },
    {
      name: 'a host that the tenant may not have',
      host: HOST,
      address: INGRESS,
      want: { is: 'not allowed', host: HOST, allowed: 'none' },
    },
    {
      name: 'one that it may have',
      host: HOST,
      address: INGRESS,
      hosts: '*.example.com',
      want: { is: 'allowed', host: HOST },
    },
  ])('$name', ({ host, address, hosts, want }) => {
    expect(requestedAddress({ ...anObserved(asking(host)), tenantHosts: hosts }, address)).toEqual(want);
  });

  it('of a record that is left alone: what is there stays', () => {
    const allowed = { ...seen(ingress()), tenantHosts: HOST };
    expect(undecided(allowed, requestedAddress(allowed, INGRESS))).toEqual(HELD);
    expect(undecided({ ...allowed, children: [] }, requestedAddress(allowed, INGRESS))).toEqual({
      is: 'undecided',
      host: HOST,
    });
  });
});

describe('the condition', () => {
  const refusal: ActionFailure = {
    reason: 'NameConflict',
    ref: { kind: 'Ingress', name: 'shop' },
    message: 'Ingress shop is there already.',
  };
  interface Row {
    readonly name: string;
    readonly outcome?: AddressOutcome;
    readonly observed?: Observed;
    readonly refusals?: readonly ActionFailure[];
    readonly want: string;
  }
  const rows: readonly Row[] = [
    { name: 'nothing asked for', outcome: { is: 'unwanted' }, want: 'pass NotNeeded' },
    { name: 'none are made here', outcome: { is: 'unconfigured', host: HOST }, want: 'fail NoAddressConfigured' },
    {
      name: 'not allowed',
      outcome: { is: 'not allowed', host: HOST, allowed: 'none' },
      want: 'stalled HostNotAllowed',
    },
    { name: 'taken', outcome: { is: 'taken', host: HOST }, want: 'stalled HostTaken' },
    { name: 'left alone', outcome: { is: 'undecided', host: HOST }, want: 'unknown NotObserved' },
    { name: 'not made yet', want: 'unknown NotObserved' },
    { name: 'a foreign one in the way', refusals: [refusal], want: 'stalled NameConflict' },
    {
      name: 'another child refused',
      refusals: [{ ...refusal, ref: { kind: 'Service', name: 'shop' } }],
      observed: seen(ingress()),
      want: 'unknown AddressPending',
    },
    {
      name: 'no Gateway API',
      observed: { ...seen(), addressKindMissing: true },
      want: 'stalled GatewayApiMissing',
    },
    { name: 'Ingress, no status', observed: seen(ingress()), want: 'unknown AddressPending' },
    { name: 'Ingress, served', observed: seen(ingress({ ingress: [{ ip: '192.0.2.1' }] })), want: 'pass Routed' },
    { name: 'route, no status', observed: seen(route()), want: 'unknown AddressPending' },
    { name: 'route, accepted alone', observed: seen(route(says('Accepted', 'True'))), want: 'unknown AddressPending' },
    {
      name: 'route, taken up',
      observed: seen(route(says('Accepted', 'True'), says('ResolvedRefs', 'True'))),
      want: 'pass Routed',
    },
    {
      name: 'route, of an older generation',
      observed: seen(route(says('Accepted', 'True', 'Accepted', 1), says('ResolvedRefs', 'True', 'ResolvedRefs', 1))),
      want: 'unknown AddressPending',
    },
    {
      name: 'route, refused',
      observed: seen(route(says('Accepted', 'False', 'NoMatchingListenerHostname'), says('ResolvedRefs', 'True'))),
      want: 'stalled GatewayRefused',
    },
    {
      name: 'route, backend not allowed',
      observed: seen(route(says('Accepted', 'True'), says('ResolvedRefs', 'False', 'RefNotPermitted'))),
      want: 'stalled GatewayRefused',
    },
  ];
  it.each(rows)('$name: $want', ({ outcome = HELD, observed = seen(), refusals = [], want }) => {
    const { is, reason } = checkAddress(observed, outcome, refusals);
    expect(`${is} ${reason}`).toBe(want);
  });

  it('says that everybody is let in, or which sidecar asks for a key', () => {
    const served = seen(ingress({ ingress: [{ ip: '192.0.2.1' }] }));
    expect(checkAddress(served, HELD, []).message).toBe(
      `${HOST} is routed to the main service. Everybody who reaches its address has access.`,
    );
    const { record } = served;
    const locked = { ...record, spec: { ...record.spec, sourceConfig: { access: { lock: 'door' } } } };
    expect(checkAddress({ ...served, record: locked }, HELD, []).message).toBe(
      `${HOST} is routed to the main service. By access.lock, sidecar door requires a key; Davit does not check it.`,
    );
  });

  it("quotes the Gateway's words, and names another deployment only of the same tenant", () => {
    const refused = seen(route(says('Accepted', 'False', 'NotAllowedByListeners')));
    expect(checkAddress(refused, HELD, []).message).toContain('NotAllowedByListeners: in its words');
    expect(checkAddress(seen(), { is: 'taken', host: HOST }, []).message).toContain('a deployment of another tenant');
    expect(checkAddress(seen(), { is: 'taken', host: HOST, by: 'front' }, []).message).toContain('deployment front');
  });
});

describe('what the status says', () => {
  const claim = { host: HOST, since: '2026-01-01T00:00:00Z' };
  it.each([
    {
      name: 'held and made',
      observed: seen(ingress()),
      outcome: HELD,
      want: { url: `https://${HOST}`, hostClaim: { host: HOST, since: '2026-02-02T02:02:02Z' } },
    },
    {
      name: 'held, not made',
      observed: seen(),
      outcome: HELD,
      want: { hostClaim: { host: HOST, since: '2026-02-02T02:02:02Z' } },
    },
    {
      name: 'held, still made with another host',
      observed: seen(ingress({}, 'old.example.com')),
      outcome: HELD,
      want: { hostClaim: { host: HOST, since: '2026-02-02T02:02:02Z' } },
    },
    {
      name: 'since the first report',
      observed: anObserved(asking(HOST, { hostClaim: claim })),
      outcome: { is: 'taken', host: HOST } as const,
      want: { hostClaim: claim },
    },
    {
      name: 'not allowed: no place in the line',
      observed: anObserved(asking(HOST, { hostClaim: claim })),
      outcome: { is: 'not allowed', host: HOST, allowed: 'none' } as const,
      want: {},
    },
  ])('$name', ({ observed, outcome, want }) => {
    expect(reportedAddress(observed, outcome, NOW)).toEqual(want);
  });
});
