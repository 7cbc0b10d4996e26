// How kubectl-davit reaches Davit's HTTP API.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../transport/http-api.ts';
import { Failure, forward } from '../transport/kubectl.ts';
import { type ConnectionOptions, connect } from './connection.ts';

const OPTIONS: ConnectionOptions = { davitNamespace: 'davit-system', environment: process.env };
const context = (more: object): object => ({
  'current-context': 'here',
  contexts: [
    { name: 'here', context: { user: 'me', cluster: 'c', namespace: 'team' } },
    { name: 'there', context: { user: 'ci', cluster: 'c' } },
  ],
  users: [
    { name: 'me', user: more },
    { name: 'ci', user: { token: 'ci-token' } },
  ],
  clusters: [{ name: 'c', cluster: { server: 'https://cluster' } }],
});

interface Reached {
  readonly connection?: object;
  readonly again?: Connection['again'];
  readonly error?: string;
  readonly asked: readonly string[];
}

/** `service`: the port of Davit's Service, as kubectl tells it. */
async function reach(
  options: Partial<ConnectionOptions>,
  kubeconfig: object | Error = context({ token: 'my-token' }),
  service: object | Error = { name: 'https', port: 443 },
): Promise<Reached> {
  const asked: string[] = [];
  const tell = (given: object | Error): string => {
    if (given instanceof Error) throw given;
    return JSON.stringify(given);
  };
  const cluster = {
    kubectl: async (args: readonly string[]) => {
      asked.push(args.join(' '));
      return args[0] === 'config'
        ? tell(kubeconfig)
        : tell(service instanceof Error ? service : { spec: { ports: [service] } });
    },
    forward: async (...args: [string, string, number]) => {
      asked.push(`forward ${args.join(' ')}`);
      const { promise: ended, resolve } = Promise.withResolvers<{ code: number; message: string }>();
      return { port: 4321, ended, close: () => resolve({ code: 130, message: '' }) };
    },
  };
  try {
    const { again, ...connection } = await connect(cluster, { ...OPTIONS, ...options });
    return { connection, ...(again && { again }), asked };
  } catch (error) {
    return { error: (error as Error).message, asked };
  }
}

describe('the address', () => {
  it('is that of --server, with its base path', async () => {
    const { connection, asked } = await reach({ server: 'https://davit.example.com/api-host/' });
    expect(connection).toEqual({ server: 'https://davit.example.com/api-host', token: 'my-token', namespace: 'team' });
    expect(asked).toEqual(['config view --raw -o json']);
  });

  it.each(['davit.example.com', 'ftp://davit', ''])('is not %j', async (server) => {
    expect((await reach({ server })).error).toMatch(/^--server must be an address such as https/);
  });

  it.each([
    ['https', 443, { tls: { rejectUnauthorized: false } }],
    ['http', 80, {}],
  ])('is a port that is forwarded to the Service, by %s', async (name, port, more) => {
    const { connection, asked } = await reach({ davitNamespace: 'davit' }, undefined, { name, port });
    expect(connection).toEqual({ server: `${name}://127.0.0.1:4321`, token: 'my-token', namespace: 'team', ...more });
    expect(asked.slice(1)).toEqual([
      'get service davit-api --namespace=davit -o json',
      `forward davit davit-api ${port}`,
    ]);
  });

  it('is made again, with another token and port, and the port before is closed', async () => {
    const { again, asked } = await reach({});
    expect(again?.isOver()).toBe(false);
    expect(await again?.connect()).toMatchObject({ token: 'my-token' });
    expect(again?.isOver()).toBe(true);
    expect(asked.filter((one) => /^(?:forward|config)/.test(one))).toHaveLength(4);
    const SERVER = { server: 'https://davit.example.com' };
    expect((await reach(SERVER)).again?.isOver()).toBe(false);
    expect((await reach({ ...SERVER, token: 'given' })).again).toBeUndefined();
  });

  it('is asked for where the Service cannot be seen', async () => {
    expect((await reach({}, undefined, new Failure('services "davit-api" is forbidden'))).error).toBe(
      `Davit's HTTP API cannot be reached through the Service davit-api in namespace davit-system: services "davit-api" is forbidden
Name its address with --server or DAVIT_SERVER, or its namespace with --davit-namespace.`,
    );
  });
});

