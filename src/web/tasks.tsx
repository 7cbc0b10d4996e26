// The tasks of the active revision with their last and next runs, and a command that is typed.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { running, type TabProps } from './actions.tsx';
import { Asking, Facts, Failure, fieldOf, Submit, useAsking, Word } from './parts.tsx';
import { Card, type Row, Rows } from './rows.tsx';
import { type Run, RunLog, runRow, Strip, type Task, TONES, useTasks } from './runs.tsx';
import { age, plain, wordsOf } from './text.ts';

type Subject = Pick<TabProps, 'api' | 'deployment'>;

export function Tasks({ api, deployment, onAsk }: Subject & Pick<TabProps, 'onAsk'>): VNode {
  const tasks = useTasks(api, deployment);
  /** Job of the run whose log is shown. */
  const [open, setOpen] = useState<string>();
  const withLog = (run: Run): Row => {
    const { job } = run;
    const isOpen = open === job;
    return {
      ...runRow(run),
      acts: [{ label: 'Log', of: `of ${job}`, isOpen, onClick: () => setOpen(isOpen ? undefined : job) }],
      more: isOpen && <RunLog api={api} deployment={deployment} run={run} />,
    };
  };
  return (
    <>
      <Card title="Tasks">
        {!tasks && (
          <p class="sub">There are no tasks. A task runs a command with the deployment's image and variables.</p>
        )}
        {tasks && (
          <>
            <Asking of={tasks} what="The tasks" />
            <Rows
              none="The active revision has no tasks."
              rows={tasks.value?.resources.map((task) => ({
                key: task.name,
                // How the newest run is, or ended.
                tone: task.runs[0] ? TONES[task.runs[0].state] : 'off',
                icon: 'task',
                title: task.name,
                says: [plain(whenOf(task)), <NextRun task={task} />, ' ', <Strip runs={task.runs} />],
                why: task.message,
                acts: [
                  onAsk && {
                    label: 'Run now',
                    of: task.name,
                    onClick: () => onAsk(running({ api, deployment }, task.name, task.runs[0]?.state === 'Running')),
                  },
                ],
                more: task.runs.length > 0 && <Rows rows={task.runs.map(withLog)} />,
              }))}
            />
          </>
        )}
      </Card>
      {onAsk && <RunCommand api={api} deployment={deployment} />}
    </>
  );
}

function whenOf({ state, schedule, time_zone: zone }: Task): string {
  if (schedule === null) return 'runs on request';
  return `${schedule}${zone === null ? '' : ` ${zone}`}${state === 'Suspended' || state === 'Pending' ? ', no run begins now' : ''}`;
}

function NextRun({ task: { next_run_at: at, time_zone: zone } }: { readonly task: Task }): VNode | null {
  if (at === null) return null;
  const now = new Date();
  return (
    <time datetime={at} title={new Date(at).toLocaleString()}>
      , next run {Date.parse(at) > now.getTime() ? `in ${age(now.toISOString(), new Date(at))}` : 'is due'}
      {zone === null && ' (UTC)'}
    </time>
  );
}

/** The last runs of each task. Nothing for a deployment without tasks; what the API refuses is said on the tab of tasks. */
export function Strips({ api, deployment }: Subject): VNode | null {
  const tasks = useTasks(api, deployment, 15_000)?.value?.resources ?? [];
  if (tasks.length === 0) return null;
  return (
    <Card title="Tasks">
      <Facts
        facts={tasks.map(({ name, runs }) => [
          plain(name),
          runs.length === 0 ? <span class="sub">no run yet</span> : <Strip runs={runs} />,
        ])}
      />
    </Card>
  );
}

/** What was typed stays, also when it is refused. */
function RunCommand({ api, deployment }: Subject): VNode {
  const [typed, setTyped] = useState('');
  const [run, setRun] = useState<Run>();
  const { isAsking, failure, ask } = useAsking();
  const words = wordsOf(typed);
  return (
    <Card title="Run a command">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const command = wordsOf(fieldOf(new FormData(event.currentTarget), 'command'));
          void ask(async () => setRun(await api.ask<Run>('POST', `v2/deployments/${deployment.id}/runs`, { command })));
        }}
      >
        <label for="command">Command</label>
        <Word
          id="command"
          name="command"
          class="wide mono"
          required
          placeholder="python manage.py check"
          aria-describedby="command-help"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Submit isAsking={isAsking}>Run</Submit>
      </form>
      <p id="command-help" class="help">
        The command runs once, in its own pod, with the image and the variables of the active revision. It does not run
        in a shell: spaces separate words, and quotes keep words together.
      </p>
      {words.length > 0 && (
        <p class="help">
          Sent: <code>{plain(JSON.stringify(words))}</code>
        </p>
      )}
      <Failure sentence={failure} />
      {run && <RunLog key={run.job} api={api} deployment={deployment} run={run} />}
    </Card>
  );
}
