// The tasks of the active revision with their last and next runs. They are read with every change of the deployment, and when asked
// for.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Asked } from './actions.tsx';
import type { Api } from './api.ts';
import type { Tone } from './health.ts';
import { Age, Failure, Mark } from './parts.tsx';
import { type Run, RunCommand, RunLog, Strip, type Task, TONES, useTasks } from './runs.tsx';
import { age, plain } from './text.ts';

interface TasksProps {
  readonly api: Api;
  readonly deployment: Deployment;
  /** Absent where nothing can be run. */
  readonly onAsk: ((asked: Asked) => void) | undefined;
}

export function Tasks({ api, deployment, onAsk }: TasksProps): VNode {
  const { tasks, failure, hasTasks, again } = useTasks(api, deployment);
  /** Job of the run whose log is shown. */
  const [open, setOpen] = useState<string>();
  return (
    <>
      <section class="card" aria-labelledby="tasks">
        <h2 id="tasks">Tasks</h2>
        <Failure sentence={failure} />
        {!hasTasks && (
          <p class="sub">There are no tasks. A task runs a command with the deployment's image and variables.</p>
        )}
        {tasks?.length === 0 && <p class="sub">The active revision has none.</p>}
        <ul class="reports" aria-labelledby="tasks">
          {tasks?.map((task) => (
            <li key={task.name}>
              <Mark tone={toneOf(task)}>
                <strong>{plain(task.name)}</strong> {plain(whenOf(task))}
                <NextRun task={task} />
              </Mark>
              <Strip runs={task.runs} />
              {onAsk && (
                <span class="actions">
                  <button
                    type="button"
                    aria-label={`Run now: ${task.name}`}
                    onClick={() =>
                      onAsk({ action: 'run', task: task.name, isRunning: task.runs[0]?.state === 'Running' })
                    }
                  >
                    Run now
                  </button>
                </span>
              )}
              {task.message !== null && <div class="why">{plain(task.message)}</div>}
              {task.runs.map((run) => (
                <RunLine
                  key={run.job}
                  run={run}
                  isOpen={open === run.job}
                  onOpen={(isOpen) => setOpen(isOpen ? run.job : undefined)}
                >
                  <RunLog api={api} deployment={deployment} run={run} />
                </RunLine>
              ))}
            </li>
          ))}
        </ul>
        {hasTasks && (
          <button type="button" onClick={again}>
            Read the tasks again
          </button>
        )}
      </section>
      {onAsk && <RunCommand api={api} deployment={deployment} />}
    </>
  );
}

function NextRun({ task: { next_run_at: at, time_zone: zone } }: { readonly task: Task }): VNode | null {
  if (at === null) return null;
  const now = new Date();
  return (
    <time datetime={at} title={new Date(at).toLocaleString()}>
      , next run {Date.parse(at) > now.getTime() ? `in ${age(now.toISOString(), new Date(at))}` : 'is due'}
      {zone === null && ' by UTC'}
    </time>
  );
}

interface RunLineProps {
  readonly run: Run;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  /** Its log. */
  readonly children: VNode;
}

function RunLine({ run, isOpen, onOpen, children }: RunLineProps): VNode {
  const { job, state, started_at: began, finished_at: ended } = run;
  return (
    <>
      <div class="sub">
        {state}
        {run.exit_code !== null && `, exit code ${run.exit_code}`}
        {began !== null && (
          <>
            , began <Age then={began} after=" ago" />
            {ended !== null && `, took ${age(began, new Date(ended))}`}
          </>
        )}
        , <code>{plain(job)}</code>{' '}
        <button
          type="button"
          class="plain"
          aria-label={`Log of ${job}`}
          aria-expanded={isOpen}
          onClick={() => onOpen(!isOpen)}
        >
          Log
        </button>
        {run.message !== null && <div class="why">{plain(run.message)}</div>}
      </div>
      {isOpen && children}
    </>
  );
}

function whenOf({ state, schedule, time_zone: zone }: Task): string {
  if (schedule === null) return 'runs when somebody asks';
  return `${schedule}${zone === null ? '' : ` ${zone}`}${state === 'Suspended' || state === 'Pending' ? ', no run begins now' : ''}`;
}

/** How the newest run is, or ended. */
function toneOf({ runs: [newest] }: Task): Tone {
  return newest ? TONES[newest.state] : 'off';
}
