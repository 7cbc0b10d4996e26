// A rollback, with what it changes.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Revision, RevisionDiff } from '../deploy/http/revisions/payloads.ts';
import { ranOf } from './health.ts';
import { type ActionProps, Breakable, Dialog, Failure } from './parts.tsx';
import { plain, short } from './text.ts';

export function RollBack({
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
        <code>{plain(ranOf(revision))}</code>, its sizes and its variables. The number of pods stays. The running pods
        keep serving until the new ones are ready.
      </p>
      {revision.status !== 'DEPLOYED' && (
        <p>
          This revision was never deployed: it is {revision.status}. {revision.status_message}
        </p>
      )}
      <Differences api={api} deployment={deployment} revision={revision} />
    </Dialog>
  );
}

/** What a rollback changes; of secret variables their names alone. */
function Differences({
  api,
  deployment,
  revision,
}: Pick<ActionProps, 'api' | 'deployment'> & { readonly revision: Revision }): VNode {
  const [diff, setDiff] = useState<RevisionDiff>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    api.diff(deployment.id, revision.id).then(setDiff, (error: unknown) => {
      setFailure(error instanceof Error ? error.message : String(error));
    });
  }, []);
  return (
    <>
      <h3>What changes</h3>
      <p role="status">
        {diff === undefined && failure === undefined && 'Loading what changes …'}
        {diff?.changes.length === 0 && 'Nothing differs from the newest revision.'}
      </p>
      <Failure sentence={failure} />
      <ul class="changes">
        {diff?.changes.map((change) => (
          <li key={change.field}>
            <code>
              <Breakable text={change.field} after={/(?<=[._[])/} />
            </code>{' '}
            <Breakable text={changeOf(change)} />
          </li>
        ))}
      </ul>
    </>
  );
}

function changeOf({ kind, from, to }: RevisionDiff['changes'][number]): string {
  if (from === null && to === null) return kind;
  if (from === null) return `added: ${to ?? ''}`;
  return to === null ? `removed: ${from}` : `${from} → ${to}`;
}
