// Spans as an OpenTelemetry collector receives them: of an application with the SDK of others, which knows nothing of Davit but
// the variables that its pods are given, and of Davit itself.

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
      'settings.tracing': { otlpEndpoint: collector.endpoint, davit: { otlpEndpoint: collector.endpoint } },
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

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

it('an application says of which deployment, revision and tenant its spans are', async ({ skip }) => {
  if (cluster?.node !== 'real') return skip('needs real pods');
  const created = await call(
    tenant,
    'POST',
    '/v2/deployments',
    {
      name: 'shop',
      source: 'external_docker',
      source_config: {
        resource_spec: SMALL,
        runtime: { server: { command: ['node', '--input-type=module', '-e', SERVER] } },
      },
      source_revision_config: { image_uri: application.name },
      secrets: [],
    },
    { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` },
  );
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

it("the facade's answer is below its caller's span, with the requests to the API server", async ({ skip }) => {
  if (cluster?.node !== 'real') return skip('needs real pods');
  const answer = await found(({ name, traceId }) => traceId === TRACE && name === 'POST /v2/deployments');
  expect(answer).toMatchObject({
    kind: 'Server',
    parentId: '00f067aa0ba902b7',
    attributes: { 'http.route': '/v2/deployments', 'http.response.status_code': '201' },
    resource: { 'service.name': 'davit-api', 'k8s.namespace.name': 'davit-system' },
  });
  const request = await found(({ name, traceId }) => traceId === TRACE && name === 'create appdeployments');
  expect(request).toMatchObject({ kind: 'Client', parentId: answer.spanId });
});

it("the controller's reconciles of a record are spans, with what they applied", async ({ skip }) => {
  if (cluster?.node !== 'real') return skip('needs real pods');
  const applied = await found(
    ({ name, resource }) => name === 'apply deployments' && resource['service.name'] === 'davit-controller',
  );
  const reconcile = await found(({ spanId, traceId }) => spanId === applied.parentId && traceId === applied.traceId);
  expect(reconcile).toMatchObject({
    name: 'reconcile appdeployments',
    kind: 'Internal',
    attributes: { 'davit.controller': 'appdeployments', 'davit.key': 'team/shop' },
  });
});

it('no span has a value of a secret', async ({ skip }) => {
  if (cluster?.node !== 'real') return skip('needs real pods');
  const { data } = JSON.parse(
    await cluster.kubectl(['get', 'secret', 'shop--postgres', '-n', 'team', '-o', 'json']),
  ) as { data: { password: string } };
  const spans = await collector.spans();
  expect(new Set(spans.map(({ resource }) => resource['service.name']))).toEqual(
    new Set(['shop', 'davit-api', 'davit-controller']),
  );
  const text = JSON.stringify(spans);
  expect(text).not.toContain(Buffer.from(data.password, 'base64').toString());
  expect(text).not.toContain(tenant.token);
});