describe('the token', () => {
  const SERVER = { server: 'https://davit.example.com' };

  it('is the one that is given, also where there is no kubeconfig and no kubectl', async () => {
    const { connection } = await reach({ ...SERVER, token: 'given' }, new Failure('kubectl could not be started'));
    expect(connection).toEqual({ ...SERVER, token: 'given' });
  });

  it('and the namespace are of the context, or of the one that is chosen', async () => {
    expect((await reach(SERVER)).connection).toMatchObject({ token: 'my-token', namespace: 'team' });
    // As kubectl and the plugin's own API take it. With an address and a token, the API chooses the token's only tenant.
    const there = { ...SERVER, context: 'there' };
    expect((await reach(there)).connection).toEqual({ ...SERVER, token: 'ci-token', namespace: 'default' });
    expect((await reach({ ...there, token: 'given' })).connection).toEqual({ ...SERVER, token: 'given' });
    expect((await reach({ ...SERVER, user: 'ci', namespace: 'other' })).connection).toMatchObject({
      token: 'ci-token',
      namespace: 'other',
    });
  });

  it('is in a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-token-'));
    await writeFile(join(folder, 'token'), 'of-a-file\n');
    const { connection } = await reach(SERVER, context({ tokenFile: join(folder, 'token') }));
    expect(connection).toMatchObject({ token: 'of-a-file' });
    await rm(folder, { recursive: true });
  });

  const program = (script: string): object => ({
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', script],
      env: [{ name: 'GIVEN', value: 'of-a-program' }],
      provideClusterInfo: true,
    },
  });

  it('is what a program gives', async () => {
    const script = `const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
      console.log(JSON.stringify({ status: { token: process.env.GIVEN + ' ' + spec.cluster.server } }))`;
    expect((await reach(SERVER, context(program(script)))).connection).toMatchObject({
      token: 'of-a-program https://cluster',
    });
  });

  it.each([
    ['a program that fails', program('process.exit(1)'), /gave no token: /],
    [
      'a client certificate',
      { 'client-certificate-data': 'x' },
      /takes no client certificate\. Give a token:\n.*DAVIT_TOKEN=/,
    ],
    ['nothing', {}, /^The kubeconfig has no token/],
  ])('is missing with %s', async (_name, user, message) => {
    expect((await reach(SERVER, context(user))).error).toMatch(message);
  });

  it('cannot be of somebody else', async () => {
    for (const token of [undefined, 'given'])
      expect((await reach({ ...SERVER, token, impersonated: 'bob' })).error).toMatch(
        /^--as works only with kubectl\..* Without --server and DAVIT_SERVER, --as works with the kubeconfig/,
      );
    expect((await reach({ impersonated: 'bob' })).error).toMatch(/^--as works only with kubectl\..* with --token\.$/);
  });

  it('is missing with no kubeconfig, and with an address where there is no kubectl', async () => {
    expect((await reach({}, {})).error).toMatch(/^The kubeconfig has no token/);
    const missing = new Failure('kubectl could not be started: spawn kubectl ENOENT');
    expect((await reach(SERVER, missing)).error).toMatch(/^The kubeconfig has no token/);
    expect((await reach({}, missing)).error).toBe(missing.message);
    expect((await reach(SERVER, new Failure('error loading config file'))).error).toBe('error loading config file');
  });
});

describe('a forwarded port', () => {
  const node = (script: string): Promise<Awaited<ReturnType<typeof forward>>> =>
    forward(['-e', script, '--'], { target: 'service/shop', port: 80 }, process.execPath);

  it('is the one that kubectl names, until it is closed', async () => {
    const forwarded = await node(
      'console.log("Forwarding from 127.0.0.1:4321 -> 8000\\nForwarding from [::1]:4321 -> 8000"); setInterval(() => {}, 1000)',
    );
    expect(forwarded.port).toBe(4321);
    forwarded.close();
    expect((await forwarded.ended).code).toBe(130);
  });

  it('fails in the words of kubectl', async () => {
    await expect(node('console.error("services \\"shop\\" not found"); process.exit(1)')).rejects.toThrow(
      new Failure('services "shop" not found'),
    );
  });
});
