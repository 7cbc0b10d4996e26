// An ordinary langgraph.json, whose image would have no server: the platform's agent server is built in, and runs the graph.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { call } from '../../demo/api-calls.ts';
import { untilDeployed, upload } from '../../demo/builds.ts';
import { AGENT_SERVER } from '../../demo/embedded.ts';
import {
  ensureBuildPlatformImages,
  nodeImages,
  type PlatformThatBuilds,
  startPlatformThatBuilds,
} from '../../support/build-platform.ts';
import { eventually } from '../../support/running-davit.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the agent server is left out`);

const NAME = 'shout';
const GRAPH = `from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    text: str


def shout(state: State) -> State:
    return {"text": state["text"].upper()}


builder = StateGraph(State)
builder.add_node("shout", shout)
builder.add_edge(START, "shout")
builder.add_edge("shout", END)
graph = builder.compile()
`;

describe.skipIf(!machine.ok)('an ordinary langgraph.json', () => {
  let cluster: Cluster;
  let builds: PlatformThatBuilds;

  beforeAll(async () => {
    const images = await ensureBuildPlatformImages(say);
    const { postgres, redis } = await ensureImages(say);
    const userNamespaces = true;
    cluster = await startCluster({
      pods: 'on',
      userNamespaces,
      images: [...nodeImages(images), postgres, redis],
      progress: say,
    });
    builds = await startPlatformThatBuilds(cluster, {
      images,
      stores: { postgres: postgres.name, redis: redis.name },
      tenants: ['team'],
      values: { 'settings.builds.agentServer': AGENT_SERVER },
      progress: say,
    });
  });
  afterAll(async () => {
    await builds?.stop();
    await cluster?.stop();
  });

  it("is built with the platform's agent server, says which, and answers runs", async () => {
    const directory = await mkdtemp(join(tmpdir(), 'davit-agent-'));
    const stage = {
      platform: builds.platform,
      tenant: await builds.platform.makeTenant('team'),
      cluster: { directory },
      stopping: new AbortController().signal,
    };
    const folder = join(directory, NAME);
    await mkdir(folder);
    await writeFile(join(folder, 'graph.py'), GRAPH);
    await writeFile(
      join(folder, 'langgraph.json'),
      JSON.stringify({ dependencies: ['.'], graphs: { agent: './graph.py:graph' } }),
    );
    // A tenant that was just made is known to the API a moment later.
    const created = await eventually(() =>
      call(stage, 'POST', '/v2/deployments', {
        name: NAME,
        source: 'internal_source',
        source_config: {
          resource_spec: { cpu: 0.1, memory_mb: 768, db_cpu: 0.05, db_memory_mb: 256, redis_cpu: 0.02 },
        },
        source_revision_config: {},
        secrets: [],
      }),
    );
    const path = await upload(stage, created, folder);
    const changed = await call(stage, 'PATCH', `/v2/deployments/${created.id}`, {
      source_revision_config: { source_tarball_path: path, workflow_config_path: 'langgraph.json' },
    });
    await untilDeployed(stage, NAME, changed, say);
    const { latest_revision_id: revision } = await call(stage, 'GET', `/v2/deployments/${created.id}`);
    const log = await call<object>(stage, 'POST', `/v1/projects/${created.id}/revisions/${revision}/build_logs`, {});
    expect(JSON.stringify(log)).toContain(`agent server is ${AGENT_SERVER.package}`);
    const address = await cluster.kubectl(['-n', 'team', 'get', 'svc', NAME, '-o', 'jsonpath={.spec.clusterIP}']);
    const answer = await fetch(`http://${address}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'agent', input: { text: 'hello' } }),
    });
    expect([answer.status, await answer.json()]).toEqual([200, { text: 'HELLO' }]);
  }, 1_200_000);
});
