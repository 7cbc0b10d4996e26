// Builds on three nodes with an enforcing network plugin: the image of a folder is built on one node, and runs on another.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { nodeName } from '../../cluster/node-network.ts';
import { buildFolder, FROM_FOLDER } from '../../demo/builds.ts';
import {
  ensureBuildPlatformImages,
  nodeImages,
  type PlatformThatBuilds,
  startPlatformThatBuilds,
} from '../../support/build-platform.ts';
import { eventually } from '../../support/running-davit.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; builds on three nodes are left out`);

const [SECOND, THIRD] = [`${nodeName}-2`, `${nodeName}-3`];

interface Pods {
  readonly items: readonly { readonly spec: { readonly nodeName?: string } }[];
}

describe.skipIf(!machine.ok)('a build on three nodes', () => {
  let cluster: Cluster;
  let builds: PlatformThatBuilds;

  beforeAll(async () => {
    const images = await ensureBuildPlatformImages(say);
    const { postgres, redis } = await ensureImages(say);
    cluster = await startCluster({
      pods: 'on',
      userNamespaces: true,
      nodes: 3,
      networkPolicies: true,
      images: [...nodeImages(images), postgres, redis],
      progress: say,
    });
    const stores = { postgres: postgres.name, redis: redis.name };
    builds = await startPlatformThatBuilds(cluster, { images, stores, tenants: ['team'], progress: say });
  }, 1_200_000);

  afterAll(async () => {
    await builds?.stop();
    await cluster?.stop();
  });

  const nodesOf = async (namespace: string, labels: string): Promise<string[]> => {
    const pods = JSON.parse(
      await cluster.kubectl(['-n', namespace, 'get', 'pods', '-l', labels, '-o', 'json']),
    ) as Pods;
    return pods.items.flatMap(({ spec }) => spec.nodeName ?? []);
  };

  it('pushes to the registry of another node, and a third node pulls the image and serves it', async () => {
    const team = await builds.platform.makeTenant('team');
    const [registry] = await nodesOf('davit-system', 'app.kubernetes.io/component=registry');
    expect(registry).toBeDefined();
    const others = [nodeName, SECOND, THIRD].filter((one) => one !== registry);
    const [building = '', serving = ''] = others;
    await Promise.all([registry ?? '', serving].map((one) => cluster.kubectl(['cordon', one])));
    const directory = await mkdtemp(join(tmpdir(), 'davit-builds-'));
    const stage = {
      platform: builds.platform,
      tenant: team,
      cluster: { directory },
      stopping: new AbortController().signal,
    };
    const built = eventually(async () => {
      const nodes = await nodesOf('davit-builds', 'davit.dev/build');
      expect(nodes.length).toBeGreaterThan(0);
      return nodes;
    }, 420_000);
    const deployed = buildFolder(stage, say);
    expect(await built).toEqual([building]);
    await cluster.kubectl(['uncordon', serving]);
    await cluster.kubectl(['cordon', building]);
    await deployed;
    expect(await nodesOf('team', `davit.dev/deployment=${FROM_FOLDER},davit.dev/component=server`)).toEqual([serving]);
    say(`registry on ${registry}, built on ${building}, serves on ${serving}`);
  }, 900_000);
});
