// A controller that starts where something is missing: it says what, in its log and at /readyz, goes on living, and
// begins when it is there.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { ORGANIZATION_NAMESPACE } from '../../support/platform.ts';
import { attach, eventually } from '../../support/running-davit.ts';

const davit = attach(inject('davit'));
const NAMESPACE = 'start-up';
/** A tenant whose namespace was deleted, with Davit's Role in it, before its name left the settings. */
const DELETED = 'start-up-deleted';
let folder: string;
let child: ChildProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-start-up-'));
});
afterEach(async () => {
  if (child?.exitCode === null) {
    child.kill('SIGTERM');
    await new Promise((resolve) => child?.on('exit', resolve));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Line {
  readonly msg: string;
  readonly missing?: string;
}

interface Started {
  readonly lines: readonly Line[];
  /** /readyz: its status, and what it says. */
  ready(): Promise<{ status: number; text: string }>;
  exitCode(): number | null;
}

interface Cluster {
  readonly server: string;
  readonly ca?: string;
  readonly token?: string;
}

/** `davit controller`, looking after one namespace alone, so that it leaves the records of other tests to the real one. */
async function startController({ server, ca, token }: Cluster, requirements: object): Promise<Started> {
  const file = async (name: string, content: object): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify(content));
    return path;
  };
  const kubeconfig = await file('kubeconfig', {
    clusters: [
      {
        name: 'c',
        cluster: {
          server,
          ...(ca
            ? { 'certificate-authority-data': Buffer.from(ca).toString('base64') }
            : { 'insecure-skip-tls-verify': true }),
        },
      },
    ],
    users: [{ name: 'u', user: { ...(token && { token }) } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
  const port = await freePort();
  const started = spawn(process.execPath, [join(import.meta.dirname, '../../../src/main.ts'), 'controller'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      DAVIT_KUBECONFIG: kubeconfig,
      DAVIT_SETTINGS: await file('settings.yaml', {
        namespaces: [NAMESPACE, DELETED],
        organizationNamespace: NAMESPACE,
      }),
      DAVIT_REQUIREMENTS: await file('requirements.yaml', requirements),
      DAVIT_NAMESPACE: NAMESPACE,
      DAVIT_HEALTH_PORT: String(port),
    },
  });
  child = started;
  const lines: Line[] = [];
  createInterface({ input: started.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line));
  return {
    lines,
    exitCode: () => started.exitCode,
    ready: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: answer.status, text: await answer.text() };
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.on('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('without rights and policies', () => {
  it('reports it, keeps running, and becomes ready when they are there', async () => {
    for (const args of [
      ['create', 'namespace', NAMESPACE],
      ['create', 'serviceaccount', 'davit', '-n', NAMESPACE],
    ])
      await davit.kubectl(args);
    const token = (await davit.kubectl(['create', 'token', 'davit', '-n', NAMESPACE])).trim();
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'create'] }];
    const controller = await startController(
      { server: davit.server, ca: davit.ca, token },
      { admissionPolicies: ['davit-hosting', 'not-yet'], rights: [{ namespace: NAMESPACE, rules }] },
    );
    await eventually(async () => {
      const { status, text } = await controller.ready();
      expect(status).toBe(503);
      expect(text).toContain('[+] kubernetes\n[+] definitions\n');
      expect(text).toContain('[-] rights: not granted: create deployments.apps in start-up. Upgrade the chart');
      expect(text).toMatch(/\[-\] admission: .*User "system:serviceaccount:start-up:davit" cannot get resource/);
      expect(text).toMatch(/\[-\] deployments: not listed yet: .*cannot list resource "deployments"/);
    });

    const account = `--serviceaccount=${NAMESPACE}:davit`;
    await davit.kubectl(['create', 'clusterrole', NAMESPACE, '--verb=get,list,watch', '--resource=namespaces']);
    await davit.kubectl(['create', 'clusterrolebinding', NAMESPACE, `--clusterrole=${NAMESPACE}`, account]);
    const policies = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
    await davit.kubectl(['create', 'clusterrole', `${NAMESPACE}-policies`, '--verb=get', `--resource=${policies}`]);
    await davit.kubectl([
      'create',
      'clusterrolebinding',
      `${NAMESPACE}-policies`,
      `--clusterrole=${NAMESPACE}-policies`,
      account,
    ]);
    await davit.kubectl(['create', 'rolebinding', 'davit', '-n', NAMESPACE, '--clusterrole=davit-controller', account]);
    const verbs = '--verb=get,create,update,patch';
    await davit.kubectl(['create', 'role', 'lease', '-n', NAMESPACE, verbs, '--resource=leases']);
    await davit.kubectl(['create', 'rolebinding', 'lease', '-n', NAMESPACE, '--role=lease', account]);
    // What the chart grants in the organization's namespace, in the one that stands for it here.
    const roles = await davit.kubectlJson<{ items: { metadata: { name: string }; rules: object[] }[] }>([
      'get',
      'roles',
      '-n',
      ORGANIZATION_NAMESPACE,
    ]);
    for (const { metadata, rules } of roles.items.filter((role) => role.metadata.name.startsWith('davit-controller'))) {
      const { name } = metadata;
      await davit.kubectl(['apply', '-f', '-'], {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name, namespace: NAMESPACE },
        rules,
      });
      await davit.kubectl(['create', 'rolebinding', name, '-n', NAMESPACE, `--role=${name}`, account]);
    }
    await eventually(async () => {
      const { status, text } = await controller.ready();
      expect(text.split('\n').filter((line) => line.startsWith('[-]'))).toEqual([
        expect.stringContaining('[-] admission: not enforced: not-yet. Without them') as string,
      ]);
      expect(status).toBe(503);
    });

    const group = 'admissionregistration.k8s.io';
    await davit.kubectl(['apply', '-f', '-'], {
      apiVersion: `${group}/v1`,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'not-yet' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ['davit.dev'], apiVersions: ['*'], resources: ['nothing'], operations: ['CREATE'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    });
    await davit.kubectl(['apply', '-f', '-'], {
      apiVersion: `${group}/v1`,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'not-yet' },
      spec: { policyName: 'not-yet', validationActions: ['Deny'] },
    });
    await eventually(async () => expect(await controller.ready()).toMatchObject({ status: 200 }));
    await eventually(async () =>
      expect(controller.lines.map(({ msg }) => msg)).toContain('Caches listed, reconciling'),
    );
    expect(controller.exitCode()).toBeNull();
    expect(controller.lines.flatMap(({ missing }) => missing ?? [])).toContainEqual(
      expect.stringContaining('not granted: create deployments.apps in start-up'),
    );
  });
});

describe('an API server that is too old', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  it('gets only requests for its version until it is upgraded', async () => {
    let gitVersion = 'v1.33.4';
    const asked = new Set<string>();
    server = createServer((request, response) => {
      const path = (request.url ?? '').split('?')[0] ?? '';
      asked.add(path);
      response.setHeader('content-type', 'application/json');
      if (path === '/version') response.end(JSON.stringify({ gitVersion }));
      else response.writeHead(404).end(JSON.stringify({ kind: 'Status', message: 'not in this test' }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server?.on('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const controller = await startController({ server: url }, {});
    await eventually(async () => {
      const { status, text } = await controller.ready();
      expect(status).toBe(503);
      expect(text).toContain('[-] kubernetes: Kubernetes v1.33.4 is too old: Davit needs 1.34 or newer');
    });
    expect([...asked]).toEqual(['/version']);

    gitVersion = 'v1.34.0';
    await eventually(async () => {
      const { text } = await controller.ready();
      expect(text).toContain('[+] kubernetes\n');
      expect(text).toContain('[-] definitions: not installed: appdeployments.davit.dev, ');
    });
    expect(controller.exitCode()).toBeNull();
  });
});
