// What the cluster reports of a deployment: the warnings that matter, and behind a fold all events and pods. It is read when the deployment
// is shown, when what Ready says changes, and when a person asks: these are lists of the API server, which it would have to read again and again.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DeploymentEvent, DeploymentEvents, DeploymentPod } from '../deploy/http/events/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { containerEnded } from '../kinds/own-containers.ts';
import { type Amounts, usageWords } from '../kinds/pod-usage.ts';
import type { TabProps } from './actions.tsx';
import type { Tone } from './health.ts';
import { Age } from './parts.tsx';
import { Card, type Row, Rows, useRead } from './rows.tsx';
import { Shell } from './shell.tsx';
import { plain, short } from './text.ts';

export function Reported({ api, ...shell }: Pick<TabProps, 'api' | 'deployment' | 'namespace' | 'say'>): VNode {
  const { id, conditions } = shell.deployment;
  // The message also changes with the answers of health checks.
  const said = conditionOf(conditions, 'Ready')?.message;
  const { found, failure, isAsking, again } = useRead<DeploymentEvents>(api, `v2/deployments/${id}/events`, said);
  const pods = found?.pods ?? [];
  return (
    <Card
      title="Pods and events"
      failure={failure}
      end={
        <button type="button" aria-disabled={isAsking} onClick={again}>
          {isAsking ? 'Asking the API …' : 'Read again'}
        </button>
      }
    >
      <div role="status" class="hidden">
        {found && `${pods.length} pods and ${found.resources.length} events`}
      </div>
      {found && <Events events={found.resources} />}
      {found && (
        <details class="fold">
          <summary>{found.pods === null ? 'Pods' : `Pods (${pods.length})`}</summary>
          <Rows
            label="Pods"
            none={found.pods === null ? 'This token may not list pods.' : 'No pods.'}
            rows={pods.map(podRow)}
          />
          {pods.length > 0 && pods.every(({ usage }) => usage === null) && (
            <p class="sub">
              CPU and memory are not known: the cluster has no pod metrics, or this token may not read them.
            </p>
          )}
        </details>
      )}
      <details class="fold">
        <summary>A shell</summary>
        <Shell {...shell} parts={readyParts(pods)} />
      </details>
      {found?.truncated && <p class="sub">There may be more: the namespace has more events than were read.</p>}
    </Card>
  );
}

function podRow(pod: DeploymentPod): Row {
  const { name, part, ready, phase, restarts, revision_id: revision, usage, limits, last_exit: exit } = pod;
  const state = { Succeeded: 'has ended', Failed: 'has failed', Pending: 'is starting' }[phase] ?? 'not ready';
  const restarted =
    restarts === 0 ? 'never restarted' : restarts === 1 ? 'restarted once' : `restarted ${restarts} times`;
  const amounts = ({ cpu, memory_mb: memoryMb }: typeof limits): Amounts => ({ cpu, memoryMb });
  return {
    key: name,
    tone: toneOf(pod),
    icon: part === 'migrate' ? 'task' : part,
    title: part,
    says: `${ready ? 'ready' : state}, ${restarted}${revision === null ? '' : `, revision ${short(revision)}`}`,
    why: exit && [
      plain(
        `${containerEnded(exit.container)} with code ${exit.exit_code}${exit.reason === null ? '' : ` (${exit.reason})`} `,
      ),
      exit.at !== null && <Age then={exit.at} after=" ago" />,
    ],
    sub: [
      <code>{plain(name)}</code>,
      pod.created_at !== null && ['created ', <Age then={pod.created_at} after=" ago" />],
      usage && `uses ${usageWords(amounts(usage), amounts(limits))}`,
    ],
  };
}

/** A pod that is not ready and was restarted exits again and again. */
function toneOf({ ready, phase, restarts }: DeploymentPod): Tone {
  if (ready || phase === 'Succeeded') return 'good';
  return phase === 'Failed' || restarts > 0 ? 'bad' : 'busy';
}

/** The parts in which a command can be run; the pods of runs end of their own. */
function readyParts(pods: readonly DeploymentPod[]): string[] {
  const parts = pods
    .filter(({ ready, part }) => ready && part !== 'task' && part !== 'migrate')
    .map(({ part }) => part);
  return [...new Set(parts)].toSorted();
}

/** Warnings that are not over and are shown at once. */
const MOST_WARNINGS = 5;

function Events({ events }: { readonly events: readonly DeploymentEvent[] }): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const warnings = events.filter(({ type, over }) => type === 'Warning' && !over);
  const shown = isWhole ? events : warnings.slice(0, MOST_WARNINGS);
  return (
    <>
      <Rows
        label={isWhole ? 'Events, newest first' : 'Warnings, newest first'}
        none={events.length === 0 ? 'No events in the last hour.' : 'No current warnings.'}
        rows={shown.map(({ type, over, message, reason, object, last_at: at, count }, key) => ({
          key,
          tone: type === 'Warning' && !over ? 'bad' : 'off',
          says: [
            type === 'Warning' && (over ? 'Over: ' : <span class="hidden">Warning: </span>),
            plain(message === '' ? reason : message),
          ],
          sub: [
            <code>{plain(object)}</code>,
            at !== null && <Age then={at} after=" ago" />,
            count > 1 && `${count} times`,
          ],
        }))}
      />
      {events.length > (isWhole ? 0 : shown.length) && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Show warnings only' : `Show all ${events.length} events`}
        </button>
      )}
    </>
  );
}
