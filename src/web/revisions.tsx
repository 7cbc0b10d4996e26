// The revisions of a deployment: who asked for them, what each changed, and how it went.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Revision, RevisionList } from '../deploy/http/revisions/payloads.ts';
import { mayBeBuilt } from '../kinds/source-rules.ts';
import { shortened } from '../kinds/text.ts';
import type { TabProps } from './actions.tsx';
import type { Api } from './api.ts';
import { stepsOf } from './build-steps.ts';
import { ChangeList, Differences } from './differences.tsx';
import { type Followed, useFollowed } from './follow.ts';
import { canRollBackTo, IN_BUILD, noticesOf, ranOf, toneOfRevision } from './health.ts';
import { Age, Asking, Breakable, Mark, Titles } from './parts.tsx';
import type { Pair } from './route.ts';
import { plain, short } from './text.ts';

/** The two revisions that are compared, which the URL names. */
export interface Compared {
  readonly pair: Pair | undefined;
  readonly onPair: (pair: Pair) => void;
}

interface RevisionsProps extends Compared, Pick<TabProps, 'api' | 'deployment' | 'onAsk'> {
  readonly followed: Followed<RevisionList>;
}

/** Characters of what happened to a revision that is not the latest: whatever was in its way is over. */
const LONGEST_OF_OLDER = 200;

function Happened({ text, isLatest }: { readonly text: string; readonly isLatest: boolean }): VNode {
  if (isLatest || text.length <= LONGEST_OF_OLDER) return <>{text}</>;
  return (
    <details>
      <summary>{shortened(text, LONGEST_OF_OLDER)}</summary>
      <div>{text}</div>
    </details>
  );
}

export function Revisions({ api, deployment, followed, pair, onPair, onAsk }: RevisionsProps): VNode {
  const rows = followed.value?.resources;
  const [opened, setOpened] = useState<string>();
  return (
    <section aria-labelledby="revisions">
      <h2 id="revisions">Revisions</h2>
      <Asking of={followed} what="The revisions" />
      {rows?.length === 0 && <p>None yet: there is nothing to run.</p>}
      {rows !== undefined && rows.length > 0 && (
        <table class="list revisions" role="table" aria-labelledby="revisions">
          <Titles titles={['Revision', 'Status', 'What happened', 'Runs', 'Age', 'Action']} />
          <tbody role="rowgroup">
            {rows.map((revision, place) => (
              <Row
                key={revision.id}
                deployment={deployment}
                revision={revision}
                isLatest={place === 0}
                isOpen={opened === revision.id}
                onOpen={setOpened}
                onAsk={onAsk}
              />
            ))}
          </tbody>
        </table>
      )}
      {opened !== undefined && <Steps key={opened} api={api} id={deployment.id} revisionId={opened} />}
      {rows !== undefined && rows.length > 1 && (
        <Compare api={api} id={deployment.id} revisions={rows} pair={pair} onPair={onPair} />
      )}
    </section>
  );
}

interface RowProps extends Pick<TabProps, 'deployment' | 'onAsk'> {
  readonly revision: Revision;
  readonly isLatest: boolean;
  /** Whether its steps are shown. */
  readonly isOpen: boolean;
  readonly onOpen: (revisionId: string | undefined) => void;
}

