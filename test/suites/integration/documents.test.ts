// The commands of the documents, as they stand there, where no pod has to run for them.

import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ToRun } from '../../support/documents/catalogue.ts';
import { documentedCommands, fences, openShell, type Shell, textOf } from '../../support/documents/documented.ts';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const toRun = new ToRun(documentedCommands(), 'integration');
/** Words of the documents, and what they stand for here. */
const WORDS = { NAMESPACE: 'team', NAME: 'hello', ACCOUNT: 'team' };

let tenant: Tenant;
let shell: Shell;
beforeAll(async () => {
  tenant = await davit.tenant('team');
  // The plugin as `npm run build` makes it, and a kubeconfig whose namespace is the team's, as the documents take it.
  shell = await openShell(davit.kubeconfig, { kubectl: davit.kubectlPath });
  const kubeconfig = join(shell.folder, 'kubeconfig');
  await copyFile(davit.kubeconfig, kubeconfig);
  await writePlugin(shell.folder);
  await davit.kubectl(['config', 'set-context', '--current', '--namespace=team', '--kubeconfig', kubeconfig]);
});
afterAll(() => shell?.close());

/** Runs commands of the documents in one shell. */
function type(...lines: readonly string[]): Promise<string> {
  const commands = lines.map((line) => toRun.take(line, WORDS));
  return shell.run(['export KUBECONFIG=$PWD/kubeconfig', ...commands], { API: davit.apiUrl, TOKEN: tenant.token });
}

function inTeam(...args: readonly string[]): Promise<string> {
  return davit.kubectl(['-n', 'team', ...args]);
}

function hello(image: string, name = 'hello', namespace = 'team', spec: object = {}): Promise<string> {
  return davit.kubectl(['apply', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace },
    spec: { source: 'external_docker', sourceRevisionConfig: { imageUri: image }, ...spec },
  });
}

describe('docs/start.md', () => {
  it('a deployment over HTTP', async () => {
    const post = [...toRun.left].find((line) => line.startsWith('curl -s -X POST')) ?? '';
    const said = await shell.run([toRun.take(post)], { API: davit.apiUrl, TOKEN: tenant.token });
    expect(JSON.parse(said)).toMatchObject({ name: 'cart', status: 'AWAITING_DATABASE' });
    const removesSecrets = toRun.take(`kubectl patch appd NAME --type merge -p '{"spec":{"secrets":[]}}'`, {
      NAME: 'cart',
    });
    await shell.run(['export KUBECONFIG=$PWD/kubeconfig', removesSecrets]);
    expect(await inTeam('get', 'appd', 'cart', '-o', 'jsonpath={.spec.secrets}')).toBe('[]');
    await inTeam('delete', 'appd', 'cart', '--timeout=180s');
  });

  it('the same with kubectl, with the documented record, until it is READY', async () => {
    const record = fences(textOf('docs/start.md'), 'yaml').find((text) => text.includes('kind: AppDeployment')) ?? '';
    await writeFile(join(shell.folder, 'shop.yaml'), record);
    await type(
      'kubectl config set-context --current --namespace=team',
      'kubectl create secret generic shop-keys --from-literal=api-key=0123',
      'kubectl apply -f shop.yaml',
      'kubectl wait --for=condition=Ready appd/shop --timeout=5m',
    );
    expect(await type('kubectl get appd')).toMatch(/shop +READY +DEPLOYED +True +1\/1/);
    expect(await type('kubectl davit status shop')).toMatch(
      /^team\/shop {2}READY\n {2}ok Ready: The latest revision is deployed and serving/,
    );
    expect(await type('kubectl describe appd shop')).toMatch(/Reason: +Serving/);
    expect(await type('kubectl explain appd.spec.sourceConfig.resourceSpec')).toContain('dbStorageGi');
  });
});

