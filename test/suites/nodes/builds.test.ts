// Builds on three nodes with an enforcing network plugin: the image of a folder is built on one node, and runs on another.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { nodeName } from '../../cluster/node-network.ts';
import { buildFolder, FROM_FOLDER } from '../../demo/builds.ts';
import type { PlatformThatBuilds } from '../../support/build-platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Building, folderStage, startBuildingFolders, TEAM } from '../builds/ground.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; builds on three nodes are left out`);

const [SECOND, THIRD] = [`${nodeName}-2`, `${nodeName}-3`];

interface Pods {
  readonly items: readonly { readonly spec: { readonly nodeName?: string } }[];
}

describe.skipIf(!machine.ok)('a build on three nodes', () => {
  let building: Building<PlatformThatBuilds>;

  beforeAll(async () => {
    building = await startBuildingFolders({ nodes: 3, networkPolicies: true, tenants: [TEAM], progress: say });
  }, 1_200_000);

  afterAll(() => building?.stop());

  const kubectl = (...args: readonly string[]): Promise<string> => building.cluster.kubectl(args);
  const nodesOf = async (namespace: string, labels: string): Promise<string[]> => {
    const pods = JSON.parse(await kubectl('-n', namespace, 'get', 'pods', '-l', labels, '-o', 'json')) as Pods;
    return pods.items.flatMap(({ spec }) => spec.nodeName ?? []);
  };

  it('pushes to the registry of another node, and a third node pulls the image and serves it', async () => {
    const stage = await folderStage(building);
    const [registry] = await nodesOf('davit-system', 'app.kubernetes.io/component=registry');
    expect(registry).toBeDefined();
    const others = [nodeName, SECOND, THIRD].filter((one) => one !== registry);
    const [builder = '', serving = ''] = others;
    await Promise.all([registry ?? '', serving].map((one) => kubectl('cordon', one)));
    const built = eventually(async () => {
      const nodes = await nodesOf('davit-builds', 'davit.dev/build');
      expect(nodes.length).toBeGreaterThan(0);
      return nodes;
    }, 420_000);
    const deployed = buildFolder(stage, say);
    expect(await built).toEqual([builder]);
    await kubectl('uncordon', serving);
    await kubectl('cordon', builder);
    await deployed;
    expect(await nodesOf(TEAM, `davit.dev/deployment=${FROM_FOLDER},davit.dev/component=server`)).toEqual([serving]);
    say(`registry on ${registry}, built on ${builder}, serves on ${serving}`);
  }, 900_000);
});
