// What kubectl-davit makes of what kubectl answers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { join as joinListener, revoke } from './commands/listener.ts';
import { Failure, type Kubectl, makeKubectl } from './transport/kubectl.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';

function record(): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', uid, generation: 2, resourceVersion: '7' },
    spec: {
      source: 'external_docker',
      sourceConfig: { customUrl: 'https://shop.example.com' },
      sourceRevisionConfig: { imageUri: 'app:2' },
      secrets: [],
      revisionSerial: 2,
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
    },
    status: { state: 'READY', observedGeneration: 2 },
  };
}

/** As the HTTP API answers it, as far as `status` reads it. */
function aDeployment(name: string): object {
  return {
    id: uid,
    name,
    status: 'READY',
    phase: 'DEPLOYED',
    processed: true,
    conditions: [],
    databases_kept: [],
    source_config: { custom_url: null, resource_spec: { max_scale: 1 } },
    created_at: '2026-01-01T00:00:00Z',
    changed_by: null,
    internal_url: null,
    active_revision_id: null,
    latest_revision_id: null,
  };
}

function aPod(name: string, part: string, problem: object | null = null): object {
  const of = { name, part, revision_id: null, started_for_revision_id: null, made_by: 'ReplicaSet/shop-5f4d' };
  return { ...of, ending: false, ready: false, restarts: 0, usage: null, limits: {}, problem };
}

describe('kubectl', () => {
  it('passes the cluster flags, and throws its words', async () => {
    const node = makeKubectl(['-e', 'console.error("refused"); process.exit(1)', '--'], process.execPath);
    await expect(node(['get'])).rejects.toThrow(new Failure('refused'));
  });

  it('says so when it is not there', async () => {
    await expect(makeKubectl([], 'no-such-kubectl')(['get'])).rejects.toThrow(/no-such-kubectl could not be started/);
  });
});

