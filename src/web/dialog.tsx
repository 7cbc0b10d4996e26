// The one dialog: what it asks before it sends one request, and the answer in the API's words.

import type { ComponentChildren, InputHTMLAttributes, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Failure, fieldOf, Submit, useAsking, Word } from './parts.tsx';
import { plain } from './text.ts';

type Field = InputHTMLAttributes<HTMLInputElement> & { readonly id: string; readonly label: string };

export interface Question {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isWide?: boolean;
  /** What it does, a paragraph each. */
  readonly says?: readonly ComponentChildren[];
  /** What is lost, in numbers. */
  readonly loses?: string | null | undefined;
  /** The name that is typed where something is lost. */
  readonly typed?: string | undefined;
  readonly children?: ComponentChildren;
  readonly fields?: readonly Field[];
  /** Resolves to the sentence that says what was done, unless `done` does; rejects with the one that says why not. */
  readonly send: (form: FormData) => Promise<unknown>;
  readonly done?: string;
}

export function Fields({ fields }: { readonly fields: readonly Field[] }): VNode {
  return (
    <div class="fields">
      {fields.map(({ label, ...field }) => [
        <label key={label} for={field.id}>
          {label}
        </label>,
        <Word key={field.id} name={field.id} {...field} />,
      ])}
    </div>
  );
}

interface DialogProps extends Question {
  /** Called when the dialog is closed after that: what is announced behind an open one is heard by nobody. */
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
}

/** Modal: the browser keeps the focus inside, closes it with Escape and returns the focus to where it came from. */
export function Dialog({ onDone, onClose, ...question }: DialogProps): VNode {
  const { title, action, says = [], loses, typed, fields = [], children, send, done = '' } = question;
  const dialog = useRef<HTMLDialogElement>(null);
  const { isAsking, failure, ask } = useAsking();
  const asked: readonly Field[] =
    typed === undefined ? fields : [...fields, { id: 'typed', label: `Type ${typed} to confirm`, required: true }];

  // Before the next key is handled: a Tab would otherwise move the focus that the dialog has to return.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  async function confirm(form: FormData): Promise<void> {
    if (typed !== undefined && fieldOf(form, 'typed') !== typed)
      throw new Error(`That is not its name. Type ${typed} to confirm.`);
    const answer = await send(form);
    // The dialog is gone with what it was about, and what was announced then is newer.
    if (dialog.current === null) return;
    dialog.current.close();
    onDone(typeof answer === 'string' ? answer : done);
  }

  return (
    <dialog ref={dialog} class={question.isWide ? 'wide' : ''} aria-labelledby="dialog-title" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          void ask(() => confirm(form));
        }}
      >
        <h2 id="dialog-title">{title}</h2>
        {says.map((words, place) => (
          <p key={place}>{typeof words === 'string' ? plain(words) : words}</p>
        ))}
        {loses && (
          <p>
            <strong>{plain(loses)}</strong>
          </p>
        )}
        {children}
        {asked.length > 0 && <Fields fields={asked} />}
        <Failure sentence={failure} />
        <div class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <Submit isAsking={isAsking} kind={(question.isDangerous ?? typed !== undefined) ? 'danger' : 'main'}>
            {action}
          </Submit>
        </div>
      </form>
    </dialog>
  );
}

/** The dialog of what is asked, and what asks. `onDone`: called after it was carried out. */
export function useQuestion(
  say: (sentence: string) => void,
  onDone?: () => void,
): readonly [VNode | undefined, (question: Question) => void] {
  const [question, setQuestion] = useState<Question>();
  const dialog = question && (
    <Dialog
      {...question}
      onClose={() => {
        setQuestion(undefined);
        // The button may be gone with what was changed.
        setTimeout(() => document.activeElement === document.body && document.querySelector('h1')?.focus());
      }}
      onDone={(sentence) => {
        say(sentence);
        onDone?.();
      }}
    />
  );
  return [dialog, setQuestion];
}
