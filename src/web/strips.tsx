// The last runs of each task as strips.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Api } from './api.ts';
import { Strip, useTasks } from './runs.tsx';
import { plain } from './text.ts';

/** Nothing for a deployment without tasks; what the API refuses is said on the tab of tasks. */
export function Strips({ api, deployment }: { readonly api: Api; readonly deployment: Deployment }): VNode | null {
  const { tasks = [] } = useTasks(api, deployment);
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
