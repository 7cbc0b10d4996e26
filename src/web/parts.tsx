// Small views that several others use.

import type { ComponentChildren, InputHTMLAttributes, TargetedSubmitEvent, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Api } from './api.ts';
import type { Followed } from './follow.ts';
import { TONE_WORDS, type Tone } from './health.ts';
import { age, linkTo, messageOf, plain } from './text.ts';

/** A shape for each tone, so that colour is never the only sign. */
const SHAPES: Readonly<Record<Tone, VNode>> = {
  good: <path d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.2 4.2L7 9.4 4.8 7.2 3.7 8.3 7 11.6l5.3-5.3Z" />,
  busy: <path d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.8v10.4A5.2 5.2 0 1 0 8 2.8Z" />,
  bad: <path d="M8 .8 15.6 15H.4Zm-.9 5v4.4h1.8V5.8Zm0 5.5v1.8h1.8v-1.8Z" />,
  off: <path d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.8A5.2 5.2 0 1 0 8 13.200 5.2 5.2 0 0 0 8 2.800Z" />,
};

/** A shape, and `text` or the tone's own word beside it. */
export function Mark({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }): VNode {
  return (
    <span class={`mark ${tone}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="currentColor" fill-rule="evenodd">
        {SHAPES[tone]}
      </svg>
      <span>{children}</span>
    </span>
  );
}

/** A status as the API words it, and how it is if that is not what the word says. */
interface StatusProps {
  readonly status: string;
  /** What happens to the latest revision, in words. */
  readonly phase: string | undefined;
  readonly tone: Tone;
}

export function Status({ status, phase, tone }: StatusProps): VNode {
  return (
    <Mark tone={tone}>
      {status}
      {phase !== undefined && <span class="sub">{phase}</span>}
      {tone === 'bad' && <span class="sub">{TONE_WORDS.bad}</span>}
    </Mark>
  );
}

/** An image or an address, which may go to the next line where its parts begin. */
export function Breakable({ text, after = /(?<=[/:@])/ }: { readonly text: string; readonly after?: RegExp }): VNode {
  return (
    <>
      {plain(text)
        .split(after)
        .flatMap((part, place) => (place === 0 ? [part] : [<wbr key={place} />, part]))}
    </>
  );
}

/** An address from outside: a link only if it is http or https. */
export function Address({ url }: { readonly url: string | null }): VNode | null {
  if (url === null) return null;
  const link = linkTo(url);
  if (link === undefined) return <span>{plain(url)}</span>;
  return (
    <a href={link} target="_blank" rel="noreferrer noopener">
      <Breakable text={url.replace(/^https:\/\//, '')} />
    </a>
  );
}

/** How long ago, with the moment itself. */
export function Age({ then, after = '' }: { readonly then: string; readonly after?: string }): VNode {
  return (
    <time datetime={then} title={new Date(then).toLocaleString()}>
      {age(then, new Date())}
      {after}
    </time>
  );
}

/** The titles of a table, with the roles that a narrow screen's layout would take away. */
export function Titles({ titles }: { readonly titles: readonly string[] }): VNode {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {titles.map((title) => (
          <th key={title} role="columnheader" scope="col">
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** What is known, by title; what is null or empty has no line. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, VNode | string | null])[] }): VNode {
  return (
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
  );
}

/** Said at once. The element stays, or a screen reader would miss what is put into it. */
export function Failure({ sentence, id }: { readonly sentence: string | undefined; readonly id?: string }): VNode {
  return (
    <div class="failure" role="alert" id={id}>
      {sentence !== undefined && <Mark tone="bad">{plain(sentence)}</Mark>}
    </div>
  );
}

/** How a question to the API goes: calm while it waits, and what to do when it has failed. */
export function Asking({
  of: { value, failure, retryAt, isPending, isSlow, again },
  what,
}: {
  readonly of: Followed<unknown>;
  readonly what: string;
}): VNode {
  const isFirst = isPending && value === undefined;
  return (
    <>
      <p class="asking" role="status">
        {isSlow ? 'The answer takes longer than usual. Still waiting …' : isFirst && `Loading ${what.toLowerCase()} …`}
      </p>
      <div class="failure" role="alert">
        {failure && (
          <>
            <Mark tone="bad">
              {value === undefined ? '' : 'This is not up to date. '}
              {plain(failure.message)}
            </Mark>
            <button type="button" onClick={again}>
              Try again
            </button>
            {retryAt !== undefined && <span class="sub">Tried again at {new Date(retryAt).toLocaleTimeString()}.</span>}
          </>
        )}
      </div>
    </>
  );
}

/** What was typed into the field `name`. */
export function fieldOf(form: FormData, name: string): string {
  return rawOf(form, name).trim();
}

/** The same with the spaces around it, which may belong to a secret. */
export function rawOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

export interface DialogProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isWide?: boolean;
  /** Resolves to the sentence that says what was done; rejects with the one that says why not. */
  readonly onConfirm: (form: FormData) => Promise<string>;
  /** Called when the dialog is closed after that: what is announced behind an open one is heard by nobody. */
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** An input for a name, which neither the browser nor a telephone's keyboard completes or corrects. */
export function Word(props: InputHTMLAttributes<HTMLInputElement>): VNode {
  return <input type="text" autocomplete="off" autocapitalize="none" spellcheck={false} {...props} />;
}

/** Of the dialogs that change a deployment. */
export interface ActionProps {
  readonly api: Api;
  readonly deployment: Deployment;
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
}

/** Modal: the browser keeps the focus inside, closes it with Escape and returns the focus to where it came from. */
export function Dialog({
  title,
  action,
  isDangerous = false,
  isWide = false,
  onConfirm,
  onDone,
  onClose,
  children,
}: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isAsking, setIsAsking] = useState(false);
  const [failure, setFailure] = useState<string>();

  // Before the next key is handled: a Tab would otherwise move the focus that the dialog has to return.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  async function confirm(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    setIsAsking(true);
    setFailure(undefined);
    try {
      const sentence = await onConfirm(new FormData(event.currentTarget));
      // The dialog is gone with what it was about, and what was announced then is newer.
      if (dialog.current === null) return;
      dialog.current.close();
      onDone(sentence);
    } catch (error) {
      setFailure(messageOf(error));
    }
    setIsAsking(false);
  }

  return (
    <dialog ref={dialog} class={isWide ? 'wide' : ''} aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={(event) => void confirm(event)}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <Failure sentence={failure} />
        <div class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'main'} aria-disabled={isAsking}>
            {isAsking ? 'Asking the API …' : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
