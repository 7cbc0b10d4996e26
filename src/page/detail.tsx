// One deployment: what is wrong and what to do, what Davit has made of it, its revisions and its logs.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deployments/http/payloads.ts';
import type { Revision } from '../deployments/http/revisions/payloads.ts';
import type { Api } from './api.ts';
import { type Followed, newest, useFollowed } from './follow.ts';
import {
  advice,
  aspectsOf,
  type Condition,
  canRollBackTo,
  conditionOf,
  originOf,
  type Part,
  partsOf,
  phaseOf,
  scaleOf,
  TONE_WORDS,
  type Tone,
  toneOf,
  toneOfCondition,
  toneOfRevision,
  wordOf,
} from './health.ts';
import { Logs } from './logs.tsx';
import { Address, Age, Asking, Breakable, Dialog, fieldOf, Mark, Status } from './parts.tsx';
import { LIST } from './route.ts';
import { plain, short } from './text.ts';

interface RevisionList {
  readonly resources: readonly Revision[];
}

export interface DetailProps {
  readonly api: Api;
  readonly id: string;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  /** Called once, when the deployment that was shown is there no more. */
  readonly onGone: (name: string) => void;
}

type Asked =
  | { readonly action: 'scale' }
  | { readonly action: 'delete' }
  | { readonly action: 'roll back'; readonly revision: Revision };

export function Detail({ api, id, say, onGone }: DetailProps): VNode {
  const deployment = useFollowed<{ readonly found: Deployment; readonly isGone: boolean }>(
    id,
    api.deployment(id),
    (value, events) => {
      const found = newest<Deployment>('deployment')(value?.found, events);
      return found && { found, isGone: events.some(({ event }) => event === 'gone') };
    },
  );
  const revisions = useFollowed<RevisionList>(id, api.revisions(id), newest('revisions'));
  const [asked, setAsked] = useState<Asked>();
  const heading = useRef<HTMLHeadingElement>(null);
  const isFocused = useRef(false);
  const found = deployment.value?.found;
  const isMissing = deployment.failure?.status === 404;
  const isGone = found !== undefined && (deployment.value?.isGone === true || isMissing);

  useEffect(() => {
    if (found === undefined && !isMissing) return;
    document.title = `${found?.name ?? 'No deployment'} – Davit`;
    if (isFocused.current) return;
    isFocused.current = true;
    heading.current?.focus();
  }, [found === undefined, isMissing]);
  useEffect(() => {
    if (isGone) onGone(found.name);
  }, [isGone]);

  if (found === undefined) {
    return (
      <section>
        <a href={LIST}>← All deployments</a>
        {!isMissing && <Asking of={deployment} what="The deployment" />}
        {isMissing && (
          <h1 tabIndex={-1} ref={heading}>
            There is no such deployment, or not for this token and tenant
          </h1>
        )}
      </section>
    );
  }

  const tone = toneOf(found);
  const isLeaving = found.status === 'AWAITING_DELETE';
  return (
    <article aria-labelledby="deployment">
      <nav aria-label="Back">
        <a href={LIST}>← All deployments</a>
      </nav>
      <div class="head">
        <h1 id="deployment" ref={heading} tabIndex={-1}>
          {found.name}
        </h1>
        <Status status={found.status} phase={phaseOf(found)} tone={tone} />
        {!isLeaving && (
          <span class="actions">
            <button type="button" onClick={() => setAsked({ action: 'scale' })}>
              Scale
            </button>
            <button type="button" class="danger" onClick={() => setAsked({ action: 'delete' })}>
              Delete
            </button>
          </span>
        )}
      </div>
      <Asking of={deployment} what="The deployment" />
      <Verdict deployment={found} tone={tone} />
      <div class="columns">
        <Facts deployment={found} />
        <Tree deployment={found} />
      </div>
      <Revisions
        deployment={found}
        followed={revisions}
        onRollBack={isLeaving ? undefined : (revision) => setAsked({ action: 'roll back', revision })}
      />
      <Logs api={api} id={id} revisions={revisions.value?.resources ?? []} />
      {asked?.action === 'scale' && (
        <Scale api={api} deployment={found} onDone={say} onClose={() => setAsked(undefined)} />
      )}
      {asked?.action === 'delete' && (
        <Delete
          api={api}
          deployment={found}
          onDone={say}
          onClose={() => {
            setAsked(undefined);
            // The button is gone with the deletion.
            setTimeout(() => document.activeElement === document.body && heading.current?.focus());
          }}
        />
      )}
      {asked?.action === 'roll back' && (
        <RollBack
          api={api}
          deployment={found}
          revision={asked.revision}
          onDone={say}
          onClose={() => setAsked(undefined)}
        />
      )}
    </article>
  );
}

