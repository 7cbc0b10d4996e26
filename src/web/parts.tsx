// Small views that several others use.

import type {
  ComponentChildren,
  InputHTMLAttributes,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
  VNode,
} from 'preact';
import { useState } from 'preact/hooks';
import type { Followed } from './follow.ts';
import type { Tone } from './health.ts';
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

/** What stands in a column. */
export interface Column<T> {
  readonly title: string;
  readonly kind: string;
  /** What a narrow screen, which has no titles, says before the value. */
  readonly short?: string;
  readonly of: (row: T) => ComponentChildren;
}

interface TableProps<T> {
  /** Id of its title. */
  readonly label: string;
  readonly kind?: string;
  readonly columns: readonly Column<T>[];
  readonly groups: readonly { readonly title?: string; readonly rows: readonly T[] }[];
  readonly keyOf: (row: T) => string;
  readonly toneOf?: (row: T) => Tone;
  readonly isStale?: boolean;
}

/** The first column names its row. The roles are those that the elements have; a narrow screen's layout would take them away. */
export function Table<T>({ label, kind = '', columns, groups, keyOf, toneOf, isStale }: TableProps<T>): VNode {
  return (
    <table class={`list ${kind}`} role="table" aria-labelledby={label} aria-busy={isStale}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title }) => (
            <th key={title} role="columnheader" scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {groups.map(({ title, rows }) => (
        <tbody key={title} role="rowgroup">
          {title !== undefined && (
            <tr role="row" class="group">
              <th role="rowheader" scope="rowgroup" colSpan={columns.length}>
                {title}
              </th>
            </tr>
          )}
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={toneOf?.(row)}>
              {columns.map(({ title: column, kind: cell, short, of }, place) =>
                place === 0 ? (
                  <th key={column} role="rowheader" scope="row" class={cell}>
                    {of(row)}
                  </th>
                ) : (
                  <td key={column} role="cell" class={cell} data-title={short}>
                    {of(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [title: string, fact: ComponentChildren])[];
}

/** What is known, by title; what is not there has no line. */
export function Facts({ facts }: FactsProps): VNode {
  return (
    <dl>
      {facts
        .filter(([, fact]) => fact)
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
            {retryAt !== undefined && (
              <span class="sub">Next attempt at {new Date(retryAt).toLocaleTimeString()}.</span>
            )}
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

/** An input for a name, which neither the browser nor a telephone's keyboard completes or corrects. */
export function Word(props: InputHTMLAttributes<HTMLInputElement>): VNode {
  return <input type="text" autocomplete="off" autocapitalize="none" spellcheck={false} {...props} />;
}

/** A text of more than one line, such as a key. */
export function Area(props: TextareaHTMLAttributes<HTMLTextAreaElement>): VNode {
  return <textarea rows={1} autocomplete="off" autocapitalize="none" spellcheck={false} {...props} />;
}

type SelectProps = SelectHTMLAttributes<HTMLSelectElement> & {
  /** Beside it; a choice without one has an attribute that names it. */
  readonly label?: string;
  /** Each value with what a person reads. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onValue: (value: string) => void;
};

export function Select({ label, options, onValue, ...more }: SelectProps): VNode {
  return (
    <>
      {label !== undefined && <label for={more.id}>{label}</label>}
      <select {...more} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

export interface Questioning {
  readonly isAsking: boolean;
  readonly error: unknown;
  /** Why the last question failed, as a sentence. */
  readonly failure: string | undefined;
  /** Does nothing while another question is open. */
  readonly ask: (question: () => Promise<unknown>) => Promise<void>;
}

/** What a person asks the API, one question at a time. */
export function useAsking(): Questioning {
  const [isAsking, setIsAsking] = useState(false);
  const [error, setError] = useState<unknown>();
  async function ask(question: () => Promise<unknown>): Promise<void> {
    if (isAsking) return;
    setIsAsking(true);
    setError(undefined);
    await question().catch(setError);
    setIsAsking(false);
  }
  return { isAsking, error, failure: error === undefined ? undefined : messageOf(error), ask };
}

interface SubmitProps {
  readonly isAsking: boolean;
  readonly kind?: 'main' | 'danger' | '';
  readonly disabled?: boolean;
  readonly children: string;
}

export function Submit({ isAsking, kind = 'main', disabled = false, children }: SubmitProps): VNode {
  return (
    <button type="submit" class={kind} aria-disabled={isAsking} disabled={disabled}>
      {isAsking ? 'Asking the API …' : children}
    </button>
  );
}
