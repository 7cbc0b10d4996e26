// The played builds against what Davit really makes: its Job's pod, its Secrets, its client of code hosts.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { makeCodeHosts } from '../../../src/build/codehost/code-hosts.ts';
import type { BuildInputs } from '../../../src/build/job/inputs.ts';
import { makeBuildJob, makeBuildSecrets } from '../../../src/build/job/job.ts';
import { dockerConfig } from '../../../src/build/registry/docker-config.ts';
import { REGISTRY_USER, registryPassword } from '../../../src/build/registry/registry-grant.ts';
import { repositoryOf } from '../../../src/deploy/record/registry-names.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { SOURCE_TOKEN } from './build-world/code-host.ts';
import { digestOf } from './build-world/registry.ts';
import { type BuildWorld, startBuildWorld } from './build-world.ts';

const ID = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const KEY = Buffer.alloc(32, 7);
const TENANT = { namespace: 'run-1', tenantId: '12345678-0000-4000-8000-000000000000' };

interface Status {
  readonly phase?: string;
  readonly containerStatuses?: readonly { readonly state: { readonly terminated?: { readonly message: string } } }[];
}

/** As much of an API server as the world asks: Secrets by their path, one pod, and its status. */
function aServer(): {
  readonly cluster: Cluster;
  readonly secrets: Map<string, object>;
  show(pod: object): void;
  status(): Status;
} {
  const secrets = new Map<string, object>();
  let shown: object | undefined;
  let status: Status = {};
  let tell: (object: never, gone: boolean) => void = () => undefined;
  const call = (method: string, path: string, body?: unknown): Promise<unknown> => {
    if (method === 'PATCH') status = (body as { status: Status }).status;
    if (method === 'POST') return Promise.resolve({ metadata: { name: 'x', uid: ID } });
    if (path.includes('/roles/')) return Promise.resolve({ rules: [] });
    if (path.endsWith('/pods')) return Promise.resolve({ items: shown ? [shown] : [] });
    if (!path.includes('/secrets/')) return Promise.resolve({});
    const secret = secrets.get(path.split('/').at(-1) ?? '');
    return secret ? Promise.resolve(secret) : Promise.reject(new Error('404'));
  };
  const follow = (_path: string, _signal: AbortSignal, onObject: typeof tell): Promise<void> => {
    tell = onObject;
    return Promise.resolve();
  };
  return {
    cluster: { api: { call, follow } as unknown as ApiClient } as Cluster,
    secrets,
    show: (pod) => {
      shown = pod;
      tell(pod as never, false);
    },
    status: () => status,
  };
}

interface Played {
  readonly world: BuildWorld;
  readonly settings: Settings;
  /** Runs the pod of a build of this source to its end; with what the credential is for, if not for its own repository. */
  run(source: BuildInputs['source'], grantedFor?: string): Promise<Status>;
}

