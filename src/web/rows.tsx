// Cards with rows, and the dialog of an act: what the tabs Data and Access are made of.

import type { ComponentChildren, VNode } from 'preact';
import { Fragment } from 'preact';
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

interface ConfirmProps {
  readonly question: Question;
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
}

export function Confirm({ question, onDone, onClose }: ConfirmProps): VNode {
  const { title, action, says, loses, typed, fields, done } = question;
  return (
    <Dialog
      title={title}
      action={action}
      isDangerous={question.isDangerous ?? typed !== undefined}
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        if (typed !== undefined && fieldOf(form, 'typed') !== typed)
          throw new Error(`That is not its name. Type ${typed} to confirm.`);
        await question.send(form);
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
        {typed !== undefined && (
          <>
            <label for="typed">Type {typed} to confirm</label>
            <Word id="typed" name="typed" required />
          </>
        )}
      </div>
    </Dialog>
  );
}

export interface Act {
  readonly label: string;
  /** What the button is about, for readers who hear it alone. */
  readonly of: string;
  readonly onClick: () => void;
}

export function Acts({ acts }: { readonly acts: readonly (Act | false | undefined)[] }): VNode | null {
  const there = acts.filter((act) => act !== undefined && act !== false);
  if (there.length === 0) return null;
  return (
    <span class="actions">
      {there.map(({ label, of, onClick }) => (
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
  readonly sub?: readonly ComponentChildren[];
  readonly why?: string | null | undefined;
  readonly acts?: readonly (Act | false | undefined)[];
}

export function Rows({ rows, none }: { readonly rows: readonly Row[] | undefined; readonly none: string }): VNode {
  return (
    <ul class="rows">
      {rows?.length === 0 && <li class="sub">{none}</li>}
      {rows?.map(({ key, tone = 'off', title, says, sub = [], why, acts = [] }) => (
        <li key={key}>
          <Mark tone={tone}>
            <strong>{plain(title)}</strong> {says}
            {why && <div class="why">{plain(why)}</div>}
            <div class="sub">
              {sub
                .filter((one) => one !== null && one !== undefined && one !== false)
                .map((one, place) => (
                  <Fragment key={place}>
                    {place > 0 && ' · '}
                    {one}
                  </Fragment>
                ))}
            </div>
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
  readonly acts?: readonly (Act | false | undefined)[];
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
export function useRead<T>(api: Api, path: string): Read<T> {
  const [state, setState] = useState<Omit<Read<T>, 'again'>>({});
  const [times, setTimes] = useState(0);
  useEffect(() => {
    let isNewest = true;
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
