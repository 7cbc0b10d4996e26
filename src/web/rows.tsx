// Cards with rows, and the dialog of an act: what the tabs Data and Access are made of.

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, ApiError } from './api.ts';
import type { Tone } from './health.ts';
import { Dialog, Failure, fieldOf, Mark, Word } from './parts.tsx';
import { plain } from './text.ts';

/** What a dialog asks before it sends one request. */
export interface Question {
  readonly title: string;
  readonly action: string;
  /** What it does, a paragraph each. */
  readonly says: readonly string[];
  /** What is lost, in numbers. */
  readonly loses?: string | null | undefined;
  /** The name that is typed where something is lost. */
  readonly typed?: string | undefined;
  readonly isDangerous?: boolean;
  readonly fields?: ComponentChildren;
  readonly send: (form: FormData) => Promise<unknown>;
  /** Says what was done. */
  readonly done: string;
}

/** The dialog of what is asked, and what asks. `onDone`: called after it was carried out. */
export function useQuestion(
  say: (sentence: string) => void,
  onDone: () => void,
): readonly [VNode | null, (question: Question) => void] {
  const [question, setQuestion] = useState<Question>();
  if (question === undefined) return [null, setQuestion];
  const { title, action, says, loses, typed, isDangerous = typed !== undefined, fields, send, done } = question;
  const dialog = (
    <Dialog
      title={title}
      action={action}
      isDangerous={isDangerous}
      onClose={() => setQuestion(undefined)}
      onDone={(sentence) => {
        say(sentence);
        onDone();
      }}
      onConfirm={async (form) => {
        if (typed !== undefined && fieldOf(form, 'typed') !== typed)
          throw new Error(`That is not its name. Type ${typed} to confirm.`);
        await send(form);
        return done;
      }}
    >
      {says.map((words) => (
        <p key={words}>{plain(words)}</p>
      ))}
      {loses && (
        <p>
          <strong>{plain(loses)}</strong>
        </p>
      )}
      <div class="fields">
        {fields}
        {typed !== undefined && <label for="typed">Type {typed} to confirm</label>}
        {typed !== undefined && <Word id="typed" name="typed" required />}
      </div>
    </Dialog>
  );
  return [dialog, setQuestion];
}

export interface Act {
  readonly label: string;
  /** What the button is about, for readers who hear it alone. */
  readonly of: string;
  readonly onClick: () => void;
}

/** What is not there is not possible. */
type Maybe<T> = T | false | null | undefined;

function there<T>(all: readonly Maybe<T>[]): T[] {
  return all.filter((one): one is T => one !== false && one !== null && one !== undefined);
}

function Acts({ acts }: { readonly acts: readonly Maybe<Act>[] }): VNode {
  return (
    <span class="actions">
      {there(acts).map(({ label, of, onClick }) => (
        <button key={`${label} ${of}`} type="button" aria-label={`${label} ${of}`} onClick={onClick}>
          {label}
        </button>
      ))}
    </span>
  );
}

export interface Row {
  readonly key: string | number;
  readonly tone?: Tone;
  readonly title: string;
  readonly says?: ComponentChildren;
  /** Smaller, on a line of their own. */
  readonly sub?: readonly Maybe<ComponentChildren>[];
  readonly why?: string | null | undefined;
  readonly acts?: readonly Maybe<Act>[];
}

interface RowsProps {
  readonly rows: readonly Maybe<Row>[] | undefined;
  /** What is said where there is no row. */
  readonly none?: string;
}

export function Rows({ rows, none = 'There is none.' }: RowsProps): VNode {
  const shown = there(rows ?? []);
  return (
    <ul class="rows">
      {rows && shown.length === 0 && <li class="sub">{none}</li>}
      {shown.map(({ key, tone = 'off', title, says, sub = [], why, acts = [] }) => (
        <li key={key}>
          <Mark tone={tone}>
            <strong>{plain(title)}</strong> {says}
            {why && <div class="why">{plain(why)}</div>}
            <div class="sub">{there(sub).flatMap((one, place) => (place === 0 ? [one] : [' · ', one]))}</div>
          </Mark>
          <Acts acts={acts} />
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  readonly title: string;
  readonly sub?: string | false | undefined;
  readonly acts?: readonly Maybe<Act>[];
  readonly failure?: Error | undefined;
  readonly children: ComponentChildren;
}

export function Card({ title, sub, acts = [], failure, children }: CardProps): VNode {
  // What the platform does not have is no failure.
  const isAbsent = failure instanceof ApiError && failure.status === 424;
  const id = `card-${title.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {sub && <span class="sub">{sub}</span>}
        <Acts acts={acts} />
      </header>
      {isAbsent && <p class="sub">{plain(failure.message)}</p>}
      <Failure sentence={isAbsent ? undefined : failure?.message} />
      {children}
    </section>
  );
}

export interface Read<T> {
  readonly found?: T;
  /** Why not, in the API's words. */
  readonly failure?: Error;
  readonly again: () => void;
}

/** Something that is read once, and again when it is asked for: it is a list of the API server. */
export function useRead<T>(api: Api, path: string | undefined): Read<T> {
  const [state, setState] = useState<Omit<Read<T>, 'again'>>({});
  const [times, setTimes] = useState(0);
  useEffect(() => {
    let isNewest = true;
    if (path === undefined) return undefined;
    api.ask<T>('GET', path).then(
      (found) => isNewest && setState({ found }),
      (error: Error) => isNewest && setState(({ found }) => ({ ...(found && { found }), failure: error })),
    );
    return () => {
      isNewest = false;
    };
  }, [path, times]);
  return { ...state, again: () => setTimes(times + 1) };
}
