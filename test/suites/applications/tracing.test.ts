// Spans of an application as an OpenTelemetry collector receives them. Its SDK knows nothing of Davit but the variables that its
// pods are given.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Image } from '../../cluster/images/build.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../support/collector.ts';
import { type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { callsTo, eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';
import { ensureTraced } from './npm-applications.ts';

const progress = (line: string): void => void process.stderr.write(`  ${line}\n`);

/** Every GET is a span, with one below it. The SDK takes collector, name and attributes from the environment. */
const SERVER = `
import { createServer } from 'node:http';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
const sdk = new NodeSDK();
sdk.start();
process.on('SIGTERM', () => sdk.shutdown().finally(() => process.exit(0)));
const tracer = trace.getTracer('shop');
createServer((request, response) => {
  if (request.url === '/ok') return response.end();
  tracer.startActiveSpan('buy', (span) => {
    tracer.startSpan('pay').end();
    span.end();
    response.end();
  });
}).listen(Number(process.env.PORT));
`;

const SMALL = { cpu: 0.2, memory_mb: 256, db_cpu: 0.1, db_memory_mb: 128, db_storage_gi: 1, redis_memory_mb: 64 };

let cluster: Cluster | undefined;
let platform: Platform | undefined;
let collector: Collector;
let tenant: Tenant;
let call: ReturnType<typeof callsTo>;
let application: Image;

beforeAll(async () => {
  application = await ensureTraced(progress);
  const started = await startSampleCluster({ pods: 'auto', more: async () => [application], progress });
  cluster = started.cluster;
  if (cluster.node !== 'real') return;
  collector = await startCollector(cluster, progress);
  const { postgres, redis } = started.images;
  platform = await startPlatform(cluster, {
    progress,
    values: {
      'settings.images.postgres': postgres,
      'settings.images.redis': redis,
      'settings.tracing.otlpEndpoint': collector.endpoint,
    },
  });
  tenant = await platform.makeTenant('team');
  call = callsTo(platform.apiUrl);
  await eventually(async () => expect((await call(tenant, 'GET', '/v2/deployments')).status).toBe(200));
});

afterAll(async () => {
  await platform?.stop();
  await cluster?.stop();
});

async function found(isIt: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
  return eventually(async () => {
    const span = (await collector.spans()).find(isIt);
    if (span === undefined) throw new Error('the collector has no such span');
    return span;
  });
}

it('an application says of which deployment, revision and tenant its spans are', async ({ skip }) => {
  if (cluster?.node !== 'real') return skip('needs real pods');
  const created = await call(tenant, 'POST', '/v2/deployments', {
    name: 'shop',
    source: 'external_docker',
    source_config: {
      resource_spec: SMALL,
      runtime: { server: { command: ['node', '--input-type=module', '-e', SERVER] } },
    },
    source_revision_config: { image_uri: application.name },
    secrets: [],
  });
  expect([created.status, created.body.detail]).toEqual([201, undefined]);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'appd/shop', '-n', 'team', '--timeout=180s']);
  const address = await cluster.kubectl(['get', 'service', 'shop', '-n', 'team', '-o', 'jsonpath={.spec.clusterIP}']);
  await fetch(`http://${address.trim()}/`);
  const { body } = await call(tenant, 'GET', `/v2/deployments/${created.body.id}`);
  const span = await found(({ name }) => name === 'buy');
  expect(span.resource).toMatchObject({
    'service.name': 'shop',
    'service.namespace': 'team',
    'service.version': body.active_revision_id,
    'davit.role': 'server',
    'davit.deployment.id': body.id,
    'davit.revision.id': body.active_revision_id,
    'davit.tenant.id': tenant.id,
    'davit.tracing_project': 'shop',
  });
  expect(await found(({ name }) => name === 'pay')).toMatchObject({ traceId: span.traceId, parentId: span.spanId });
});