describe('the documents of operation', () => {
  it('waiting, inspecting and rolling back', async () => {
    await hello('registry.example/hello:1');
    await type('kubectl wait --for=condition=Ready appd/NAME --timeout=10m');
    expect(await type('kubectl get appd')).toMatch(/hello +READY/);
    for (const line of ['kubectl get appd -o wide', 'kubectl get appd hello -o wide'])
      expect(await type(line)).toMatch(/hello +READY .* Serving .* The latest revision is deployed and serving\./);
    expect(await type('kubectl describe appd NAME')).toContain('The latest revision is deployed and serving.');
    await hello('registry.example/hello:2');
    await eventually(async () =>
      expect(await inTeam('get', 'appd', 'hello', '-o', 'jsonpath={.status.image}')).toBe('registry.example/hello:2'),
    );
    await type('kubectl davit rollback NAME');
    await eventually(async () =>
      expect(await inTeam('get', 'appd', 'hello', '-o', 'jsonpath={.status.image}')).toBe('registry.example/hello:1'),
    );
    const bounds = ['get', 'appd', 'hello', '-o', 'jsonpath={.spec.sourceConfig.resourceSpec}'];
    expect(await type('kubectl davit scale NAME --replicas 3')).toContain('scaled to 3 pods');
    expect(JSON.parse(await inTeam(...bounds))).toMatchObject({ minScale: 3, maxScale: 3 });
    await eventually(async () =>
      expect(await inTeam('get', 'deployment', 'hello', '-o', 'jsonpath={.spec.replicas}')).toBe('3'),
    );
    // The other way does not say that it has done it: no number of the record is the number of pods.
    await expect(inTeam('scale', 'appd/hello', '--replicas=2')).rejects.toThrow(/NotFound|could not find/);
  });

  it('tasks and their runs', async () => {
    const tasks = [
      { name: 'clean', schedule: '0 3 * * *', timeZone: 'Europe/Berlin', command: ['clean'] },
      { name: 'reindex', command: ['reindex'] },
    ];
    await hello('registry.example/agent:1', 'agent', 'team', { sourceConfig: { tasks } });
    await inTeam('wait', '--for=condition=TasksReady', 'appd/agent', '--timeout=5m');
    expect(await type('kubectl get cronjobs -l davit.dev/deployment=agent')).toMatch(
      /agent--clean +0 3 \* \* \* +Europe\/Berlin/,
    );
    // As the schedule does it at three o'clock.
    await inTeam('create', 'job', 'agent-now', '--from=cronjob/agent--clean');
    expect(await type('kubectl get jobs -l davit.dev/deployment=agent,davit.dev/task=clean')).toMatch(/agent-now/);
    await eventually(async () =>
      expect(await type('kubectl davit tasks agent')).toMatch(
        /^clean +0 3 \* \* \* +in \w+ +agent-now +\w+ ago +\w+ +Succeeded\nreindex +- +- +- +- +- +-$/m,
      ),
    );
    await inTeam('delete', 'appd', 'agent', '--timeout=180s');
    expect(await inTeam('get', 'jobs,cronjobs', '-l', 'davit.dev/deployment=agent', '-o', 'name')).toBe('');
  });

  it('a record whose teardown is stuck is released by hand, with its remaining objects', async () => {
    await type('kubectl annotate appd NAME davit.dev/paused=true');
    await inTeam('wait', '--for=jsonpath={.status.conditions[?(@.type=="Stalled")].reason}=Paused', 'appd/hello');
    await inTeam('delete', 'appd', 'hello', '--wait=false');
    await type(`kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"metadata":{"finalizers":null}}'`);
    expect(await inTeam('get', 'appd', 'hello', '--ignore-not-found')).toBe('');
    await type('kubectl delete all,pvc,secret,networkpolicy,hpa,pdb -n NAMESPACE -l davit.dev/deployment=NAME');
    const kinds = 'deployments,statefulsets,services,pods,pvc,secrets,networkpolicies';
    await eventually(async () =>
      expect(await inTeam('get', kinds, '-l', 'davit.dev/deployment=hello', '-o', 'name')).toBe(''),
    );
  });

  it('hosts of a tenant, addresses of another kind, listeners, who leads, the definitions', async () => {
    await type("kubectl annotate namespace team davit.dev/hosts='shop.example.com, *.team.example.com'");
    await type('kubectl delete ingress -A -l davit.dev/deployment');
    await type('kubectl get listeners -n team -o wide');
    expect(await type('kubectl get lease -n davit-system davit-controller')).toMatch(/davit-controller +\S/);
    expect(await type('kubectl apply --server-side -f crds/')).toContain('appdeployments.davit.dev serverside-applied');
  });

  it('credentials of code hosts', async () => {
    await Promise.all(['token', 'app.pem'].map((name) => writeFile(join(shell.folder, name), 'secret')));
    await type(
      'kubectl create secret generic gitea-credentials -n davit-org --from-file=token=./token',
      'kubectl create secret generic github-credentials -n davit-org --from-file=private-key=./app.pem',
    );
    const names = ['gitea-credentials', 'github-credentials'];
    const keys = ['get', 'secret', ...names, '-n', 'davit-org', '-o', 'jsonpath={.items[*].data}'];
    expect(await davit.kubectl(keys)).toMatch(/"token".*"private-key"/);
    await davit.kubectl(['delete', 'secret', ...names, '-n', 'davit-org']);
  });

  it('a team that writes OAuth providers', async () => {
    await type(
      'kubectl create rolebinding team-providers -n davit-org --clusterrole=davit-editor --serviceaccount=team:ci',
    );
    const provider = {
      provider_id: 'issue-tracker',
      name: 'Issues',
      client_id: 'a',
      auth_url: 'https://tracker.example/authorize',
      token_url: 'https://tracker.example/token',
    };
    expect(await davit.call(tenant, 'POST', '/v2/auth/providers', provider)).toMatchObject({ status: 200 });
    const patch = [...toRun.left].find((line) => line.startsWith('curl -X PATCH')) ?? '';
    expect(JSON.parse(await type(patch))).toMatchObject({ provider_id: 'issue-tracker' });
    expect((await davit.call(tenant, 'DELETE', '/v2/auth/providers/issue-tracker')).status).toBe(200);
  });
});

