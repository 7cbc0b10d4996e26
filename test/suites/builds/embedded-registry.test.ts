// The chart's own registry with Davit's tokens on a real cluster: builds push to it, nodes pull from it with the Secret that the
// controller makes, and what one tenant has there is closed to the others, for good or by force.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import { realPods } from '../../cluster/machine.ts';
import type { BuildPlatform } from '../../support/build-platform.ts';
import { DAVIT_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { startBuilding } from './ground.ts';
import { builtRecord, pythonServer } from './sample.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
const ROLLOUT = ['rollout', 'status', 'statefulset/davit-registry', '-n', DAVIT_NAMESPACE, '--timeout=120s'];
if (!machine.ok) say(`no real pods here: ${machine.reason}; the chart's registry is left out`);

interface Revision {
  readonly status?: {
    readonly state?: string;
    readonly message?: string;
    readonly build?: { readonly image?: string };
  };
}
interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly imagePullSecrets?: readonly { readonly name: string }[] };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly {
      readonly imageID: string;
      readonly state: { readonly waiting?: { readonly reason: string; readonly message?: string } };
    }[];
  };
}

describe.skipIf(!machine.ok)("the chart's registry", () => {
  let cluster: Cluster;
  let builds: BuildPlatform;
  let stop: (() => Promise<void>) | undefined;
  let team: Tenant;
  let other: Tenant;
  let image: string;

  beforeAll(async () => {
    ({ cluster, builds, stop } = await startBuilding({ tenants: ['team', 'other'], progress: say }));
    team = await builds.platform.makeTenant('team');
    other = await builds.platform.makeTenant('other');
  });
  afterAll(() => stop?.());

  async function apply(namespace: string, object: object): Promise<void> {
    await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(object) });
  }
  async function get<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await cluster.kubectl(['get', ...args, '-o', 'json'])) as T;
  }
  async function record(namespace: string, name: string, repoUrl: string): Promise<void> {
    await apply(namespace, builtRecord(name, { integrationId: builds.integrationId, repoUrl }));
  }
  async function deployed(namespace: string): Promise<string> {
    return eventually(async () => {
      const { items } = await get<{ items: Revision[] }>('appr', '-n', namespace);
      const { state, message, build } = items[0]?.status ?? {};
      if (state !== 'DEPLOYED' || build?.image === undefined) throw new Error(`${state}: ${message}`);
      return build.image;
    }, 240_000);
  }
  async function makeRepository(name: string): Promise<string> {
    const url = (await builds.gitea.makeRepository(name)).replace(/\.git$/, '');
    await builds.gitea.commit(name, {
      'app.py': pythonServer('built'),
      Dockerfile: `FROM ${builds.baseImages.python}\nCOPY app.py /app.py\nUSER 65532:65532\nCMD ["python", "/app.py"]\n`,
    });
    return url;
  }
  async function pullConfig(namespace: string): Promise<string> {
    const { data } = await get<{ data: Record<string, string> }>('secret', 'davit-registry-pull', '-n', namespace);
    return Buffer.from(data['.dockerconfigjson'] ?? '', 'base64').toString();
  }
  const repositoryOf = (reference: string): string => reference.replace(/@.*$/, '');

  it('takes what a build pushes, and a pod pulls it with the Secret that the controller made', async () => {
    await record('team', 'shop', await makeRepository('shop'));
    image = await deployed('team');
    expect(image).toMatch(new RegExp(`^${builds.registry.host}/team-${team.id.slice(0, 8)}/shop@sha256:[0-9a-f]{64}$`));
    const { items } = await get<{ items: Pod[] }>('pods', '-n', 'team', '-l', 'davit.dev/component=server');
    const pod = items.find(({ status }) => status.phase === 'Running');
    expect(pod?.spec.imagePullSecrets).toContainEqual({ name: 'davit-registry-pull' });
    expect(await (await fetch(`http://${pod?.status.podIP}:8000/ok`)).text()).toBe('built');
    // Nobody else could have given it to the node.
    await expect(builds.registry.crane(['digest', image])).rejects.toThrow(/401|UNAUTHORIZED/);
    expect(await builds.registry.crane(['digest', image], await pullConfig('team'))).toBe(image.split('@')[1]);
  });

  it("lets a tenant's Secret pull, and push nothing", async () => {
    const copy = ['copy', image, `${repositoryOf(image)}:stolen`];
    await expect(builds.registry.crane(copy, await pullConfig('team'))).rejects.toThrow(
      /401|UNAUTHORIZED|DENIED|insufficient/,
    );
  });

  it("closes a tenant's repositories to another's Secret and push token", async () => {
    await record('other', 'own', await makeRepository('own'));
    await deployed('other');
    const config = await pullConfig('other');
    await expect(builds.registry.crane(['digest', image], config)).rejects.toThrow(/401|UNAUTHORIZED|DENIED/);

    const answer = await fetch(`${builds.platform.apiUrl}/v2/deployments`, {
      method: 'POST',
      headers: { 'x-api-key': other.token, 'x-tenant-id': other.id, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'pushed',
        source: 'internal_docker',
        source_config: {},
        source_revision_config: {},
        secrets: [],
      }),
    });
    const { id } = (await answer.json()) as { id: string };
    const asked = await fetch(`${builds.platform.apiUrl}/v2/deployments/${id}/push-token`, {
      method: 'POST',
      headers: { 'x-api-key': other.token, 'x-tenant-id': other.id, 'content-type': 'application/json' },
      body: '{}',
    });
    const { token, username, repository_url } = (await asked.json()) as Record<string, string>;
    const auth = Buffer.from(`${username}:${token}`).toString('base64');
    const login = JSON.stringify({ auths: { [builds.registry.host]: { auth } } });
    const layer = join(mkdtempSync(join(cluster.runDir, 'layer-')), 'layer.tar');
    writeFileSync(layer, Buffer.alloc(1024));
    const push = (to: string): Promise<string> => builds.registry.crane(['append', '-f', layer, '-t', to], login);
    await push(`${repository_url}:1`);
    await expect(push(`${repositoryOf(image)}:1`)).rejects.toThrow(/401|UNAUTHORIZED|DENIED|insufficient/);
    await expect(builds.registry.crane(['digest', image], login)).rejects.toThrow(/401|UNAUTHORIZED|DENIED/);
  });

  it("keeps a pod of another tenant from pulling a tenant's image", async () => {
    await apply('other', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'thief' },
      spec: {
        containers: [{ name: 'thief', image, imagePullPolicy: 'Always' }],
        imagePullSecrets: [{ name: 'davit-registry-pull' }],
      },
    });
    await eventually(async () => {
      const { status } = await get<Pod>('pod', 'thief', '-n', 'other');
      const { reason, message } = status.containerStatuses?.[0]?.state.waiting ?? {};
      expect(reason).toMatch(/^(ErrImagePull|ImagePullBackOff)$/);
      expect(message).toMatch(/authorization|denied|401|scope/i);
    }, 60_000);
  });

  it('lets the controller delete its own pod, and no other', async () => {
    const remove = (name: string, namespace: string): Promise<string> =>
      cluster.kubectl([
        'delete',
        'pod',
        name,
        '-n',
        namespace,
        '--as=system:serviceaccount:davit-system:davit-controller',
        '--timeout=120s',
      ]);
    await expect(remove('thief', 'other')).rejects.toThrow('only pods of its deployments and of its registry');
    await remove('davit-registry-0', DAVIT_NAMESPACE);
    await cluster.kubectl(ROLLOUT);
  });

  it('tags what is deployed and collects garbage when asked, and keeps what is deployed', async () => {
    const uid = async (): Promise<string> =>
      (await get<Pod>('pod', 'davit-registry-0', '-n', DAVIT_NAMESPACE)).metadata.uid;
    const before = await uid();
    const ask = ['annotate', 'configmap', 'davit-registry-collection', '-n', DAVIT_NAMESPACE, 'davit.dev/collect=now'];
    await cluster.kubectl(ask);
    // It waits two minutes after the start of the controller, and looks once a minute.
    await eventually(async () => expect(await uid()).not.toBe(before), 300_000);
    await cluster.kubectl(ROLLOUT);
    const config = await pullConfig('team');
    await eventually(async () => {
      const tags = (await builds.registry.crane(['ls', repositoryOf(image)], config)).split('\n');
      expect(tags).toContain(`keep-${image.split('@sha256:')[1]}`);
    });
    await eventually(async () => {
      const { data } = await get<{ data: { state: string } }>(
        'configmap',
        'davit-registry-collection',
        '-n',
        DAVIT_NAMESPACE,
      );
      expect(JSON.parse(data.state)).toMatchObject({ phase: 'succeeded' });
    }, 180_000);
    await eventually(async () => {
      // Checks the digest of every layer. `crane validate` also unpacks them, and takes no other compression than gzip.
      await builds.registry.crane(['pull', image, '/dev/null'], config);
    });
  }, 600_000);
});
