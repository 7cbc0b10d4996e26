// One bound in a process of its own, so that both cores are used, and a seeded bug is in one of them alone.

import { BOUNDS } from './bounds.ts';
import { search } from './search.ts';

export interface Task {
  readonly bound: string;
  readonly depth: number;
  readonly states: number;
  readonly seconds: number;
  /** Stop at the first violation. */
  readonly first?: boolean;
}

process.once('message', async (task: Task) => {
  const bound = BOUNDS.find(({ name }) => name === task.bound);
  if (!bound) throw new Error(`no bound is called ${task.bound}: ${BOUNDS.map(({ name }) => name).join(', ')}`);
  const found = await search(bound, {
    ...task,
    deadline: Date.now() + task.seconds * 1000,
    onProgress: (line) => process.send?.({ line }),
  });
  const { user, system } = process.cpuUsage();
  const MiB = Math.round(process.resourceUsage().maxRSS / 1024);
  process.send?.({ found, MiB, cpuSeconds: Math.round((user + system) / 1e6) }, () => process.disconnect());
});
