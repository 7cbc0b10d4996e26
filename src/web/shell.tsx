// A shell in a pod, as a command for a terminal: the page has none (docs/adr/0056-no-shell-on-the-page.md).

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { TabProps } from './actions.tsx';
import { commandOf } from './text.ts';

interface ShellProps extends Pick<TabProps, 'deployment' | 'namespace' | 'say'> {
  /** Parts with a ready pod, beside the server. */
  readonly parts: readonly string[];
}

export function Shell({ deployment, namespace, parts, say }: ShellProps): VNode {
  return (
    <>
      <p class="sub">
        Run this in a terminal, with your own kubeconfig
        {deployment.source_config.listener_id !== null && ' for the cluster of its listener'}. You need the right to
        create pods/exec.
      </p>
      {['server', ...parts.filter((part) => part !== 'server')].map((part) => (
        <Command
          key={part}
          text={`${commandOf('exec', deployment, namespace)}${part === 'server' ? '' : ` -c ${part}`} -- sh`}
          of={part}
          say={say}
        />
      ))}
    </>
  );
}

/** Whether the browser has copied it: without TLS a page has no clipboard, and a person may refuse it. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

interface CommandProps extends Pick<ShellProps, 'say'> {
  readonly text: string;
  /** Completes the label "Copy the command for". */
  readonly of: string;
}

export function Command({ text, of, say }: CommandProps): VNode {
  const code = useRef<HTMLElement>(null);
  async function copy(): Promise<void> {
    const isCopied = await copied(text);
    if (!isCopied && code.current) getSelection()?.selectAllChildren(code.current);
    say(isCopied ? 'The command is copied.' : 'The command is selected: copy it with the keyboard.');
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
