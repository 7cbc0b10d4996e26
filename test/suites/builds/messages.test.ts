// What a failed build says, of a real BuildKit and of the plan before it: the cause, the last output, and what the platform knows of
// its package indexes and repositories.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import type { BuildStatus } from '../../../src/kinds/build.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { realPods } from '../../cluster/machine.ts';
import type { BuildPlatform } from '../../support/build-platform.ts';
import type { Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { startBuilding } from './ground.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; messages of builds are left out`);

describe.skipIf(!machine.ok)('the message of a failed build', () => {
  let cluster: Cluster;
  let builds: BuildPlatform;
  let stop: (() => Promise<void>) | undefined;
  let other: Tenant;

  beforeAll(async () => {
    ({ cluster, builds, stop } = await startBuilding({
      tenants: ['team', 'other'],
      progress: say,
      values: {
        'settings.builds.resources': { cpu: 0.1, cpuLimit: 1, memoryMb: 128, memoryLimitMb: 512, storageGi: 1 },
      },
    }));
    await builds.platform.makeTenant('team');
    other = await builds.platform.makeTenant('other');
  });
  afterAll(() => stop?.());

  async function failureOf(name: string, step: string): Promise<BuildStatus> {
    const repoUrl = (await builds.gitea.makeRepository(name)).replace(/\.git$/, '');
    await builds.gitea.commit(name, { Dockerfile: `FROM ${builds.baseImages.python}\n${step}\n` });
    const record = {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name },
      spec: {
        source: 'codehost',
        sourceConfig: { integrationId: builds.integrationId, repoUrl },
        sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'Dockerfile' },
      },
    };
    await cluster.kubectl(['apply', '-n', 'team', '-f', '-'], { input: JSON.stringify(record) });
    return eventually(async () => {
      const list = await cluster.kubectl(['get', 'appr', '-n', 'team', '-o', 'json']);
      const { items } = JSON.parse(list) as { items: AppRevision[] };
      const { build } = items.find(({ spec }) => spec.deploymentName === name)?.status ?? {};
      if (build?.finishedAt === undefined) throw new Error(`${name} is not done: ${JSON.stringify(build)}`);
      return build;
    }, 270_000);
  }

  it('has the last output after a long line', async () => {
    const step = `RUN python -c "print('x' * 20000); print('the cause is here'); raise SystemExit(7)"`;
    expect(await failureOf('long', step)).toMatchObject({
      reason: 'StepFailed',
      line: 2,
      // The builder's script cuts the middle out of a long line, so that the last one is not lost.
      message: expect.stringMatching(
        /It printed: (?:x{50,300} \.\.\. x{50,300} )?the cause is here\. Correct it\. kubectl davit logs long --build/,
      ),
    });
  });

  it('begins with the cause, ends with the last output, and says which line lacks the package index', async () => {
    const { message } = await failureOf('unindexed', 'RUN pip install there-is-no-such-distribution');
    expect(message).toMatch(
      /^No matching distribution found for there-is-no-such-distribution\. Line 2 of the Dockerfile/,
    );
    expect(message).toMatch(/It printed: .*Could not find a version that satisfies the requirement/);
    // The index of the tests is plain http, so pip needs its host too.
    expect(message).toContain('Add a line ARG PIP_INDEX_URL PIP_TRUSTED_HOST after FROM.');
  });

  it('says whose image a FROM may name, before anything is built', async () => {
    const image = `${builds.registry.host}/other-${other.id.slice(0, 8)}/shop:latest`;
    expect(await failureOf('foreign', `FROM ${image}`)).toMatchObject({
      reason: 'ImageNotAllowed',
      message: expect.stringContaining(`Line 2 of the Dockerfile: ${image} is not for this tenant.`),
    });
  });
});
