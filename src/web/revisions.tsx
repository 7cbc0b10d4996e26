// The revisions of a deployment: who asked for them, what each changed, and how it went.

import type { VNode } from 'preact';
import type { RevisionList } from '../deploy/http/revisions/payloads.ts';
import { shortened } from '../kinds/text.ts';
import type { TabProps } from './actions.tsx';
import type { Followed } from './follow.ts';
import { canRollBackTo, IN_BUILD, noticesOf, ranOf, toneOfRevision } from './health.ts';
import { Age, Asking, Breakable, Mark } from './parts.tsx';
import { plain, short } from './text.ts';

interface RevisionsProps extends Pick<TabProps, 'deployment' | 'onAsk'> {
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

export function Revisions({ deployment, followed, onAsk }: RevisionsProps): VNode {
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
                  <Happened text={plain(revision.status_message ?? '')} isLatest={place === 0} />
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
                  {onAsk && place > 0 && canRollBackTo(revision) && (
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
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
