// A rollback, with what it changes.

import type { VNode } from 'preact';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { Differences } from './differences.tsx';
import { ranOf } from './health.ts';
import { type ActionProps, Dialog } from './parts.tsx';
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
      <Differences api={api} id={deployment.id} to={revision.id} />
    </Dialog>
  );
}
