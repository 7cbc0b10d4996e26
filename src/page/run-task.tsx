// A run of a task now.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { type ActionProps, Dialog } from './parts.tsx';

/** Sends the same key until it is closed, so that a run whose answer was lost is not begun twice. */
export function RunTask({
  api,
  deployment,
  task,
  isRunning,
  onDone,
  onClose,
}: ActionProps & { readonly task: string; readonly isRunning: boolean }): VNode {
  const [key] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'));
  return (
    <Dialog
      title={`Run ${task} now`}
      action="Run now"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        const { job } = await api.runTask(deployment.id, task, key);
        return `Job ${job} runs ${task} of ${deployment.name}.`;
      }}
    >
      <p>
        Its command runs once, with the image and the variables of the active revision. The schedule stays as it is.
      </p>
      {isRunning && <p>Its last run goes on. The new one runs beside it.</p>}
    </Dialog>
  );
}