// Each starts a process, which takes long on a busy machine.
describe('the command', { timeout: 240_000 }, () => {
  interface Ran {
    readonly code: number | null;
    readonly out: string;
    readonly err: string;
  }

  /** Runs it with a kubectl that is this script of sh; `reads` false: nobody reads what it says. */
  async function davit(args: readonly string[], { reads = true, kubectl = 'echo {}' } = {}): Promise<Ran> {
    const folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\ncd ${folder}\n${kubectl}\n`);
    await chmod(join(folder, 'kubectl'), 0o755);
    const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (!reads) program.stdout.destroy();
    const [code, out, err] = await Promise.all([
      new Promise<number | null>((resolve) => program.once('close', resolve)),
      reads ? text(program.stdout) : '',
      text(program.stderr),
    ]);
    await rm(folder, { recursive: true });
    return { code, out, err };
  }

  /** Runs it with an address and a token alone. The API has so many deployments, and the first one these pods. */
  async function overHttp(
    args: readonly string[],
    { deployments, pods }: { readonly deployments: number; readonly pods: readonly object[] },
    reads = true,
  ): Promise<Ran> {
    const listed = Array.from({ length: deployments }, (_, at) => aDeployment(at === 0 ? 'shop' : `shop-${at}`));
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      const isPast = Number(searchParams.get('offset')) > 0;
      const answer = pathname.endsWith('/events')
        ? { resources: [], pods, truncated: false }
        : { resources: isPast || pathname.endsWith('/revisions') ? [] : listed };
      response.end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await davit([...args, '--token=x', `--server=${address}`], { reads });
    server.closeAllConnections();
    server.close();
    return ran;
  }

  it('names the components that there are', async () => {
    const { code, err } = await davit(['logs', 'shop', '--component', 'task']);
    expect([code, err.split('\n')[0]]).toEqual([
      2,
      '--component must be one of server, queue, orchestrator, executor, redis, postgres, migrate or the name of a worker, not "task".',
    ]);
  });

  describe('deploy, ended by Ctrl-C,', () => {
    const ID = '11111111-0000-5000-8000-000000000000';
    const deployment = {
      id: uid,
      name: 'shop',
      source: 'internal_source',
      status: 'UNUSED',
      phase: 'QUEUED',
      status_message: 'It waits.',
      processed: true,
      conditions: [{ type: 'Ready', status: 'False', reason: 'BuildQueued', message: 'It waits.' }],
      databases_kept: [],
      source_config: { custom_url: null },
      source_revision_config: { workflow_config_path: null },
      secrets: [],
      latest_revision_id: ID,
    };

    /** Answers until the build has begun, which never ends; `silent`: does not answer at all. */
    async function interrupted(
      after: string,
      { silent = false, isNew = false } = {},
    ): Promise<[code: number | null, err: string]> {
      const server = createServer(async (request, response) => {
        await text(request);
        const { method, url = '', headers } = request;
        if (silent) return program.kill('SIGINT');
        if (isNew && url === '/put') return undefined;
        const answer = url.includes('/deployments/file')
          ? {
              name: 'shop',
              created: isNew,
              changes: [],
              missing_secrets: [],
              file: {},
              deployment: isNew && url.includes('dry_run=true') ? null : deployment,
            }
          : url.includes('build_logs')
            ? { logs: [], next_offset: null, position: null }
            : url.includes('/revisions?')
              ? { resources: [] }
              : url.includes('/upload-url')
                ? {
                    upload_url: `http://${headers.host}/put`,
                    object_path: 'uploads/1',
                    upload_headers: {},
                    max_bytes: 1e6,
                  }
                : method === 'GET' && url.includes('name=')
                  ? { resources: isNew ? [] : [deployment] }
                  : deployment;
        return response.end(JSON.stringify(answer));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const folder = await mkdtemp(join(tmpdir(), 'davit-shop-'));
      await writeFile(join(folder, 'langgraph.json'), '{}');
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const args = ['deploy', folder, '--name=shop', '-n', 'team', '--token=x', `--server=${address}`];
      const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
        env: { ...process.env, PATH: '' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      program.stdout.on('data', (said: Buffer) => said.includes(after) && program.kill('SIGINT'));
      const [code, err] = await Promise.all([
        new Promise<number | null>((resolve) => program.once('close', resolve)),
        text(program.stderr),
      ]);
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
      return [code, err.replace(address, 'SERVER')];
    }

    it('says how to follow the build, which goes on', async () => {
      expect(await interrupted('BuildQueued')).toEqual([
        130,
        'The build continues. To follow it: kubectl davit logs shop --build --follow --namespace=team --server=SERVER\n',
      ]);
    });

    it('says that nothing was deployed before', async () => {
      expect(await interrupted('never', { silent: true })).toEqual([130, 'Nothing was deployed.\n']);
    });

    it('says what it has created before', async () => {
      expect(await interrupted('Uploading', { isNew: true })).toEqual([
        130,
        'Nothing was deployed. Deployment shop was created without a revision, and stays.\n',
      ]);
    });
  });

  it.each<[string, string[], RegExp]>([
    [
      'no folder',
      ['deploy'],
      /^Which folder\? kubectl davit deploy FOLDER, or --image IMAGE --name NAME, or --file FILE that names an image_uri\n/,
    ],
    ['two folders', ['deploy', 'a', 'b'], /^Name only one folder\. Unexpected: "b"\.\n/],
    ['a flag of pods', ['logs', 'shop', '--build', '--previous'], /^--previous is for pods, not for --build\.\n/],
  ])('refuses %s', async (_name, args, message) => {
    expect(await davit(args)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it('shows no control characters of what a container wrote', async () => {
    const words = 'x\u001B]0;TITLE\u0007\r  ok Ready: Serving\u001B[8m\u202E';
    const pods = [aPod('shop-1', 'server', { reason: 'ContainerCrashed', message: words })];
    const { out } = await overHttp(['status', 'shop'], { deployments: 1, pods });
    expect(out).toContain('TITLE');
    expect(out).not.toMatch(/[^\P{C}\n]/u);
  });

  it('opens a port until it ends, and fails as kubectl does', async () => {
    const pod = { metadata: { name: 'shop-1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const kubectl = `case "$2" in
        appdeployments*) echo '${JSON.stringify(record())}'; exit ;;
        pods) echo '${JSON.stringify({ items: [pod] })}'; exit ;;
      esac
      echo "$*" >&2; echo "Forwarding from 127.0.0.1:4321 -> 8000"`;
    expect(await davit(['open', 'shop'], { kubectl })).toMatchObject({ code: 0, out: 'http://127.0.0.1:4321\n' });
    const { out } = await davit(['open', 'shop', '-o', 'json'], { kubectl });
    expect(JSON.parse(out)).toEqual({ name: 'shop', url: 'http://127.0.0.1:4321' });
    expect(await davit(['open', 'shop'], { kubectl: kubectl.replace(/; echo "Forwarding.*/, '; exit 1') })).toEqual({
      code: 1,
      out: '',
      err: 'port-forward --address=127.0.0.1 pod/shop-1 :http\n',
    });
  });

  it('opens no port that another program has, and asks nothing before', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await davit(['open', 'shop', '--port', `${port}`])).toEqual({
      code: 1,
      out: '',
      err: `Port ${port} of 127.0.0.1 cannot be used: another program listens on it. Choose another with --port, or leave out --port to use any free one.\n`,
    });
    server.close();
  });

  describe('ends in silence when nobody reads any more:', () => {
    it('help', async () => {
      expect(await davit(['help'], { reads: false })).toMatchObject({ code: 141, err: '' });
    });

    it('what is wrong, too', async () => {
      const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), 'fly'], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      program.stderr.destroy();
      expect(await new Promise((resolve) => program.once('close', resolve))).toBe(141);
    });

    it('status of one deployment', async () => {
      const answers = { deployments: 1, pods: Array.from({ length: 3000 }, (_, at) => aPod(`shop-${at}`, `w${at}`)) };
      expect((await overHttp(['status', 'shop'], answers)).out.split('\n').length).toBeGreaterThan(6000);
      expect(await overHttp(['status', 'shop'], answers, false)).toMatchObject({ code: 141, err: '' });
    });

    it('status of all', async () => {
      const answers = { deployments: 10_000, pods: [] };
      expect((await overHttp(['status'], answers)).out.split('\n').length).toBeGreaterThan(10_000);
      expect(await overHttp(['status'], answers, false)).toMatchObject({ code: 141, err: '' });
    });
  });
});

describe('listener', () => {
  const LISTENER = {
    metadata: { name: 'edge', namespace: 'team', uid },
    spec: { namespaces: ['shops', 'tools'] },
    status: { namespace: 'davit-lsn-8b5c0f3e' },
  };
  const NO_WAIT = (): Promise<void> => expect.unreachable('nothing new is created');
  /** `hasSecret`: whether the Secret of its tokens exists. */
  function answers(listener: object, asked: string[] = [], hasSecret = true): Kubectl {
    const cluster = { server: 'https://hub.example:6443', 'certificate-authority-data': 'Q0E=' };
    return (args) => {
      asked.push(args.join(' '));
      if (args[0] === 'get' && args[1] === 'secret') return Promise.resolve(hasSecret ? 'secret/x\n' : '');
      if (args[0] === 'get') return Promise.resolve(JSON.stringify(listener));
      return Promise.resolve(args[0] === 'config' ? JSON.stringify({ clusters: [{ cluster }] }) : 'token\n');
    };
  }
  const decoded = (manifest: string): unknown => {
    const { data } = JSON.parse(manifest) as { data: Record<string, string> };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };

  it('join prints the Secret of the other cluster, with a token for an hour that ends with its Secret', async () => {
    const asked: string[] = [];
    const { manifest, instructions } = await joinListener(answers(LISTENER, asked), 'edge', undefined, NO_WAIT);
    expect(asked).toContain(
      'create token davit-listener --namespace=davit-lsn-8b5c0f3e --duration=1h --bound-object-kind=Secret --bound-object-name=davit-listener-token',
    );
    expect(decoded(manifest)).toEqual({
      server: 'https://hub.example:6443',
      namespace: 'davit-lsn-8b5c0f3e',
      token: 'token',
      ca: 'CA',
    });
    expect(instructions).toContain(`kubectl label namespace tools davit.dev/tenant=true davit.dev/listener=${uid}`);
    expect(instructions).toContain("listener.namespaces='{shops,tools}'");
    expect(instructions).not.toContain('token');
  });

  it('join takes another address of the hub', async () => {
    const { manifest } = await joinListener(answers(LISTENER), 'edge', 'https://outside.example', NO_WAIT);
    expect(decoded(manifest)).toMatchObject({ server: 'https://outside.example' });
  });

  it('join and revoke fail while the Listener has no namespace', async () => {
    const kubectl = answers({ ...LISTENER, status: {} });
    await expect(joinListener(kubectl, 'edge', undefined, NO_WAIT)).rejects.toThrow('settings.listeners.enabled');
    await expect(revoke(kubectl, 'edge')).rejects.toThrow('settings.listeners.enabled');
  });

  const CREATE = 'create secret generic davit-listener-token --namespace=davit-lsn-8b5c0f3e';

  it('join creates the Secret to which all tokens are bound when no API server accepts tokens of an earlier one, which could create others', async () => {
    const asked: string[] = [];
    const waited: number[] = [];
    await joinListener(answers(LISTENER, asked, false), 'edge', undefined, async (ms) => {
      waited.push(ms);
      expect(asked).not.toContain(CREATE);
    });
    expect(waited).toEqual([15_000]);
    expect(asked.indexOf(CREATE)).toBeGreaterThan(0);
    expect(asked.indexOf(CREATE)).toBeLessThan(asked.findIndex((args) => args.startsWith('create token')));
  });

  it('join again creates another token of the same Secret', async () => {
    const asked: string[] = [];
    await joinListener(answers(LISTENER, asked), 'edge', undefined, NO_WAIT);
    expect([asked.includes(CREATE), asked.some((args) => args.startsWith('create token'))]).toEqual([false, true]);
  });

  it('join fails while the Listener lists no namespace, without which the chart does not render', async () => {
    const kubectl = answers({ ...LISTENER, spec: {} });
    await expect(joinListener(kubectl, 'edge', undefined, NO_WAIT)).rejects.toThrow('lists no namespace');
  });

  it('revoke deletes the Secret to which all tokens are bound, and creates no other', async () => {
    const asked: string[] = [];
    await revoke(answers(LISTENER, asked), 'edge');
    expect(asked.slice(1)).toEqual([
      'delete secret davit-listener-token --namespace=davit-lsn-8b5c0f3e --ignore-not-found',
    ]);
  });
});
