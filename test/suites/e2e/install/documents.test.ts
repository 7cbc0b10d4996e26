// What the documents say about installing, backing up, restoring, upgrading and taking away, typed as it stands there,
// with pods that really run. The steps follow each other.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ensureProgram } from '../../../cluster/machine.ts';
import { ensureTools, toolPath } from '../../../cluster/tools.ts';
import { ToRun } from '../../../support/documents/catalogue.ts';
import { documentedCommands, openShell, type Shell } from '../../../support/documents/documented.ts';
import {
  type Api,
  connectApi,
  type Ground,
  NAMESPACE,
  podsOf,
  prepareGround,
  restartsOf,
  say,
  stepByStep,
  until,
  whyNoPods,
} from './installed.ts';

const toRun = new ToRun(documentedCommands(), 'install');
const noPods = await whyNoPods();
const root = join(import.meta.dirname, '../../../..');

let ground: Ground;
let shell: Shell;
let api: Api;
beforeAll(async () => {
  if (noPods !== undefined) return;
  ground = await prepareGround();
  const tools = await ensureTools(['kubernetes', 'helm'], say);
  shell = await openShell(
    ground.cluster.kubeconfig,
    {
      kubectl: toolPath(tools, 'kubernetes', 'kubectl'),
      helm: toolPath(tools, 'helm', 'helm'),
      jq: await ensureProgram('jq', say),
    },
    170_000,
  );
});
stepByStep();
afterAll(async () => {
  api?.close();
  await shell?.close();
  await ground?.stop();
});

function type(lines: readonly string[], words: Readonly<Record<string, string>> = {}): Promise<string> {
  return shell.run(lines.map((line) => toRun.take(line, { NAMESPACE: 'team', NAME: 'shop', ...words })));
}

function inTeam(...args: readonly string[]): Promise<string> {
  return ground.cluster.kubectl(['-n', 'team', ...args]);
}

async function ask<T>(path: string, body?: object): Promise<T> {
  const address = await inTeam('get', 'service', 'shop', '-o', 'jsonpath={.spec.clusterIP}');
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`http://${address}${path}`, { ...(body && post), signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return (await answer.json()) as T;
}

const LOAD = `kubectl exec -i NAME--postgres-0 -n NAMESPACE -- sh -c 'psql -U "$POSTGRES_DB" -q -v ON_ERROR_STOP=1 --single-transaction' < NAME.sql`;
const SCALE_TO_ZERO = `kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"spec":{"sourceConfig":{"resourceSpec":{"minScale":0,"maxScale":0}}}}'`;

function serverPods(): Promise<string> {
  return inTeam('get', 'pods', '-o', 'name', '-l', 'davit.dev/deployment=shop,davit.dev/component=server');
}

/** An OAuth provider with its Secret. */
async function giveProvider(): Promise<void> {
  const metadata = { namespace: 'davit-org' };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: 'issues' },
    stringData: { 'client-secret': 'kept' },
  };
  const provider = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { ...metadata, name: 'issues' },
    spec: {
      name: 'Issues',
      clientId: 'a',
      clientSecretRef: { name: 'issues', key: 'client-secret' },
      authUrl: 'https://tracker.example/authorize',
      tokenUrl: 'https://tracker.example/token',
    },
  };
  const input = [secret, provider].map((object) => JSON.stringify(object)).join('\n');
  await ground.cluster.kubectl(['apply', '-f', '-'], { input });
  await ground.cluster.kubectl(['-n', 'davit-org', 'wait', '--for=condition=Ready', 'oauthprovider/issues']);
}

