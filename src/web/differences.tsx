// What differs between two revisions; of secret variables their names alone.

import type { VNode } from 'preact';
import type { RevisionDiff } from '../deploy/http/revisions/payloads.ts';
import type { Api } from './api.ts';
import { Breakable, Failure } from './parts.tsx';
import { useRead } from './rows.tsx';

type Changes = RevisionDiff['changes'];

interface DifferencesProps {
  readonly api: Api;
  /** Of the deployment. */
  readonly id: string;
  /** Absent for the newest revision. */
  readonly from?: string;
  readonly to: string;
}

export function Differences({ api, id, from, to }: DifferencesProps): VNode {
  const path = `v2/deployments/${id}/revisions/${to}/diff${from === undefined ? '' : `?from=${from}`}`;
  const { found, failure, isAsking } = useRead<RevisionDiff>(api, path);
  return (
    <>
      <h3>What changes</h3>
      <p role="status">
        {isAsking && 'Loading what changes …'}
        {found?.changes.length === 0 &&
          (from === undefined ? 'Nothing differs from the newest revision.' : 'Nothing differs.')}
      </p>
      <Failure sentence={failure?.message} />
      <ChangeList changes={found?.changes ?? []} />
    </>
  );
}

export function ChangeList({ changes }: { readonly changes: Changes }): VNode {
  return (
    <ul class="changes">
      {changes.map((change) => (
        <li key={change.field}>
          <code>
            <Breakable text={change.field} after={/(?<=[._[])/} />
          </code>{' '}
          <Breakable text={wordsOf(change)} />
        </li>
      ))}
    </ul>
  );
}

function wordsOf({ kind, from, to }: Changes[number]): string {
  if (from === null && to === null) return kind;
  if (from === null) return `added: ${to ?? ''}`;
  return to === null ? `removed: ${from}` : `${from} → ${to}`;
}