async function aWorld(): Promise<Played> {
  const server = aServer();
  server.secrets.set('davit-registry-key', { data: { key: KEY.toString('base64') } });
  const world = await startBuildWorld(server.cluster, 'run-1', { limits: { perTenant: 1, total: 1 } });
  const settings = Settings.parse(world.settings);
  const { registry } = settings.builds;
  if (!registry) throw new Error('no registry');
  let serial = 0;
  return {
    world,
    settings,
    async run(source, grantedFor = repositoryOf(registry, TENANT, 'shop')) {
      serial += 1;
      const inputs: BuildInputs = {
        revisionId: ID,
        tenant: TENANT,
        deployment: { name: 'shop', uid: ID },
        source,
        workflowConfigPath: 'Dockerfile',
        mode: 'rootless',
        settings: settings.builds,
        registry,
        images: { builder: settings.builds.images.builder ?? '', davit: settings.builds.images.davit ?? '' },
      };
      const expires = Math.ceil(Date.now() / 1000) + 600;
      const password = (actions: ('pull' | 'push')[]): string =>
        registryPassword(KEY, { repository: grantedFor, actions, expires });
      const push = password(['pull', 'push']);
      const ofSource =
        source.kind === 'git' ? { token: SOURCE_TOKEN } : { username: REGISTRY_USER, password: password(['pull']) };
      const credentials = {
        source: ofSource,
        sourceCa: settings.codeHosts[0]?.ca,
        push: dockerConfig(registry.host, { username: REGISTRY_USER, password: push }),
        login: { username: REGISTRY_USER, password: push },
      };
      for (const { metadata, stringData } of makeBuildSecrets(inputs, credentials, ID)) {
        const values = Object.entries(stringData ?? {});
        const data = Object.fromEntries(values.map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
        server.secrets.set(metadata.name, { data });
      }
      const { template } = makeBuildJob(inputs).spec ?? {};
      const metadata = { name: `pod-${serial}`, uid: `pod-${serial}`, labels: template?.metadata?.labels };
      server.show({ metadata, spec: { ...template?.spec, nodeName: 'node' } } as ApiObject);
      for (let look = 0; look < 200 && !['Succeeded', 'Failed'].includes(server.status().phase ?? ''); look += 1)
        await sleep(20);
      return server.status();
    },
  };
}

it('a commit is fetched, and its image pushed, with the credentials of their Secrets', async () => {
  const { world, run } = await aWorld();
  try {
    const commit = world.push('shop', 'builds');
    const built = await run({ kind: 'git', url: world.repoUrl('shop'), ref: commit });
    expect(built.containerStatuses?.[0]?.state.terminated?.message).toBe(digestOf('shop', commit));
    expect(world.made).toEqual([
      { revision: ID, repository: 'run-1-12345678/shop', source: commit, digest: digestOf('shop', commit) },
    ]);
    expect(world.wrong).toEqual([]);
  } finally {
    world.close();
  }
});

it('an upload is fetched with a credential that reads', async () => {
  const { world, run } = await aWorld();
  try {
    const path = world.upload('builds');
    const built = await run({ kind: 'upload', tag: path.replace('uploads/', 'upload-') });
    expect(built.phase).toBe('Succeeded');
    expect(world.made.map(({ source }) => source)).toEqual([path]);
    expect(world.wrong).toEqual([]);
  } finally {
    world.close();
  }
});

it.each(['run-1-12345678/*', 'run-2-12345678/shop'])('a credential for %s is wrong, and pushes nothing', async (of) => {
  const { world, run } = await aWorld();
  try {
    const commit = world.push('shop', 'builds');
    expect((await run({ kind: 'git', url: world.repoUrl('shop'), ref: commit }, of)).phase).toBe('Failed');
    expect(world.wrong).toEqual([`push of run-1-12345678/shop with a credential for ${of}`]);
    expect(world.made).toEqual([]);
  } finally {
    world.close();
  }
});

it.each([
  { ails: { git: 'down' }, says: 'Failed' },
  { ails: { registry: 507 }, says: 'Failed' },
  { ails: { registry: 'down' }, says: 'Failed' },
] as const)('a server that ails ($ails) fails the build', async ({ ails, says }) => {
  const { world, run } = await aWorld();
  try {
    Object.assign(world.ails, ails);
    const commit = world.push('shop', 'builds');
    expect((await run({ kind: 'git', url: world.repoUrl('shop'), ref: commit })).phase).toBe(says);
    expect(world.met()).toBe(1);
    expect(world.made).toEqual([]);
  } finally {
    world.close();
  }
});

it("Davit's own client is told the head of the branch, and nothing without the token", async () => {
  const { world, settings } = await aWorld();
  const hosts = makeCodeHosts({ hosts: settings.codeHosts, proxies: settings.proxy, pausesMs: [] });
  try {
    world.push('shop', 'builds');
    const commit = world.push('shop', 'step fails');
    const apiUrl = `https://${settings.codeHosts[0]?.host}/api/v1`;
    const spec = { kind: 'gitea', apiUrl, credentialsRef: { name: 'git' }, tenants: [] } as const;
    const account = (token: string): Parameters<typeof hosts.commit>[0] => ({
      key: token,
      spec: { ...spec, tenants: [] },
      credential: () => token,
    });
    expect(await hosts.commit(account(SOURCE_TOKEN), world.repoUrl('shop'), 'main')).toMatchObject({ commit });
    await expect(hosts.commit(account('another'), world.repoUrl('shop'), 'main')).rejects.toMatchObject({
      why: 'refused',
    });
    world.ails.api = 'down';
    await expect(hosts.commit(account(SOURCE_TOKEN), world.repoUrl('shop'), 'main')).rejects.toMatchObject({
      why: 'unreachable',
    });
  } finally {
    await hosts.close();
    world.close();
  }
});
