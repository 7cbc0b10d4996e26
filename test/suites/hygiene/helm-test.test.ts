// `helm test`: what the chart's pod asks of the controller, run here against an API server in memory.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aSpec } from '../../support/builders.ts';
import { makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { close, listen } from '../../support/http-servers.ts';
import { type ChartRenderer, type Manifest, makeChartRenderer, manifestNamed } from '../../support/rendered-chart.ts';

let chart: ChartRenderer;
let folder: string;
beforeAll(async () => {
  chart = await makeChartRenderer();
  folder = await mkdtemp(join(tmpdir(), 'davit-helm-test-'));
});
afterAll(async () => {
  await chart?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Container {
  readonly args: readonly [string];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

const SECRETS_OF_POD = '/var/run/secrets/kubernetes.io/serviceaccount';

interface World {
  readonly isAnswered: boolean;
  /** A record that a test before has left behind. */
  readonly left?: boolean;
}

/** Runs the pod's script; with a controller, each record is reconciled once it was created. */
async function run(manifests: readonly Manifest[], { isAnswered, left = false }: World) {
  const kube = makeFakeKube();
  const controller = isAnswered ? await aController(kube, defaultSettings()) : undefined;
  const seen: AppDeployment[] = [];
  const put = (record: AppDeployment): void => {
    const metadata = { ...record.metadata, namespace: 'davit-system', generation: 1 };
    // The defaults that a real API server fills in.
    kube.seed(APP_DEPLOYMENTS, { ...record, metadata, spec: aSpec(record.spec) });
  };
  if (left) put({ metadata: { name: 'davit-test' } } as AppDeployment);
  const found = (): AppDeployment | undefined => kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0];
  const asked: string[] = [];
  const authority = makeAuthority('test');
  const { certificate, key } = authority.serving('localhost', ['localhost']);
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const body = await text(request);
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const record = found();
    if (request.method === 'POST') {
      const made = JSON.parse(body) as AppDeployment;
      seen.push(made);
      put(made);
      await controller?.reconcile('davit-system/davit-test');
    } else if (record === undefined) {
      response.writeHead(404).end('{}');
      return;
    } else if (request.method === 'DELETE')
      await kube.remove(
        APP_DEPLOYMENTS,
        { namespace: 'davit-system', name: 'davit-test' },
        { uid: record.metadata.uid ?? '' },
      );
    response.writeHead(200).end(JSON.stringify(found() ?? {}));
  });
  await listen(server, 0, '127.0.0.1');
  const [container] = (manifestNamed(manifests, 'Pod', 'davit-test-controller')['spec'] as { containers: [Container] })
    .containers;
  await writeFile(join(folder, 'token'), 'abc');
  await writeFile(join(folder, 'ca.crt'), authority.certificate);
  const script = container.args[0].replaceAll(SECRETS_OF_POD, folder);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: {
      ...process.env,
      ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
      KUBERNETES_SERVICE_HOST: 'localhost',
      KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
      PATIENCE_MS: '600',
    },
  });
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  await close(server);
  return { code, output: out + err, asked, seen, left: kube.objects(APP_DEPLOYMENTS) };
}

it.each([
  { world: 'a controller', left: false },
  { world: 'a controller, after a test that was interrupted', left: true },
])('passes with $world, and leaves no record behind', async ({ left }) => {
  const done = await run(await chart.render(), { isAnswered: true, left });
  expect(done.output).toMatch(/^The controller answered AppDeployment davit-system\/davit-test after \d+\.\d s\n$/);
  expect(done).toMatchObject({ code: 0, left: [] });
  expect(done.seen).toMatchObject([
    {
      metadata: { name: 'davit-test', annotations: { 'davit.dev/paused': 'true' } },
      spec: { source: 'external_docker' },
    },
  ]);
  expect(new Set(done.asked.map((one) => one.split(' ').slice(2).join(' ')))).toEqual(new Set(['Bearer abc']));
});

it('fails without a controller: says so, with what to look at, and leaves no record behind', async () => {
  const done = await run(await chart.render(), { isAnswered: false });
  expect(done.output).toContain(
    'Error: The controller does not answer: it reported no status of AppDeployment davit-system/davit-test within 0.6 s. To find out why: kubectl logs -n davit-system deployment/davit-controller',
  );
  expect(done).toMatchObject({ code: 1, left: [] });
});

it.each([
  ['', 'davit-system', 'external_docker'],
  ['settings.namespaces={team,other}', 'team', 'external_docker'],
  ['settings.hosting=both', 'davit-system', 'external_docker'],
  ['settings.hosting=cloud', 'davit-system', 'internal_source'],
])('asks where the controller looks, for a source that it takes: %s', async (set, namespace, source) => {
  const manifests = await chart.render(...(set === '' ? [] : ['--set', set]));
  const pod = manifestNamed(manifests, 'Pod', 'davit-test-controller');
  const { env } = (pod['spec'] as { containers: [Container] }).containers[0];
  expect(env).toEqual(
    expect.arrayContaining([
      { name: 'NAMESPACE', value: namespace },
      { name: 'SOURCE', value: source },
    ]),
  );
  expect(manifestNamed(manifests, 'Role', 'davit-test').metadata.namespace).toBe(namespace);
  expect(manifestNamed(manifests, 'RoleBinding', 'davit-test').metadata.namespace).toBe(namespace);
});

it('reads the logs of pods alone: Helm 3 fails on hooks of another kind', async () => {
  const hooks = (await chart.render()).filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test');
  expect(hooks.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'Pod davit-test',
    'Pod davit-test-controller',
  ]);
});

it('is not there without workloads', async () => {
  const manifests = await chart.render('--set', 'workloads.enabled=false');
  expect(manifests.filter(({ metadata }) => metadata.name.startsWith('davit-test'))).toEqual([]);
});
