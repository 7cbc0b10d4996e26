// The last runs of each task as strips.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { TaskStatusList } from '../deploy/http/task-runs/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { Api } from './api.ts';
import { Strip } from './runs.tsx';
import { plain } from './text.ts';

type Task = TaskStatusList['resources'][number];

/** Nothing for a deployment without tasks; what the API refuses is said on the tab of tasks. */
export function Strips({ api, deployment }: { readonly api: Api; readonly deployment: Deployment }): VNode | null {
  const [tasks, setTasks] = useState<readonly Task[]>([]);
  const changed = conditionOf(deployment.conditions, 'TasksReady')?.last_transition_time;
  const hasTasks = deployment.source_config.tasks?.length || changed;
  useEffect(() => {
    let isNewest = true;
    if (hasTasks)
      api.tasks(deployment.id).then(
        ({ resources }) => isNewest && setTasks(resources),
        () => undefined,
      );
    return () => {
      isNewest = false;
    };
  }, [deployment]);
  if (tasks.length === 0) return null;
  return (
    <section class="card" aria-labelledby="runs">
      <h2 id="runs">Tasks</h2>
      <dl>
        {tasks.map(({ name, runs }) => (
          <div key={name}>
            <dt>{plain(name)}</dt>
            <dd>{runs.length === 0 ? <span class="sub">no run yet</span> : <Strip runs={runs} />}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
