import { expect, it } from 'vitest';
import { aRecord, SETTINGS, TENANT } from '../../../test/support/builders.ts';
import { Settings } from '../../kinds/settings.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';

interface Probe {
  readonly tcpSocket?: { readonly port: string };
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly exec?: object;
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}
interface Probed {
  readonly name: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}
interface Workload {
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly Probed[] } } };
}

function containers(settings: Settings): readonly Probed[] {
  const resourceSpec = { queueCpu: 1, orchestratorCpu: 1, executorCpu: 1 };
  const record = aRecord({ sourceConfig: { resourceSpec } });
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = makeRevision(record, wanted.create);
  const children = desiredChildren({ record, revision, tenantId: TENANT, settings });
  return children.flatMap((child) => (child as Workload).spec?.template?.spec.containers ?? []);
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket'] as const;
function asks({ readinessProbe, livenessProbe, startupProbe }: Probed): (string | undefined)[] {
  return [startupProbe, readinessProbe, livenessProbe].map((probe) => HANDLERS.find((handler) => probe[handler]));
}

it.each([
  { name: 'server', want: ['tcpSocket', 'httpGet', 'tcpSocket'], reason: 'a failing health path must not kill it' },
  { name: 'queue', want: ['tcpSocket', 'httpGet', 'tcpSocket'], reason: 'as the server' },
  { name: 'orchestrator', want: ['tcpSocket', 'httpGet', 'tcpSocket'], reason: 'as the server' },
  { name: 'executor', want: ['tcpSocket', 'httpGet', 'tcpSocket'], reason: 'as the server' },
  { name: 'postgres', want: ['exec', 'exec', 'exec'], reason: 'an open port is no PostgreSQL that answers' },
  { name: 'redis', want: ['exec', 'exec', 'tcpSocket'], reason: 'one that is busy or full is not killed' },
])('$name is started, ready, alive by $want: $reason', ({ name, want }) => {
  const container = containers(SETTINGS).find((one) => one.name === name);
  expect(container && asks(container)).toEqual(want);
});

it('a probe asks a port that its container has', () => {
  for (const { ports, startupProbe, readinessProbe, livenessProbe } of containers(SETTINGS))
    for (const { tcpSocket, httpGet } of [startupProbe, readinessProbe, livenessProbe])
      expect([undefined, ...ports.map(({ name }) => name)]).toContain(tcpSocket?.port ?? httpGet?.port);
});

it('port, path and deadline are settings; a slow start is not killed before its rollout has failed', () => {
  const settings = Settings.parse({ pods: { port: 9090, healthPath: '/health', progressDeadlineSeconds: 90 } });
  const server = containers(settings).find(({ name }) => name === 'server');
  expect(server?.ports).toEqual([{ name: 'http', containerPort: 9090, protocol: 'TCP' }]);
  expect(server?.readinessProbe.httpGet).toEqual({ path: '/health', port: 'http', scheme: 'HTTP' });
  const { periodSeconds = 0, failureThreshold = 0 } = server?.startupProbe ?? {};
  expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(90);
});
