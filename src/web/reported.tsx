// What the cluster reports of a deployment: the warnings that matter, and behind a fold all events and pods. It is read when the deployment
// is shown, when what Ready says changes, and when a person asks: these are lists of the API server, which it would have to read again and again.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DeploymentEvent, DeploymentEvents, DeploymentPod } from '../deploy/http/events/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { containerEnded } from '../kinds/own-containers.ts';
import { type Amounts, usageWords } from '../kinds/pod-usage.ts';
import type { Api } from './api.ts';
import type { Tone } from './health.ts';
import { Age, Failure, Mark } from './parts.tsx';
import { Shell, type ShellProps } from './shell.tsx';
import { messageOf, plain, short } from './text.ts';

export interface ReportedProps extends Omit<ShellProps, 'parts'> {
  readonly api: Api;
}

export function Reported({ api, ...shell }: ReportedProps): VNode {
  const [found, setFound] = useState<DeploymentEvents>();
  const [failure, setFailure] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);

  async function ask(): Promise<void> {
    if (isAsking) return;
    setIsAsking(true);
    setFailure(undefined);
    try {
      setFound(await api.events(shell.deployment.id));
    } catch (error) {
      setFailure(messageOf(error));
    }
    setIsAsking(false);
  }

  const reason = conditionOf(shell.deployment.conditions, 'Ready')?.reason;
  useEffect(() => void ask(), [shell.deployment.id, reason]);

  return (
    <section class="card" aria-labelledby="reported">
      <div class="card-head">
        <h2 id="reported">Pods and events</h2>
        <button type="button" aria-disabled={isAsking} onClick={() => void ask()}>
          {isAsking ? 'Asking the API …' : 'Read again'}
        </button>
      </div>
      <Failure sentence={failure} />
      <div role="status" class="hidden">
        {found && `${found.pods?.length ?? 0} pods and ${found.resources.length} events`}
      </div>
      {found && <Events events={found.resources} />}
      {found && (
        <details class="fold">
          <summary>{found.pods === null ? 'Pods' : `Pods (${found.pods.length})`}</summary>
          <Pods pods={found.pods} />
          {found.pods?.every(({ usage }) => usage === null) === true && found.pods.length > 0 && (
            <p class="sub">CPU and memory are not known: the cluster has no metrics of pods, or not for this token.</p>
          )}
        </details>
      )}
      <details class="fold">
        <summary>A shell</summary>
        <Shell {...shell} parts={readyParts(found?.pods ?? [])} />
      </details>
      {found?.truncated && <p class="sub">There may be more: the namespace has more events than were read.</p>}
    </section>
  );
}

function Pods({ pods }: { readonly pods: readonly DeploymentPod[] | null }): VNode {
  if (pods === null) return <p class="sub">This token may not list pods.</p>;
  if (pods.length === 0) return <p class="sub">There is no pod.</p>;
  return (
    <ul class="reports" aria-label="Pods">
      {pods.map((pod) => (
        <li key={pod.name}>
          <Mark tone={toneOf(pod)}>
            <strong>{plain(pod.part)}</strong> {readinessOf(pod)}, {restartsOf(pod.restarts)}
            {pod.revision_id !== null && `, revision ${short(pod.revision_id)}`}
          </Mark>
          <div class="sub">
            <code>{plain(pod.name)}</code>
            {pod.created_at !== null && (
              <>
                {' '}
                made <Age then={pod.created_at} after=" ago" />
              </>
            )}
          </div>
          {pod.usage && <div class="sub">Uses {usageWords(amounts(pod.usage), amounts(pod.limits))}</div>}
          {pod.last_exit !== null && (
            <div class="why">
              {plain(
                `${containerEnded(pod.last_exit.container)} with code ${pod.last_exit.exit_code}${pod.last_exit.reason === null ? '' : ` (${pod.last_exit.reason})`}`,
              )}
              {pod.last_exit.at !== null && (
                <>
                  {' '}
                  <Age then={pod.last_exit.at} after=" ago" />
                </>
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The parts in which a command can be run; the pods of runs end of their own. */
function readyParts(pods: readonly DeploymentPod[]): string[] {
  const parts = pods
    .filter(({ ready, part }) => ready && part !== 'task' && part !== 'migrate')
    .map(({ part }) => part);
  return [...new Set(parts)].toSorted();
}

function amounts({ cpu, memory_mb: memoryMb }: DeploymentPod['limits']): Amounts {
  return { cpu, memoryMb };
}

/** A pod that is not ready and was restarted exits again and again. */
function toneOf({ ready, phase, restarts }: DeploymentPod): Tone {
  if (ready || phase === 'Succeeded') return 'good';
  return phase === 'Failed' || restarts > 0 ? 'bad' : 'busy';
}

function readinessOf({ ready, phase }: DeploymentPod): string {
  if (ready) return 'ready';
  return { Succeeded: 'has ended', Failed: 'has failed', Pending: 'is starting' }[phase] ?? 'not ready';
}

function restartsOf(restarts: number): string {
  return restarts === 0 ? 'never restarted' : restarts === 1 ? 'restarted once' : `restarted ${restarts} times`;
}

/** Warnings that are not over and are shown at once. */
const MOST_WARNINGS = 5;

function Events({ events }: { readonly events: readonly DeploymentEvent[] }): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const warnings = events.filter(({ type, over }) => type === 'Warning' && !over);
  const shown = isWhole ? events : warnings.slice(0, MOST_WARNINGS);
  return (
    <>
      {events.length === 0 && <p class="sub">There is no event of the last hour.</p>}
      {events.length > 0 && warnings.length === 0 && !isWhole && (
        <p class="sub">There is no warning that is not over.</p>
      )}
      <ul class="reports" aria-label={isWhole ? 'Events, newest first' : 'Warnings, newest first'}>
        {shown.map((event, place) => (
          <Line key={place} event={event} />
        ))}
      </ul>
      {events.length > (isWhole ? 0 : shown.length) && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Show warnings only' : `Show all ${events.length} events`}
        </button>
      )}
    </>
  );
}

function Line({ event }: { readonly event: DeploymentEvent }): VNode {
  return (
    <li>
      <Mark tone={event.type === 'Warning' && !event.over ? 'bad' : 'off'}>
        {event.type === 'Warning' && (event.over ? 'Over: ' : <span class="hidden">Warning: </span>)}
        {plain(event.message === '' ? event.reason : event.message)}
      </Mark>
      <div class="sub">
        <code>{plain(event.object)}</code>
        {event.last_at !== null && (
          <>
            {' '}
            <Age then={event.last_at} after=" ago" />
          </>
        )}
        {event.count > 1 && `, ${event.count} times`}
      </div>
    </li>
  );
}
