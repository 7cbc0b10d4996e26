// Kubeconfigs as people and clouds write them: what is followed, what is refused in words, and what a rotation needs.
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../test/cluster/certificates.ts';
import { CONFIG_MAPS } from './api-resources.ts';
import { inClusterAccess, loadKubeConfigFile } from './config.ts';
import { makeKubeClient } from './http-client.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function aDirectory(files: Readonly<Record<string, string>> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'davit-config-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

function kubeconfig(user: object, cluster: object = {}): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

async function authorizationOf(path: string): Promise<string | undefined> {
  const access = await loadKubeConfigFile({ path });
  return (await access.credentials()).headers['authorization'];
}

function aPlugin(directory: string, script: string): string {
  const path = join(directory, 'plugin');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const credential = (token: string): string =>
  `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${token}"}}'`;

describe('kubeconfig', () => {
  it('reads a token file, named from where the kubeconfig is, and again after a refusal', async () => {
    const directory = aDirectory({ config: kubeconfig({ token: 'in the file', tokenFile: 'token' }), token: 'old\n' });
    const access = await loadKubeConfigFile({ path: join(directory, 'config') });
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer old' });
    writeFileSync(join(directory, 'token'), 'new\n');
    access.refresh();
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer new' });
  });

  it('keeps its token while the file is empty, and looks again at once', async () => {
    const directory = aDirectory({ config: kubeconfig({ tokenFile: 'token' }), token: 'old' });
    const access = await loadKubeConfigFile({ path: join(directory, 'config') });
    writeFileSync(join(directory, 'token'), '');
    access.refresh();
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer old' });
    writeFileSync(join(directory, 'token'), 'new');
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer new' });
    writeFileSync(join(directory, 'token'), '\n');
    await expect(loadKubeConfigFile({ path: join(directory, 'config') })).rejects.toThrow('the file contains no token');
  });

  it('reads a token that was changed in the kubeconfig itself after a refusal', async () => {
    const directory = aDirectory({ config: kubeconfig({ token: 'old' }) });
    const access = await loadKubeConfigFile({ path: join(directory, 'config') });
    writeFileSync(join(directory, 'config'), kubeconfig({ token: 'new' }));
    access.refresh();
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer new' });
  });

  it('asks an exec plug-in, tells it what it may do, and asks again after a refusal', async () => {
    const directory = aDirectory();
    const command = aPlugin(directory, `echo "$KUBERNETES_EXEC_INFO $MINE" >> ${directory}/told; ${credential('a')}`);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, env: [{ name: 'MINE', value: 'too' }] };
    writeFileSync(join(directory, 'config'), kubeconfig({ exec: { ...exec, interactiveMode: 'IfAvailable' } }));
    const access = await loadKubeConfigFile({ path: join(directory, 'config') });
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer a' });
    aPlugin(directory, `[ "$MINE" = too ] && ${credential('b')}`);
    access.refresh();
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer b' });
    aPlugin(directory, `case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ${credential('c')};; esac`);
    access.refresh();
    expect((await access.credentials()).headers).toEqual({ authorization: 'Bearer c' });
  });

  it('says which plug-in failed, why, and how to get it', async () => {
    const directory = aDirectory();
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: aPlugin(directory, 'echo no login >&2; exit 1'),
    };
    writeFileSync(join(directory, 'config'), kubeconfig({ exec }));
    await expect(authorizationOf(join(directory, 'config'))).rejects.toThrow(/plug-in .*plugin: no login/);
    const missing = { ...exec, command: 'no-such-plug-in', installHint: 'Get it from your cloud.' };
    writeFileSync(join(directory, 'config'), kubeconfig({ exec: missing }));
    await expect(authorizationOf(join(directory, 'config'))).rejects.toThrow(/ENOENT\nGet it from your cloud\./);
  });

  it.each([
    ['a proxy', kubeconfig({ token: 't' }, { 'proxy-url': 'http://proxy:3128' }), /proxy-url is not supported/],
    ['groups to act as', kubeconfig({ token: 't', as: 'a', 'as-groups': ['g'] }), /as-groups is not supported/],
    [
      'a plug-in that wants a terminal',
      kubeconfig({ exec: { command: 'login', interactiveMode: 'Always' } }),
      /login requires a terminal/,
    ],
  ])('refuses %s in words', async (_, text, words) => {
    const path = join(aDirectory({ config: text }), 'config');
    await expect(loadKubeConfigFile({ path })).rejects.toThrow(words);
  });

  it('says which context is missing', async () => {
    const path = join(
      aDirectory({ config: '{"clusters":[],"users":[],"contexts":[],"current-context":"a"}' }),
      'config',
    );
    await expect(loadKubeConfigFile({ path, context: 'b' })).rejects.toThrow('no context b');
  });
});

describe('a rotated authority', () => {
  const [before, after] = [makeAuthority('before'), makeAuthority('after')];
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' } };

  async function aServer(): Promise<{ readonly port: number; rotate(): void }> {
    const answer = (_: IncomingMessage, response: ServerResponse): void => void response.end(JSON.stringify(configMap));
    const { key, certificate: cert } = before.serving('s', ['127.0.0.1']);
    const server: Server = createServer({ key, cert }, answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return {
      port: (server.address() as AddressInfo).port,
      rotate() {
        const next = after.serving('s', ['127.0.0.1']);
        server.setSecureContext({ key: next.key, cert: next.certificate });
        server.closeAllConnections();
      },
    };
  }

  it('is read again as soon as a server shows a certificate that ours did not sign', async () => {
    const { port, rotate } = await aServer();
    const directory = aDirectory({ token: 't', namespace: 'n', 'ca.crt': before.certificate });
    const access = await inClusterAccess({ host: '127.0.0.1', port, directory });
    const client = makeKubeClient({ access, userAgent: 'test' });
    cleanups.push(() => client.close());
    await client.get(CONFIG_MAPS, configMap.metadata);
    rotate();
    await expect(client.create(CONFIG_MAPS, configMap)).rejects.toThrow(/certificate/);
    writeFileSync(join(directory, 'ca.crt'), after.certificate);
    // Within the ten seconds for which the old one would be remembered.
    await expect(client.get(CONFIG_MAPS, configMap.metadata)).resolves.toMatchObject({ kind: 'ConfigMap' });
  });
});