/** The one look: how it is in words, and what a person has to do. */
function Verdict({ deployment, tone }: { readonly deployment: Deployment; readonly tone: Tone }): VNode {
  const ready = conditionOf(deployment, 'Ready');
  const todo = tone === 'bad' && ready ? advice(ready.reason) : undefined;
  return (
    <section class={`verdict ${tone}`} aria-label="How it is" aria-live="polite">
      <p>
        <span class="hidden">
          {[deployment.status, phaseOf(deployment), tone === 'good' ? wordOf(deployment) : undefined]
            .filter((word) => word !== undefined)
            .join(', ')}
          .{' '}
        </span>
        {tone !== 'good' && <span class="reason">{wordOf(deployment)}</span>} {plain(deployment.status_message)}
      </p>
      {todo !== undefined && (
        <p>
          <strong>What to do:</strong> {todo}
        </p>
      )}
    </section>
  );
}

function Facts({ deployment }: { readonly deployment: Deployment }): VNode {
  const {
    source_config: config,
    source_revision_config: revision,
    secrets,
    secret_references: references,
  } = deployment;
  const variables = [
    ...secrets.map(({ name }) => name),
    ...(references ?? []).map(
      ({ name, secret_name, secret_key }) => `${name} (Secret ${secret_name}, key ${secret_key})`,
    ),
  ];
  const facts: [string, VNode | string | null][] = [
    ['Runs', <code>{plain(originOf(deployment))}</code>],
    ['Commit', revision.repo_commit_sha && <code>{short(revision.repo_commit_sha)}</code>],
    ['Address', config.custom_url && <Address url={config.custom_url} />],
    ['In the cluster', deployment.internal_url && <code>{plain(deployment.internal_url)}</code>],
    ['Pods', scaleOf(deployment)],
    ['Source', deployment.source],
    ['Variables', variables.length === 0 ? null : plain(variables.join(', '))],
    ['Created', <Age then={deployment.created_at} after=" ago" />],
    ['Changed', <Age then={deployment.updated_at} after=" ago" />],
    ['Id', <code>{deployment.id}</code>],
  ];
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl>
        {facts
          .filter(([, fact]) => fact !== null && fact !== '')
          .map(([title, fact]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{fact}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

/** The parts that Davit makes, as `kubectl davit status` shows them. */
function Tree({ deployment }: { readonly deployment: Deployment }): VNode {
  return (
    <section aria-labelledby="parts">
      <h2 id="parts">What Davit made</h2>
      <ul class="tree">
        {partsOf(deployment).map((part) => (
          <Leaf key={part.name} part={part} said={deployment.status_message} />
        ))}
        {aspectsOf(deployment).map((part) => (
          <Leaf key={part.name} part={part} said={deployment.status_message} />
        ))}
      </ul>
    </section>
  );
}

/** `said` stands above already. */
function Leaf({ part: { name, condition, sizes }, said }: { readonly part: Part; readonly said: string }): VNode {
  const tone = condition ? toneOfCondition(condition) : 'busy';
  const todo = tone === 'bad' && condition ? advice(condition.reason) : undefined;
  const isWell = tone === 'good' || tone === 'off';
  return (
    <li>
      <Mark tone={tone}>
        <strong>{name}</strong> <span class="reason">{condition ? wordsOf(condition, said) : 'not looked at yet'}</span>
        {condition && isWell && <span class="hidden">, {TONE_WORDS[tone]}</span>}
      </Mark>
      {sizes.length > 0 && <div class="sizes">{sizes.join(' · ')}</div>}
      {condition && !isWell && condition.message !== said && <div class="why">{plain(condition.message)}</div>}
      {todo !== undefined && <div class="why">What to do: {todo}</div>}
    </li>
  );
}

/** Reasons are for programs: a person reads the message of what is well, and below the line that of what is not. */
function wordsOf(condition: Condition, said: string): string {
  const tone = toneOfCondition(condition);
  const isShown = (tone === 'good' || tone === 'off') && condition.message !== '' && condition.message !== said;
  return isShown ? plain(condition.message) : TONE_WORDS[tone];
}

interface RevisionsProps {
  readonly deployment: Deployment;
  readonly followed: Followed<RevisionList>;
  /** Absent where nothing can be rolled back. */
  readonly onRollBack: ((revision: Revision) => void) | undefined;
}

function Revisions({ deployment, followed, onRollBack }: RevisionsProps): VNode {
  const rows = followed.value?.resources;
  return (
    <section aria-labelledby="revisions">
      <h2 id="revisions">Revisions</h2>
      <Asking of={followed} what="The revisions" />
      {rows?.length === 0 && <p>None yet: there is nothing to run.</p>}
      {rows !== undefined && rows.length > 0 && (
        <table class="list revisions" role="table" aria-labelledby="revisions">
          <thead role="rowgroup">
            <tr role="row">
              {['Revision', 'Status', 'What happened', 'Runs', 'Age', 'Action'].map((title) => (
                <th key={title} role="columnheader" scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {rows.map((revision, place) => (
              <tr role="row" key={revision.id} class={toneOfRevision(revision)}>
                <th role="rowheader" scope="row" class="name">
                  <code>{short(revision.id)}</code>
                  {revision.id === deployment.active_revision_id && <span class="tag">active</span>}
                  {revision.id === deployment.latest_revision_id && <span class="tag">latest</span>}
                </th>
                <td role="cell" class="status">
                  <Mark tone={toneOfRevision(revision)}>{revision.status}</Mark>
                </td>
                <td role="cell" class="message">
                  {plain(revision.status_message ?? '')}
                </td>
                <td role="cell" class="image" data-title="Runs">
                  <Breakable text={ranOf(revision)} />
                </td>
                <td role="cell" class="number" data-title="Age">
                  <Age then={revision.created_at} />
                </td>
                <td role="cell" class="action">
                  {onRollBack && place > 0 && canRollBackTo(revision) && (
                    <button
                      type="button"
                      aria-label={`Roll back to ${short(revision.id)}`}
                      onClick={() => onRollBack(revision)}
                    >
                      Roll back
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function ranOf({ source_revision_config: config }: Revision): string {
  const commit = config.repo_commit_sha === null ? null : short(config.repo_commit_sha);
  const parts = [config.image_uri, config.repo_ref, commit].filter((part) => part !== null);
  return parts.length === 0 && config.source_tarball_path !== null ? 'uploaded source' : parts.join(' ');
}

interface ActionProps {
  readonly api: Api;
  readonly deployment: Deployment;
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
}

function Scale({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const { min_scale: min, max_scale: max } = deployment.source_config.resource_spec;
  return (
    <Dialog
      title={`Scale ${deployment.name}`}
      action="Scale"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        const scale = { min: Number(fieldOf(form, 'min')), max: Number(fieldOf(form, 'max')) };
        await api.scale(deployment.id, scale);
        return `${deployment.name} is to run on ${scale.min} to ${scale.max} pods.`;
      }}
    >
      <p>No running pod is replaced, and no revision is made. A maximum of 0 stops every pod and keeps the data.</p>
      <div class="fields">
        <label for="min">Fewest pods</label>
        <input id="min" name="min" type="number" min={0} step={1} required defaultValue={String(min ?? 1)} />
        <label for="max">Most pods</label>
        <input id="max" name="max" type="number" min={0} step={1} required defaultValue={String(max ?? 1)} />
      </div>
    </Dialog>
  );
}

function RollBack({
  api,
  deployment,
  revision,
  onDone,
  onClose,
}: ActionProps & { readonly revision: Revision }): VNode {
  return (
    <Dialog
      title={`Roll back ${deployment.name}`}
      action="Roll back"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        await api.redeploy(deployment.id, revision.id);
        return `${deployment.name} goes back to revision ${short(revision.id)}.`;
      }}
    >
      <p>
        A new revision gets everything that revision <code>{short(revision.id)}</code> had:{' '}
        <code>{plain(ranOf(revision))}</code>, its sizes and its variables. The number of pods stays. What serves goes
        on serving until the new one is ready.
      </p>
    </Dialog>
  );
}

function Delete({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const { name } = deployment;
  return (
    <Dialog
      title={`Delete ${name}`}
      action={`Delete ${name}`}
      isDangerous
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        if (fieldOf(form, 'name') !== name) throw new Error(`That is not its name. Type ${name} to delete it.`);
        await api.remove(deployment.id);
        return `${name} is being deleted.`;
      }}
    >
      <p>
        This deletes the deployment <strong>{name}</strong>, its pods and, unless it is to be retained, its database
        with all data. It cannot be undone.
      </p>
      <div class="fields">
        <label for="confirm">Type the name to confirm</label>
        <input
          id="confirm"
          name="name"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          required
        />
      </div>
    </Dialog>
  );
}
