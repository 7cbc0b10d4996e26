// A shell in a pod, as a command for a terminal: the page has none (docs/adr/0056-no-shell-on-the-page.md).

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';

export interface ShellProps {
  readonly deployment: Deployment;
  /** Its namespace, where the person has named the tenant by it. */
  readonly namespace: string | undefined;
  /** Parts with a ready pod, beside the server. */
  readonly parts: readonly string[];
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
}

export function Shell({ deployment, namespace, parts, say }: ShellProps): VNode {
  const { listener_id: listener, listener_config: place } = deployment.source_config;
  const words = ['kubectl davit exec', deployment.name];
  const team = listener === null ? namespace : (place?.k8s_namespace ?? undefined);
  const where = team === undefined ? [] : ['-n', team];
  return (
    <>
      <h3>A shell</h3>
      <p class="sub">
        In a terminal, with your own kubeconfig
        {listener !== null && ' of the cluster of its listener'}. It needs the right to create pods/exec.
      </p>
      {['server', ...parts.filter((part) => part !== 'server')].map((part) => (
        <Command
          key={part}
          text={[...words, ...where, ...(part === 'server' ? [] : ['-c', part]), '-- sh'].join(' ')}
          of={part}
          say={say}
        />
      ))}
    </>
  );
}

interface CommandProps extends Pick<ShellProps, 'say'> {
  readonly text: string;
  /** Completes the label "Copy the command for". */
  readonly of: string;
}

export function Command({ text, of, say }: CommandProps): VNode {
  const code = useRef<HTMLElement>(null);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      say('The command is copied.');
    } catch {
      // Without TLS a page has no clipboard, and a person may refuse it.
      if (code.current) getSelection()?.selectAllChildren(code.current);
      say('The command is selected: copy it with the keyboard.');
    }
  }
  return (
    <p class="command">
      <code ref={code}>{text}</code>
      <button type="button" aria-label={`Copy the command for ${of}`} onClick={() => void copy()}>
        Copy
      </button>
    </p>
  );
}
