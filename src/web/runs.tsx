// One run of a task or a command: how it is, and its log from the first line until it ends.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { TaskStatusList } from '../deploy/http/task-runs/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { TabProps } from './actions.tsx';
import type { Api, Poll } from './api.ts';
import { type Followed, useFollowed } from './follow.ts';
import type { Tone } from './health.ts';
import { ELSEWHERE_MS, Line, withNews } from './logs.tsx';
import { Age, Asking } from './parts.tsx';
import { type Row, Rows } from './rows.tsx';
import { age, plain } from './text.ts';
import { useZone } from './times.ts';

export type Task = TaskStatusList['resources'][number];
export type Run = Task['runs'][number];

/** The tasks of the active revision; undefined for a deployment without tasks. */
export function useTasks(api: Api, deployment: Deployment, everyMs?: number): Followed<TaskStatusList> | undefined {
  const { id, source_config: config, conditions } = deployment;
  // The file of a commit may give them, too.
  const hasTasks = (config.tasks?.length ?? 0) > 0 || conditionOf(conditions, 'TasksReady') !== undefined;
  // An answer about the deployment has no runs, so it does not change with them.
  const poll = api.poll<TaskStatusList>(`v2/deployments/${id}/tasks`);
  const followed = useFollowed(`${id} ${hasTasks}`, hasTasks ? poll : async () => ({ next: 'never' }), { everyMs });
  return hasTasks ? followed : undefined;
}

export const TONES = { Running: 'busy', Succeeded: 'good', Failed: 'bad' } as const satisfies Record<
  Run['state'],
  Tone
>;

const [BAR, GAP, HEIGHT] = [7, 3, 22];

/** The last runs, the oldest first, each as high as it took long. `runs`: newest first. */
export function Strip({ runs }: { readonly runs: readonly Run[] }): VNode | null {
  if (runs.length === 0) return null;
  const shown = runs.toReversed().map((run) => ({ run, ms: took(run) }));
  const most = Math.max(1, ...shown.map(({ ms }) => ms));
  const words = `Last runs, oldest first: ${shown.map(({ run }) => run.state.toLowerCase()).join(', ')}`;
  return (
    <svg class="strip" width={shown.length * (BAR + GAP)} height={HEIGHT} role="img" aria-label={words}>
      {shown.map(({ run: { job, state }, ms }, place) => {
        const height = 8 + (ms / most) * (HEIGHT - 8);
        const x = place * (BAR + GAP);
        // What failed has a notch at its top.
        const end = state === 'Failed' ? `l${BAR / 2} ${BAR / 2}l${BAR / 2} -${BAR / 2}` : `h${BAR}`;
        return <path key={job} class={TONES[state]} d={`M${x} ${HEIGHT}V${HEIGHT - height}${end}V${HEIGHT}Z`} />;
      })}
    </svg>
  );
}

function took({ started_at: began, finished_at: ended }: Run): number {
  return began === null ? 0 : (ended === null ? Date.now() : Date.parse(ended)) - Date.parse(began);
}

/** Asks until the answer is the last one. */
function until<T>(poll: Poll<T>, isLast: (value: T | undefined) => boolean): Poll<T> {
  return async (signal) => {
    const news = await poll(signal);
    return news.next === undefined && isLast(news.value) ? { ...news, next: 'never' } : news;
  };
}

export function runRow(run: Run): Row {
  const { job, state, exit_code: code, started_at: began, finished_at: ended } = run;
  return {
    key: job,
    tone: TONES[state],
    says: [
      state,
      code !== null && `, exit code ${code}`,
      began !== null && [', began ', <Age then={began} after=" ago" />],
      began !== null && ended !== null && `, took ${age(began, new Date(ended))}`,
    ],
    sub: [<code>{plain(job)}</code>],
    why: run.message,
  };
}

interface RunLogProps extends Pick<TabProps, 'api' | 'deployment'> {
  readonly run: Run;
}

export function RunLog({ api, deployment: { id, source_config: config }, run }: RunLogProps): VNode {
  const { job } = run;
  const [zone] = useZone();
  /** Whether the line of the list says how it ended. */
  const isListed = run.state !== 'Running';
  const status = useFollowed(
    `${job} ${isListed}`,
    isListed
      ? async () => ({ value: run, next: 'never' as const })
      : until(api.poll<Run>(`v2/deployments/${id}/runs/${job}`), (now) => now !== undefined && now.state !== 'Running'),
  );
  const now = status.value ?? run;
  const isOver = now.state !== 'Running';
  const logs = api.logs(id, { kind: 'pods' }, { run: job });
  const log = useFollowed(`${job} ${isOver}`, isOver ? until(logs, () => true) : logs, {
    take: withNews,
    everyMs: config.listener_id === null ? undefined : ELSEWHERE_MS,
  });
  return (
    <div class="run">
      {!isListed && (
        <>
          <div role="status">
            <Rows rows={[runRow(now)]} />
          </div>
          <Asking of={status} what="The run" />
        </>
      )}
      <Asking of={log} what="The lines" />
      <div class="log" role="log" aria-label={`Lines of ${job}`} tabIndex={0}>
        {log.value?.lines.map((line) => (
          <Line key={line.id} line={line} zone={zone} />
        ))}
        {log.value?.lines.length === 0 && (
          <p class="asking">{isOver ? 'There are no lines.' : 'Nothing was written yet.'}</p>
        )}
      </div>
    </div>
  );
}
