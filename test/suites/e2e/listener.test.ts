// A deployment that a listener's cluster runs with real pods, from enrolment to deletion, over a link that is cut. The hub has no
// pods. The commands are typed by a shell, as people do.

import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import { ensureProgram, realPods } from '../../cluster/machine.ts';
import { bundledDavit } from '../../harness/faults/bundle.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { writesOf } from '../../support/audited-rights.ts';
import { openShell, type Shell } from '../../support/documents/documented.ts';
import { type Platform, type Supervised, startAgent, startPlatform, type Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';
import { openLink, type TcpLink } from '../../support/tcp-link.ts';

// Without a kubelet there is nothing that these tests could see.
const machine = await realPods((line) => void process.stderr.write(`  ${line}\n`));

const PLACE = 'shops';
const SILENT_AFTER_S = 60;
const REST_S = 60;
const AGENT_IN_MIB = 150;

const LISTENER = `apiVersion: davit.dev/v1alpha1
kind: Listener
metadata: {name: edge}
spec: {namespaces: [${PLACE}]}
`;
const BODY = `{"name": "shop", "source": "external_docker",
  "source_config": {"listener_id": "'$LISTENER'", "listener_config": {"k8s_namespace": "${PLACE}"},
    "resource_spec": {"cpu": 0.1, "memory_mb": 128, "db_cpu": 0.1, "db_memory_mb": 256, "redis_cpu": 0.05, "redis_memory_mb": 64}},
  "source_revision_config": {"image_uri": "'$IMAGE'"},
  "secrets": [{"name": "GREETING", "value": "hello from the hub"}]}`;

describe.skipIf(!machine.ok)('a deployment of a listener', () => {
  let hub: Cluster;
  let remote: Cluster;
  let hubDavit: Davit;
  let remoteDavit: Platform;
  let agent: Supervised;
  let link: TcpLink;
  let tenant: Tenant;
  let call: Attached['call'];
  let shell: Shell;
  let images: Attached['images'];
  let namespace: string;
  let id: string;

  beforeAll(async () => {
    hubDavit = await startDavit('apiserver', { auditLog: true, values: { 'settings.listeners.enabled': true } });
    ({ cluster: hub, call } = hubDavit);
    const started = await startSampleCluster({ pods: 'auto', auditLog: true, progress: () => undefined });
    ({ cluster: remote, images } = started);
    link = await openLink(hub.server);
    tenant = await hubDavit.makeTenant('team');
    shell = await openShell(
      hub.kubeconfig,
      { kubectl: started.kubectlPath, jq: await ensureProgram('jq', () => undefined) },
      360_000,
    );
    await writePlugin(shell.folder);
    await copyFile(remote.kubeconfig, join(shell.folder, 'edge'));
    await writeFile(join(shell.folder, 'edge.yaml'), LISTENER);
  }, 400_000);
  afterAll(async () => {
    await shell?.close();
    await agent?.stop();
    await remoteDavit?.stop();
    await link?.close();
    await remote?.stop();
    await hubDavit?.stop();
  }, 60_000);

  const there = (...args: readonly string[]): Promise<string> => remote.kubectl(['-n', PLACE, ...args]);
  const since = (began: number): number => (performance.now() - began) / 1000;

  /** Types one command into the shell of a person at the hub, whose variables it keeps. */
  function type(command: string): Promise<string> {
    return shell.run(
      [
        'exec 2>&1',
        'test ! -f variables || . ./variables',
        command,
        'declare -p LISTENER ID > variables 2> /dev/null || true',
      ],
      {
        API: hubDavit.apiUrl,
        TOKEN: tenant.token,
        HUB: `https://127.0.0.1:${link.port}`,
        IMAGE: images.sample,
      },
    );
  }
  const ask = (rest: string): string => `curl -s "$API/v2/deployments/$ID" -H "X-Api-Key: $TOKEN"${rest}`;
  const state = `-o jsonpath='{.status.state}{"\\n"}'`;

  it('on a cluster that is enrolled by what join prints', async () => {
    await type('kubectl apply -n team -f edge.yaml');
    await hub.kubectl(['wait', '--for=jsonpath={.status.namespace}', 'lsn/edge', '-n', 'team', '--timeout=60s']);
    namespace = await hub.kubectl(['get', 'lsn', 'edge', '-n', 'team', '-o', 'jsonpath={.status.namespace}']);
    const printed = await type('kubectl davit listener join edge -n team --hub "$HUB" > hub-secret.json');
    const commands = printed.split('\n').flatMap((line) => /^ {2}(\w.*?)(?: +#.*)?$/.exec(line)?.[1] ?? []);
    expect(commands.filter((command) => command.startsWith('helm'))).toHaveLength(1);
    for (const command of commands.filter((one) => one.startsWith('kubectl'))) {
      const edge = command.replace('kubectl', 'kubectl --kubeconfig=edge').replace('FILE', 'hub-secret.json');
      await type(edge);
    }
    // What the last line installs, with the processes from source.
    remoteDavit = await startPlatform(remote, {
      parts: ['controller'],
      values: {
        'listener.enabled': true,
        'listener.namespaces': [PLACE],
        'settings.images.postgres': images.postgres,
        'settings.images.redis': images.redis,
      },
    });
    agent = await startAgent(remote, [PLACE], await bundledDavit(remote));
    await type('kubectl wait --for=condition=Connected lsn/edge -n team --timeout=2m');
    expect(await type('kubectl get lsn -n team')).toMatch(/edge +True +\d/);
  }, 300_000);

  it('is READY on the hub when its pods serve there, with the values of the hub', async () => {
    await type('LISTENER=$(kubectl get lsn edge -n team -o jsonpath={.metadata.uid})');
    await type(
      `ID=$(curl -s -X POST "$API/v2/deployments" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' -d '${BODY}' | jq -r .id)`,
    );
    await type('kubectl wait --for=condition=Ready appd/shop -n team --timeout=5m');
    expect(await type(ask(' | jq -c "{name, status}"'))).toBe('{"name":"shop","status":"READY"}\n');
    expect(await type('kubectl get pods -A -l davit.dev/deployment')).toBe('No resources found\n');
    const pods = await type(`kubectl --kubeconfig=edge get pods -n ${PLACE} -o name`);
    expect(pods.trim().split('\n')).toHaveLength(3);
    id = (await hub.kubectl(['get', 'appd', 'shop', '-n', 'team', '-o', 'jsonpath={.metadata.uid}'])).trim();
    const address = (await there('get', 'service', 'shop', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    const { environment } = (await (await fetch(`http://${address}/env`)).json()) as {
      environment: Readonly<Record<string, string>>;
    };
    expect(environment).toMatchObject({
      GREETING: 'hello from the hub',
      DAVIT_DEPLOYMENT_ID: id,
      DAVIT_TENANT_ID: tenant.id,
    });
    const stored = await fetch(`http://${address}/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'kept' }),
    });
    expect(stored.status).toBe(201);
  }, 400_000);

  it('has its logs read over the hub by who may read logs there; nothing is kept of the request', async () => {
    const printed = await type(
      `curl -s "$API/v1/projects/$ID/deploy_logs" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' -d '{"limit": 2, "order": "asc"}' | jq -r '.logs[] | .pod + "  " + .message'`,
    );
    expect(printed.trim().split('\n')).toHaveLength(2);
    const path = `/v1/projects/${id}/deploy_logs`;
    const { body } = await call(tenant, 'POST', path, { limit: 5, order: 'asc' });
    const pods = (await there('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
    expect(body.logs).toHaveLength(5);
    for (const line of body.logs) expect(pods).toContain(line.pod);
    const next = await call(tenant, 'POST', path, { limit: 5, order: 'asc', offset: body.next_offset });
    expect(next.status).toBe(200);
    expect(next.body.logs.map((line: { id: string }) => line.id)).not.toContain(body.logs[4].id);
    expect(await hub.kubectl(['get', 'lsnl', '-A', '-o', 'name'])).toBe('');
  }, 90_000);

  it('costs, at rest, renewals of the Lease and nothing else', async () => {
    await sleep(10_000);
    const count = async (): Promise<[readonly string[], readonly string[]]> =>
      Promise.all([writesOf(hub, `${namespace}:davit-listener`), writesOf(remote, 'davit-listener')]);
    const before = await count();
    await sleep(REST_S * 1000);
    const after = await count();
    const written = after.map((writes, index) => writes.slice(before[index]?.length ?? 0));
    const isLease = (write: string): boolean => write.endsWith(' coordination.k8s.io/leases');
    expect(written.map((writes) => writes.filter((write) => !isLease(write)))).toEqual([[], []]);
    // Every ten seconds.
    expect(written[0]?.length).toBeGreaterThanOrEqual(REST_S / 10 - 2);
    expect(written[0]?.length).toBeLessThanOrEqual(REST_S / 10 + 1);
    const status = await readFile(`/proc/${agent.pid()}/status`, 'utf8');
    const memory = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    expect(memory).toBeLessThan(AGENT_IN_MIB);
  }, 150_000);

  it('is UNKNOWN after the time of the setting when the link is cut, runs on, and is true again when it is healed', async () => {
    const uids = `jsonpath={.items[*].metadata.uid}`;
    const pods = await there('get', 'pods', '-o', uids);
    link.cut();
    const cut = performance.now();
    await type(`kubectl wait --for=jsonpath='{.status.state}'=UNKNOWN appd/shop -n team --timeout=3m`);
    const silent = since(cut);
    await type(`kubectl get appd shop -n team -o jsonpath='{.status.conditions[?(@.type=="Ready")].message}{"\\n"}'`);
    expect(await type(`kubectl --kubeconfig=edge get appd shop -n ${PLACE} ${state}`)).toBe('READY\n');
    link.heal();
    const healed = performance.now();
    await type('kubectl wait --for=condition=Connected lsn/edge -n team --timeout=3m');
    const connected = since(healed);
    await type(`kubectl wait --for=jsonpath='{.status.state}'=READY appd/shop -n team --timeout=3m`);
    const ready = since(healed);
    expect(await there('get', 'pods', '-o', uids)).toBe(pods);
    // The last renewal was up to ten seconds before the cut.
    expect(silent).toBeGreaterThan(SILENT_AFTER_S - 11);
    expect(silent).toBeLessThan(SILENT_AFTER_S + 10);
    expect(connected).toBeLessThan(20);
    expect(ready).toBeLessThan(30);
  }, 400_000);

  it('leaves neither pods nor data nor values in the cluster when it is deleted on the hub', async () => {
    expect(await type(ask(` -X DELETE -o /dev/null -w '%{http_code}\\n'`))).toMatch(/^2\d\d\n$/);
    await type('kubectl wait --for=delete appd/shop -n team --timeout=5m');
    expect(await type(`kubectl --kubeconfig=edge get appd,pvc,secrets -n ${PLACE}`)).toBe(
      `No resources found in ${PLACE} namespace.\n`,
    );
    const kinds = 'appd,appr,deployments,statefulsets,services,secrets,pvc,networkpolicies,hpa,pdb,ingresses,jobs,pods';
    await eventually(async () => expect(await there('get', kinds, '-o', 'name')).toBe(''), 60_000, 500);
    const volumes = ['get', 'pv', '-o', 'jsonpath={.items[*].spec.claimRef.name}'];
    await eventually(async () => expect(await remote.kubectl(volumes)).toBe(''), 60_000, 500);
  }, 300_000);
});
