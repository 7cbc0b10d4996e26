// Davit builds: records of a private repository and of an upload become pods that run what was built, and what serves goes
// on serving through a build that fails. The registry's credentials are Secrets of the platform here.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureBuildImages, ensureImages } from '../../cluster/images/build.ts';
import { ensureBuilderImage } from '../../cluster/images/builder.ts';
import { realPods } from '../../cluster/machine.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import { createIntegration } from '../../support/build-platform.ts';
import { type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { type Registry, startRegistry } from './registry.ts';
import { builtRecord, pythonServer, SMALL } from './sample.ts';
import { authority } from './servers.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the deployments that are built are left out`);

const BUILDS = 'davit-builds';

interface Build {
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
  readonly commit?: string;
  readonly image?: string;
  readonly line?: number;
  readonly instruction?: string;
}
interface Revision {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: { readonly id: string; readonly deploymentGeneration: number; readonly pushSerial?: number };
  readonly status?: { readonly state?: string; readonly message?: string; readonly build?: Build };
}

interface Server {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly status: { readonly podIP: string; readonly phase: string };
}

describe.skipIf(!machine.ok)('deployments that are built', () => {
  let cluster: Cluster;
  let registry: Registry;
  let gitea: Gitea;
  let platform: Platform;
  let tenant: Tenant;
  let repository: string;
  let integration: string;
  let python: string;
  let first: string;

  const application = (text: string): Record<string, string> => ({
    'app.py': pythonServer(text),
    Dockerfile: `FROM ${python}\nWORKDIR /app\nCOPY app.py .\nRUN python -m py_compile app.py\nUSER 65532:65532\nCMD ["python", "app.py"]\n`,
  });

  beforeAll(async () => {
    const images = await ensureBuildImages(say);
    const stores = await ensureImages(say);
    const builder = await ensureBuilderImage(say);
    const davit = await ensureDavitImage(say);
    cluster = await startCluster({
      pods: 'on',
      userNamespaces: true,
      images: [builder, images.registry, davit, stores.postgres, stores.redis],
      progress: say,
    });
    registry = await startRegistry(cluster, images.registry);
    python = await registry.publish(images.python);
    gitea = await startGitea(cluster, say);
    repository = (await gitea.makeRepository('shop')).replace(/\.git$/, '');
    first = await gitea.commit('shop', application('first'));
    platform = await startPlatform(cluster, {
      parts: ['controller'],
      progress: say,
      values: {
        'settings.hosting': 'cloud',
        'settings.images.postgres': stores.postgres.name,
        'settings.images.redis': stores.redis.name,
        'settings.codeHosts': [
          { host: new URL(gitea.url).host, addresses: [cluster.hostAddress], ca: authority.certificate },
        ],
        'settings.builds.registry': {
          host: registry.host,
          ca: registry.ca,
          pushSecret: 'registry-push',
          pullSecret: 'registry-pull',
        },
        'settings.builds.images': { builder: builder.name, davit: davit.name },
        'settings.builds.baseImages': { python },
        'settings.builds.pollSeconds': 3,
        'settings.builds.egress': ['10.0.0.0/8', `${cluster.hostAddress}/32`],
        'settings.builds.resources.storageGi': 4,
      },
    });
    tenant = await platform.makeTenant('team');
    const target = `team-${tenant.id.slice(0, 8)}/shop`;
    await apply(BUILDS, dockerSecret('registry-push', registry.allow(target, ['pull', 'push'])));
    await apply(BUILDS, dockerSecret('registry-pull', registry.allow(target, ['pull'])));
    integration = await createIntegration(cluster, gitea, ['team']);
  });

  afterAll(async () => {
    await platform?.stop();
    await registry?.close();
    await cluster?.stop();
  });

  function dockerSecret(name: string, config: string): object {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': config },
    };
  }

  async function apply(namespace: string, object: object): Promise<void> {
    await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(object) });
  }

  async function get<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await cluster.kubectl(['get', ...args, '-o', 'json'])) as T;
  }

  async function shop(serial: number, more: object = {}): Promise<void> {
    const config = { integrationId: integration, repoUrl: repository, ...more };
    await apply('team', builtRecord('shop', config, { revisionSerial: serial }));
  }

  async function newest(): Promise<Revision> {
    const { items } = await get<{ items: Revision[] }>('appr', '-n', 'team');
    const [found] = items.toSorted(
      (a, b) =>
        b.spec.deploymentGeneration - a.spec.deploymentGeneration ||
        (b.spec.pushSerial ?? 0) - (a.spec.pushSerial ?? 0),
    );
    if (!found) throw new Error('there is no revision');
    return found;
  }

  /** The newest revision once it is in `state`, and is not `before`. */
  function reaches(state: string, before?: string): Promise<Revision> {
    return eventually(async () => {
      const revision = await newest();
      if (revision.spec.id === before || revision.status?.state !== state)
        throw new Error(`not ${state}: ${JSON.stringify(revision.status)}`);
      return revision;
    }, 240_000);
  }

  async function serves(name = 'shop'): Promise<string> {
    const { items } = await get<{ items: Server[] }>(
      'pods',
      '-n',
      'team',
      '-l',
      `davit.dev/deployment=${name},davit.dev/component=server`,
    );
    // A pod that is being ended, which takes this program half a minute, is in phase Running too, and gets no requests.
    const pod = items.find(
      ({ metadata, status }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined,
    );
    return (await fetch(`http://${pod?.status.podIP}:8000/ok`)).text();
  }

  const left = async (kind: string): Promise<string[]> => {
    const { items } = await get<{ items: { metadata: { name: string } }[] }>(
      kind,
      '-n',
      BUILDS,
      '-l',
      'davit.dev/build',
    );
    return items.map(({ metadata }) => metadata.name);
  };

  it('a commit of a private repository becomes pods that run its image by digest', async () => {
    const began = performance.now();
    await shop(1);
    const revision = await reaches('DEPLOYED');
    say(`from the record to pods that serve: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const { build } = revision.status ?? {};
    expect(build).toMatchObject({ phase: 'Built', reason: 'ImageBuilt', commit: first });
    expect(build?.image).toMatch(
      new RegExp(`^${registry.host}/team-${tenant.id.slice(0, 8)}/shop@sha256:[0-9a-f]{64}$`),
    );
    expect(await serves()).toBe('first');
    const { status } = await get<{ status: { state: string; image: string } }>('appd', 'shop', '-n', 'team');
    expect(status).toMatchObject({ state: 'READY', image: build?.image });
    // Credentials are gone with the build's end.
    await eventually(async () => expect(await left('secrets')).toEqual([]));
  });

  it('at rest nothing is written', async () => {
    const versions = async (): Promise<string> =>
      cluster.kubectl([
        'get',
        'appd,appr,jobs,secrets,deployments',
        '-A',
        '-o',
        'jsonpath={.items[*].metadata.resourceVersion}',
      ]);
    await eventually(async () => {
      const before = await versions();
      await new Promise((resolve) => setTimeout(resolve, 8000));
      expect(await versions()).toBe(before);
    }, 60_000);
  });

  it('a RUN that fails is told with its line, and what served goes on serving', async () => {
    const before = await newest();
    await gitea.commit('shop', {
      ...application('second'),
      Dockerfile: `FROM ${python}\nWORKDIR /app\nCOPY app.py .\nRUN echo about to fail && exit 7\nCMD ["python", "app.py"]\n`,
    });
    await shop(2);
    const failed = await reaches('BUILD_FAILED', before.spec.id);
    expect(failed.status?.build).toMatchObject({
      phase: 'Failed',
      reason: 'StepFailed',
      line: 4,
      instruction: 'RUN echo about to fail && exit 7',
    });
    expect(failed.status?.message).toContain('about to fail');
    expect(await serves()).toBe('first');
    const { status } = await get<{
      status: { state: string; conditions: { type: string; status: string; reason: string }[] };
    }>('appd', 'shop', '-n', 'team');
    expect(status.state).toBe('READY');
    expect(status.conditions.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'BuildFailed',
    });
    const log = await cluster.kubectl(['logs', '-n', BUILDS, '-c', 'build', `job/build-${failed.spec.id}`]);
    expect(log).toContain('about to fail');
    // The log outlives the pod.
    const target = `team-${tenant.id.slice(0, 8)}/shop`;
    const manifest = await registry.crane(
      ['manifest', `${registry.host}/${target}:log-${failed.spec.id}`],
      registry.allow(target, ['pull']),
    );
    expect(JSON.parse(manifest)).toMatchObject({ artifactType: 'application/vnd.davit.log.v1' });
  });

  it('a push is built where build_on_push asks for it', async () => {
    await shop(2, { buildOnPush: true });
    const before = await newest();
    const pushed = await gitea.commit('shop', application('third'));
    const revision = await reaches('DEPLOYED', before.spec.id);
    expect(revision.status?.build?.commit).toBe(pushed);
    await eventually(async () => expect(await serves()).toBe('third'));
  });

  it('an upload with a configuration file is planned, built and run', async () => {
    const folder = mkdtempSync(join(cluster.runDir, 'upload-'));
    const { 'app.py': app = '' } = application('uploaded');
    writeFileSync(
      join(folder, 'app.py'),
      `${app.replace('http.server.HTTPServer', 'graph = 1\nhttp.server.HTTPServer')}`,
    );
    writeFileSync(
      join(folder, 'davit.json'),
      JSON.stringify({
        dependencies: ['.'],
        graphs: { agent: './app.py:graph' },
        dockerfile_lines: [`CMD ["python", "/deps/outer-shop/src/app.py"]`],
      }),
    );
    execFileSync('tar', ['-C', folder, '-czf', join(folder, '../upload.tar.gz'), '.']);
    const id = 'a'.repeat(32);
    const target = `team-${tenant.id.slice(0, 8)}/shop`;
    await cluster.kubectl(['delete', 'appd', 'shop', '-n', 'team', '--timeout=120s']);
    await registry.crane(
      ['append', '-f', join(folder, '../upload.tar.gz'), '-t', `${registry.host}/${target}:upload-${id}`],
      registry.allow(target, ['pull', 'push']),
    );
    await apply('team', {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name: 'shop' },
      spec: {
        source: 'internal_source',
        sourceConfig: { resourceSpec: SMALL },
        sourceRevisionConfig: { sourceTarballPath: `uploads/${id}`, workflowConfigPath: 'davit.json' },
      },
    });
    const revision = await reaches('DEPLOYED');
    expect(revision.status?.build).toMatchObject({ phase: 'Built' });
    expect(await serves()).toBe('uploaded');
  });

  it('deleted, a record leaves nothing of its builds in the namespace of the builds', async () => {
    await cluster.kubectl(['delete', 'appd', 'shop', '-n', 'team', '--timeout=120s']);
    await eventually(async () => {
      for (const kind of ['jobs', 'pods', 'secrets']) expect([kind, await left(kind)]).toEqual([kind, []]);
    }, 60_000);
  });
});