function Row({ deployment, revision, isLatest, isOpen, onOpen, onAsk }: RowProps): VNode {
  return (
    <tr role="row" class={toneOfRevision(revision)}>
      <th role="rowheader" scope="row" class="name">
        <code>{short(revision.id)}</code>
        {revision.id === deployment.active_revision_id && <span class="tag">active</span>}
        {revision.id === deployment.latest_revision_id && <span class="tag">latest</span>}
      </th>
      <td role="cell" class="status">
        <Mark tone={toneOfRevision(revision)}>{revision.status}</Mark>
      </td>
      <td role="cell" class="message">
        <Happened text={plain(revision.status_message ?? '')} isLatest={isLatest} />
        {revision.changes !== null && revision.changes.fields.length > 0 && (
          <ChangeList changes={revision.changes.fields} />
        )}
        {noticesOf(revision).map((notice) => (
          <div key={notice} class="sub">
            {plain(notice)}
          </div>
        ))}
      </td>
      <td role="cell" class="image" data-title="Runs">
        <Breakable text={ranOf(revision)} />
      </td>
      <td role="cell" class="number" data-title="Age">
        <Age then={revision.created_at} />
      </td>
      <td role="cell" class="action">
        {mayBeBuilt(revision.source) && (
          <button
            type="button"
            aria-label={`Steps of ${short(revision.id)}`}
            aria-expanded={isOpen}
            onClick={() => onOpen(isOpen ? undefined : revision.id)}
          >
            Steps
          </button>
        )}
        {onAsk && !isLatest && canRollBackTo(revision) && (
          <button
            type="button"
            aria-label={`Roll back to ${short(revision.id)}`}
            onClick={() => onAsk({ action: 'roll back', revision })}
          >
            Roll back
          </button>
        )}
        {onAsk && IN_BUILD.includes(revision.status) && (
          <button
            type="button"
            aria-label={`Interrupt ${short(revision.id)}`}
            onClick={() => onAsk({ action: 'interrupt', revision })}
          >
            Interrupt
          </button>
        )}
      </td>
    </tr>
  );
}

interface CompareProps extends Compared {
  readonly api: Api;
  readonly id: string;
  /** Newest first, at least two. */
  readonly revisions: readonly Revision[];
}

function Compare({ api, id, revisions, pair, onPair }: CompareProps): VNode {
  const [newest, before] = revisions;
  const { from, to } = pair ?? { from: before?.id ?? '', to: newest?.id ?? '' };
  return (
    <section class="card" aria-labelledby="compare">
      <h2 id="compare">Compare</h2>
      <div class="filters">
        <Choice
          id="compare-from"
          label="From"
          value={from}
          revisions={revisions}
          onChange={(one) => onPair({ from: one, to })}
        />
        <Choice
          id="compare-to"
          label="to"
          value={to}
          revisions={revisions}
          onChange={(one) => onPair({ from, to: one })}
        />
      </div>
      {pair !== undefined && <Differences api={api} id={id} from={from} to={to} />}
    </section>
  );
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly revisions: readonly Revision[];
  readonly onChange: (revisionId: string) => void;
}

function Choice({ id, label, value, revisions, onChange }: ChoiceProps): VNode {
  return (
    <>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!revisions.some((revision) => revision.id === value) && <option value={value}>{short(value)}</option>}
        {revisions.map((revision) => (
          <option key={revision.id} value={revision.id}>
            {short(revision.id)}, {revision.status}
          </option>
        ))}
      </select>
    </>
  );
}

/** The steps of a build with their seconds, as its log has them. */
function Steps({ api, id, revisionId }: Pick<CompareProps, 'api' | 'id'> & { readonly revisionId: string }): VNode {
  const followed = useFollowed(revisionId, api.logs(id, { kind: 'build', revisionId }, {}), {
    take: (before, { lines, isTruncated }) => ({ lines: [...(before?.lines ?? []), ...lines], isTruncated }),
  });
  const steps = stepsOf(followed.value?.lines.map(({ message }) => plain(message)) ?? []);
  return (
    <section class="card" aria-labelledby="steps">
      <h2 id="steps">Steps of the build of {short(revisionId)}</h2>
      <Asking of={followed} what="The steps" />
      {followed.value !== undefined && steps.length === 0 && (
        <p class="sub">The log of the build has no steps, or is no longer kept.</p>
      )}
      <ol class="reports">
        {steps.map(({ number, title, tone, seconds, lastLine }) => (
          <li key={number}>
            <Mark tone={tone}>
              {title} {seconds !== undefined && <span class="sub">{seconds} s</span>}
            </Mark>
            {lastLine !== undefined && <div class="why">{lastLine}</div>}
          </li>
        ))}
      </ol>
    </section>
  );
}
