// One run of a task or a command: how it is, and its log from the first line until it ends. A command that is typed is run here.

import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { TaskStatusList } from '../deploy/http/task-runs/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { TabProps } from './actions.tsx';
import type { Api, Poll } from './api.ts';
import { useFollowed } from './follow.ts';
import type { Tone } from './health.ts';
import { ELSEWHERE_MS, Line, withNews } from './logs.tsx';
import { Asking, Failure, fieldOf, Mark, Word } from './parts.tsx';
import { age, messageOf, plain, wordsOf } from './text.ts';
import { useZone } from './times.ts';

export type Task = TaskStatusList['resources'][number];
export type Run = Task['runs'][number];

interface Tasks {
  /** Absent before the first answer. */
  readonly tasks: readonly Task[] | undefined;
  readonly failure: string | undefined;
  readonly hasTasks: boolean;
  readonly again: () => void;
}

/** The tasks of the active revision, read with every change of the deployment, and when asked for. */
export function useTasks(api: Api, deployment: Deployment): Tasks {
  const [tasks, setTasks] = useState<readonly Task[]>();
  const [failure, setFailure] = useState<string>();
  const [asked, setAsked] = useState(0);
  // The file of a commit may give them, too.
  const hasTasks =
    (deployment.source_config.tasks?.length ?? 0) > 0 || conditionOf(deployment.conditions, 'TasksReady') !== undefined;
  useEffect(() => {
    let isNewest = true;
    if (hasTasks)
      api.tasks(deployment.id).then(
        ({ resources }) => {
          if (!isNewest) return;
          setTasks(resources);
          setFailure(undefined);
        },
        (error) => isNewest && setFailure(messageOf(error)),
      );
    return () => {
      isNewest = false;
    };
  }, [deployment, asked]);
  return { tasks, failure, hasTasks, again: () => setAsked(asked + 1) };
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
  const { state, ...now } = status.value ?? run;
  const isOver = state !== 'Running';
  const logs = api.logs(id, { kind: 'pods' }, { run: job });
  const log = useFollowed(`${job} ${isOver}`, isOver ? until(logs, () => true) : logs, {
    take: withNews,
    everyMs: config.listener_id === null ? undefined : ELSEWHERE_MS,
  });
  return (
    <div class="run">
      {!isListed && (
        <>
          <p role="status">
            <Mark tone={TONES[state]}>
              {state}
              {now.exit_code !== null && `, exit code ${now.exit_code}`}
              {now.started_at !== null &&
                (isOver
                  ? now.finished_at && `, took ${age(now.started_at, new Date(now.finished_at))}`
                  : ` for ${age(now.started_at, new Date())}`)}
              , <code>{plain(job)}</code>
            </Mark>
          </p>
          <Asking of={status} what="The run" />
          {now.message !== null && <p class="why">{plain(now.message)}</p>}
        </>
      )}
      <Asking of={log} what="The lines" />
      <div class="log" role="log" aria-label={`Lines of ${job}`} tabIndex={0}>
        {log.value?.lines.map((line) => (
          <Line key={line.id} line={line} zone={zone} />
        ))}
        {log.value?.lines.length === 0 && <p class="asking">Nothing was written{isOver ? '.' : ' yet.'}</p>}
      </div>
    </div>
  );
}

/** What was typed stays, also when it is refused. */
export function RunCommand({ api, deployment }: Pick<TabProps, 'api' | 'deployment'>): VNode {
  const [typed, setTyped] = useState('');
  const [run, setRun] = useState<Run>();
  const [failure, setFailure] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const words = wordsOf(typed);

  async function begin(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    setIsAsking(true);
    setFailure(undefined);
    try {
      const command = wordsOf(fieldOf(new FormData(event.currentTarget), 'command'));
      setRun(await api.ask<Run>('POST', `v2/deployments/${deployment.id}/runs`, { command }));
    } catch (error) {
      setFailure(messageOf(error));
    }
    setIsAsking(false);
  }

  return (
    <section class="card" aria-labelledby="run-command">
      <h2 id="run-command">Run a command</h2>
      <form class="asked" onSubmit={(event) => void begin(event)}>
        <label for="command">Command</label>
        <Word
          id="command"
          name="command"
          required
          placeholder="python manage.py check"
          aria-describedby="command-help"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class="main" aria-disabled={isAsking}>
          {isAsking ? 'Asking the API …' : 'Run'}
        </button>
      </form>
      <p id="command-help" class="help">
        It runs once, in a pod of its own, with the image and the variables of the active revision. No shell reads it:
        spaces separate words, and quotes keep them together.
      </p>
      {words.length > 0 && (
        <p class="help">
          Sent: <code>{plain(JSON.stringify(words))}</code>
        </p>
      )}
      <Failure sentence={failure} />
      {run && <RunLog key={run.job} api={api} deployment={deployment} run={run} />}
    </section>
  );
}