it('docs/tenants.md: tracing projects without a deployment, and a tenant that is stopped and removed', async () => {
  const leaver = await davit.tenant('leaver');
  const there = { NAMESPACE: leaver.namespace, NAME: 'gone' };
  const typed = (line: string): Promise<string> => shell.run([toRun.take(line, there)]);
  const leftovers = 'kubectl get trp,appd -n NAMESPACE -o name | cut -d/ -f2 | sort | uniq -u';
  for (const name of ['gone', 'stays']) await hello('registry.example/hello:1', name, leaver.namespace);
  const inLeaver = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', leaver.namespace, ...args]);
  await inLeaver('wait', '--for=condition=Ready', 'appd/gone', 'appd/stays', '--timeout=180s');
  await inLeaver('delete', 'appd', 'gone', '--timeout=180s');
  expect(await typed(leftovers)).toBe('gone\n');
  await typed('kubectl delete trp NAME -n NAMESPACE');
  expect(await typed(leftovers)).toBe('');

  await typed('kubectl label namespace NAMESPACE davit.dev/tenant-');
  await inLeaver('wait', '--for=jsonpath={.status.conditions[?(@.type=="Stalled")].reason}=NotATenant', 'appd/stays');
  expect(await inLeaver('get', 'deployment', 'stays', '-o', 'jsonpath={.spec.replicas}')).toBe('1');
  await eventually(async () =>
    expect(await davit.call(leaver, 'GET', '/v2/deployments')).toMatchObject({ status: 403 }),
  );

  await typed('kubectl delete appd,lsn,dsop --all -n NAMESPACE');
  const left = await typed('kubectl get trp,pvc,secrets -n NAMESPACE');
  expect(left).toMatch(/^tracingproject\S*\/stays /m);
  expect(left).not.toMatch(/stays--/);
  await typed('kubectl delete namespace NAMESPACE');
});

it('docs/security.md: a token for an hour', async () => {
  expect(await type('kubectl create token ACCOUNT --duration=1h')).toMatch(/^ey/);
});

it('every command of the documents that can run here was run', () => {
  expect([...toRun.left]).toEqual([]);
});
