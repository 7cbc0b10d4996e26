// An ordinary langgraph.json, whose image would have no server: the platform's agent server is built in, and runs the graph.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { call, type Deployment } from '../../demo/api-calls.ts';
import { deployFolder } from '../../demo/builds.ts';
import { AGENT_SERVER } from '../../demo/embedded.ts';
import type { PlatformThatBuilds } from '../../support/build-platform.ts';
import { type Building, folderStage, startBuildingFolders, TEAM } from './ground.ts';

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
  let building: Building<PlatformThatBuilds>;

  beforeAll(async () => {
    const values = { 'settings.builds.agentServer': AGENT_SERVER };
    building = await startBuildingFolders({ values, tenants: [TEAM], progress: say });
  });
  afterAll(() => building?.stop());

  it("is built with the platform's agent server, says which, and answers runs", async () => {
    const stage = await folderStage(building);
    const files = {
      'graph.py': GRAPH,
      'langgraph.json': JSON.stringify({ dependencies: ['.'], graphs: { agent: './graph.py:graph' } }),
    };
    const sizes = { cpu: 0.1, memory_mb: 768, db_cpu: 0.05, db_memory_mb: 256, redis_cpu: 0.02 };
    await deployFolder(stage, { name: NAME, files, config: { resource_spec: sizes } }, say);
    const { resources } = await call<{ readonly resources: readonly Deployment[] }>(stage, 'GET', '/v2/deployments');
    const [{ id, latest_revision_id: revision }] = resources as [Deployment];
    // The stored log: the build has ended, and its pod may be gone.
    const log = await call<object>(stage, 'POST', `/v1/projects/${id}/revisions/${revision}/build_logs`, {
      order: 'asc',
    });
    expect(JSON.stringify(log)).toContain(`agent server is ${AGENT_SERVER.package}`);
    const { kubectl } = building.cluster;
    const address = await kubectl(['-n', TEAM, 'get', 'svc', NAME, '-o', 'jsonpath={.spec.clusterIP}']);
    const answer = await fetch(`http://${address}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'agent', input: { text: 'hello' } }),
    });
    expect([answer.status, await answer.json()]).toEqual([200, { text: 'HELLO' }]);
  }, 1_200_000);
});