describe.skipIf(noPods !== undefined)('on a cluster', () => {
  let item: { id: number };

  async function hasWhatItStored(): Promise<void> {
    await until('a pod of the server', serverPods, (pods) => pods !== '');
    await until(
      'what it stored',
      () => ask(`/items/${item.id}`),
      (found) => JSON.stringify(found).includes('kept'),
      170_000,
    );
  }

  it('Davit is installed, tested and given a tenant, as README.md says', async () => {
    const install = [...toRun.left].find((line) => line.startsWith('helm install')) ?? '';
    const typed = toRun.take(install);
    const values = ground.values.map((value) => `'${value}'`).join(' ');
    // The image is on the node under a name of its own, and so are those of the database.
    await shell.run([typed.replace('--set image.repository=REGISTRY/davit', values)]);
    expect(await type(['helm test davit -n davit-system --logs'])).toMatch(/Phase:\s+Succeeded/);
    await type(['kubectl create namespace team && kubectl label namespace team davit.dev/tenant=true']);
    await type(['kubectl create rolebinding davit-editor -n team --clusterrole=davit-editor --user=SOMEBODY'], {
      SOMEBODY: 'system:serviceaccount:team:default',
    });
    await type(['kubectl create rolebinding edit -n team --clusterrole=edit --user=SOMEBODY'], {
      SOMEBODY: 'system:serviceaccount:team:default',
    });
    expect(await type(['kubectl logs -n davit-system deployment/davit-controller'])).toContain('"Started"');
    say('Installed, tested, and there is a tenant');
  });

  it('a deployment stores something', async () => {
    const token = await ground.cluster.tokenFor('team', 'default');
    api = await connectApi(ground.cluster, token, 'team');
    await until(
      'the tenant to be known',
      () => api.call('GET', '/v2/deployments'),
      ({ status }) => status === 200,
    );
    const created = await api.call('POST', '/v2/deployments', {
      name: 'shop',
      source: 'external_docker',
      source_config: {
        resource_spec: {
          cpu: 0.1,
          memory_mb: 256,
          db_cpu: 0.1,
          db_memory_mb: 256,
          db_storage_gi: 1,
          redis_cpu: 0.1,
          redis_memory_mb: 64,
        },
      },
      source_revision_config: { image_uri: ground.images.sample },
      secrets: [{ name: 'GREETING', value: 'from before' }],
    });
    expect(created).toMatchObject({ status: 201 });
    await inTeam('patch', 'appd', 'shop', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Retain"}}');
    await inTeam('wait', '--for=condition=Ready', 'appd/shop', '--timeout=150s');
    item = await ask('/items', { text: 'kept' });
    const passwords = [
      'kubectl exec NAME--postgres-0 -n NAMESPACE -- printenv APP_PASSWORD POSTGRES_PASSWORD',
      'kubectl exec NAME--redis-0 -n NAMESPACE -- cat /etc/davit/redis.conf',
    ];
    expect(await type(passwords)).toMatch(/^\S{20,}\n(.*\n)*requirepass \S{20,}/);
    say('A deployment is Ready, and has stored something');
  });

  it('can be backed up', async () => {
    await giveProvider();
    const lines = [...toRun.left];
    const asNew = lines.find((line) => line.startsWith('AS_NEW=')) ?? '';
    const ids = lines.find((line) => line.endsWith(' > ids.txt')) ?? '';
    await type([
      asNew,
      'helm get values davit -n davit-system -o yaml > values.yaml',
      ids,
      'kubectl get listeners -n NAMESPACE -o json | jq "$AS_NEW" > listeners.json',
      'kubectl get appd,trp,notifiers -n NAMESPACE -o json | jq "$AS_NEW" > records.json',
      'kubectl get secrets -n NAMESPACE -o json | jq "$AS_NEW" > secrets.json',
      'kubectl get apptemplates,oauthproviders,codehostintegrations -n davit-org -o json | jq "$AS_NEW" > organization.json',
      'kubectl get secrets -n davit-org -o json | jq "$AS_NEW" > organization-secrets.json',
      'kubectl get secrets -n davit-system --field-selector=metadata.name=davit-hmac -o json | jq "$AS_NEW" > key.json',
      `kubectl exec NAME--postgres-0 -n NAMESPACE -- sh -c 'pg_dump -U postgres "$POSTGRES_DB"' > NAME.sql`,
    ]);
    const files = ['records.json', 'secrets.json', 'key.json', 'shop.sql', 'values.yaml'];
    const [records, secrets, key, dump, values] = await Promise.all(
      files.map((name) => readFile(join(shell.folder, name), 'utf8')),
    );
    expect(records).toContain('AppDeployment');
    expect(secrets).toMatch(/shop--vars-/);
    expect(secrets).toContain('shop--postgres');
    expect(secrets).toContain('shop--redis');
    expect(key).toContain('davit-hmac');
    expect(dump).toContain('kept');
    // It can be given to helm install as it is.
    expect(parse(values ?? '')).toMatchObject({ image: { repository: ground.image.name.split(':')[0] } });
  });

  it('a deployment lost but for its volume is restored, and says whose the volume is; told to take it, it has what it stored', async () => {
    const before = await inTeam('get', 'appd', 'shop', '-o', 'jsonpath={.metadata.uid}');
    await inTeam('delete', 'appd', 'shop', '--timeout=120s');
    await inTeam('delete', 'trp,secrets', '--all');
    await ground.cluster.kubectl(['-n', 'davit-org', 'delete', 'oauthproviders,secrets', '--all']);
    expect((await inTeam('get', 'pvc', '-o', 'name')).trim()).toBe('persistentvolumeclaim/shop--postgres');
    say('The record and every Secret are lost, the volume is there');

    await type([
      'kubectl scale deployment/davit-controller -n davit-system --replicas=0',
      'kubectl apply --server-side -f key.json',
      'kubectl apply --server-side -f organization-secrets.json',
      'kubectl apply --server-side -f organization.json',
      'kubectl apply --server-side -f secrets.json',
      'kubectl delete secrets -n NAMESPACE -l davit.dev/component=redis',
      'kubectl apply --server-side -f records.json',
      'kubectl scale deployment/davit-controller -n davit-system --replicas=2',
    ]);
    const stalled =
      '{.status.conditions[?(@.type=="Stalled")].reason} {.status.conditions[?(@.type=="Stalled")].message}';
    const said = await until(
      'the record to say whose the database is',
      () => inTeam('get', 'appd', 'shop', '-o', `jsonpath=${stalled}`),
      (text) => text.startsWith('DatabaseKept'),
    );
    expect(said).toContain('kubectl davit database adopt shop -n team');
    await type(['kubectl annotate appd NAME -n NAMESPACE davit.dev/adopt-database=UID'], { UID: before });
    await inTeam('wait', '--for=condition=Ready', 'appd/shop', '--timeout=150s');
    await until(
      'what it stored',
      () => ask(`/items/${item.id}`),
      (found) => JSON.stringify(found).includes('kept'),
    );
    expect(JSON.stringify(await ask('/env'))).toContain('"GREETING":"from before"');
    await ground.cluster.kubectl(['-n', 'davit-org', 'wait', '--for=condition=Ready', 'oauthprovider/issues']);
    say('Restored, it has what it stored and its secrets');
  });

  it('a deployment lost with its volume is restored from its dump', async () => {
    await inTeam('patch', 'appd', 'shop', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Delete"}}');
    await inTeam('delete', 'appd', 'shop', '--timeout=120s');
    await inTeam('delete', 'trp,secrets', '--all');
    expect(await inTeam('get', 'pvc', '-o', 'name')).toBe('');

    const stopped = [...toRun.left].find((line) => line.startsWith('STOPPED=')) ?? '';
    await type([
      'kubectl scale deployment/davit-controller -n davit-system --replicas=0',
      'kubectl apply --server-side -f secrets.json',
      stopped,
      'jq "$STOPPED" records.json > stopped.json',
      "kubectl delete secrets -n NAMESPACE -l 'davit.dev/component in (postgres, redis)'",
      'kubectl apply --server-side -f stopped.json',
      'kubectl scale deployment/davit-controller -n davit-system --replicas=2',
      'kubectl wait --for=condition=DatabaseReady appd/NAME -n NAMESPACE --timeout=5m',
    ]);
    expect(await serverPods()).toBe('');
    await type([LOAD]);
    await type(['kubectl apply --server-side -f records.json']);
    await hasWhatItStored();
    say('Restored from its dump, it has what it stored');
  });

  it('a volume that alone is lost is replaced on a word, and loaded with the dump', async () => {
    const uid = await inTeam('get', 'pvc', 'shop--postgres', '-o', 'jsonpath={.metadata.uid}');
    await inTeam('delete', 'pvc', 'shop--postgres', '--wait=false');
    await inTeam('delete', 'pod', 'shop--postgres-0');
    const said = await until(
      'the record to say that the volume is missing',
      () => inTeam('get', 'appd', 'shop', '-o', 'jsonpath={.status.conditions[?(@.type=="Stalled")].message}'),
      (text) => text.includes(`davit.dev/empty-database=${uid}`),
    );
    expect(said).toContain('is missing');
    await type(
      [
        SCALE_TO_ZERO,
        'kubectl annotate appd NAME -n NAMESPACE --overwrite davit.dev/empty-database=UID',
        'kubectl wait --for=condition=DatabaseReady appd/NAME -n NAMESPACE --timeout=5m',
      ],
      { UID: uid },
    );
    await until('its pods to be gone', serverPods, (pods) => pods === '');
    await type([LOAD]);
    const scale = '{"spec":{"sourceConfig":{"resourceSpec":{"minScale":null,"maxScale":null}}}}';
    await inTeam('patch', 'appd', 'shop', '--type=merge', '-p', scale);
    await hasWhatItStored();
    say('With a new volume, it has what it stored');
  });

  it('Davit is upgraded, and nothing restarted', async () => {
    const pods = (): ReturnType<typeof podsOf> => podsOf(ground.cluster, 'team', 'davit.dev/deployment=shop');
    const before = await pods();
    const [, tag = ''] = ground.image.name.split(':');
    const upgrade = [...toRun.left].find((line) => line.startsWith('helm upgrade')) ?? '';
    await type([upgrade], { NEW: tag });
    const after = await pods();
    expect(after.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
      before.map(({ metadata }) => metadata.uid).toSorted(),
    );
    expect(restartsOf(after)).toBe(restartsOf(before));
    say('Upgraded');
  });

  it('Davit is taken away, and nothing of Davit is left', async () => {
    await type([
      'kubectl delete appd,lsn,dsop --all --all-namespaces',
      'helm uninstall davit -n davit-system --wait',
      "kubectl get crd -o name | grep '[.]davit[.]dev$' | xargs kubectl delete",
      'kubectl delete namespace davit-org davit-oauth davit-builds davit-system --ignore-not-found',
    ]);
    const kinds = 'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings';
    const left = ['get', kinds, '-l', 'app.kubernetes.io/name=davit', '-o', 'name'];
    expect(await ground.cluster.kubectl(left)).toBe('');
    expect(await ground.cluster.kubectl(['get', 'crd', '-o', 'name'])).not.toContain('davit.dev');
    expect(await ground.cluster.kubectl(['get', 'namespace', NAMESPACE, '--ignore-not-found'])).toBe('');
    say('Nothing of Davit is left');
  });
});

describe.skipIf(noPods !== undefined)('npm run demo', () => {
  interface Demo {
    readonly child: ChildProcess;
    /** What it has printed until now. */
    readonly said: () => string;
    readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
  }

  // Each is ended whatever its test came to; it then takes its cluster down.
  const running: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
    }
  }, 120_000);

  function start(command: string): Demo {
    const child = spawn('bash', ['-c', `exec ${command}`], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    running.push(child);
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    return { child, said: () => said, ended: ended.then((code) => ({ code, said })) };
  }

  it('--once ends after READY', async () => {
    const { code, said } = await start(toRun.take('npm run demo -- --once')).ended;
    expect([code, said]).toEqual([0, expect.stringContaining('READY')]);
  });

  it('--json says where everything is, until Ctrl-C, and what it says to try next works', async () => {
    const file = join(shell.folder, 'demo.json');
    const { child, said, ended } = start(toRun.take('npm run demo -- --json demo.json').replace('demo.json', file));
    const { apiUrl, token } = await until(
      'the file',
      async () => JSON.parse(await readFile(file, 'utf8')) as { apiUrl: string; token: string },
      () => true,
      170_000,
    );
    const answer = await fetch(`${apiUrl}/v2/deployments`, { headers: { 'x-api-key': token } });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"READY"')]);
    await until(
      'the last line',
      async () => said(),
      (text) => text.includes('Ctrl-C ends it all'),
    );
    const [exports = '', ...next] = [...said().matchAll(/^ {2}((?:export|kubectl|curl) .*)$/gm)].map(
      ([, line = '']) => line,
    );
    // Each of them, but a change takes effect before the next is made: a rollback is to a revision that serves.
    const change = next.findIndex((line) => line.includes(' patch appd '));
    const untilImage = (image: string): Promise<unknown> =>
      until(
        image,
        () =>
          shell.run([
            exports,
            'kubectl get appd hello -o jsonpath=\'{.status.conditions[?(@.type=="Ready")].status} {.spec.sourceRevisionConfig.imageUri} {.metadata.generation} {.status.observedGeneration}\'',
          ]),
        (text) => new RegExp(`^True ${image} (\\d+) \\1$`, 'm').test(text),
      );
    let out = await shell.run([exports, ...next.slice(0, change + 1)]);
    await untilImage('davit.local/sample:2');
    out += await shell.run([exports, ...next.slice(change + 1)]);
    await untilImage(String.raw`davit\.local/sample@sha256:\w+`);
    expect(out).toMatch(/^hello +READY/m);
    expect(out).toMatch(/^davit_\w+/m);
    expect(out).toMatch(/^appdeployment\S+ patched$/m);
    child.kill('SIGINT');
    await ended;
  });
});

it.skipIf(noPods !== undefined)('no command of the documents that could be run here was left out', () => {
  expect([...toRun.left]).toEqual([]);
});
