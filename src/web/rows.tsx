// Cards with rows: what every tab is made of.

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, ApiError } from './api.ts';
import type { Tone } from './health.ts';
import { Icon } from './icons.tsx';
import { Failure, Mark } from './parts.tsx';
import { plain } from './text.ts';

export interface Act {
  readonly label: string;
  /** What the button is about, for readers who hear it alone. */
  readonly of: string;
  /** Whether it shows what follows. */
  readonly isOpen?: boolean;
  readonly onClick: () => void;
}

/** What is not there is not possible. */
type Maybe<T> = T | false | null | undefined;

function there<T>(all: readonly Maybe<T>[]): T[] {
  return all.filter((one): one is T => one !== false && one !== null && one !== undefined);
}

export function Acts({ acts }: { readonly acts: readonly Maybe<Act>[] }): VNode {
  return (
    <span class="actions">
      {there(acts).map(({ label, of, isOpen, onClick }) => (
        <button
          key={`${label} ${of}`}
          type="button"
          aria-label={`${label} ${of}`}
          aria-expanded={isOpen}
          onClick={onClick}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

export interface Row {
  readonly key: string | number;
  readonly tone?: Tone;
  /** The part that it is about, which has a drawing. */
  readonly icon?: string;
  readonly title?: string;
  readonly says?: ComponentChildren;
  /** Smaller, on a line of their own. */
  readonly sub?: readonly Maybe<ComponentChildren>[];
  readonly why?: ComponentChildren;
  readonly acts?: readonly Maybe<Act>[];
  /** What follows, as wide as the row. */
  readonly more?: ComponentChildren;
}

interface RowsProps {
  readonly rows: readonly Maybe<Row>[] | undefined;
  /** What is said where there is no row. */
  readonly none?: string;
  readonly label?: string;
}

export function Rows({ rows, none = 'None.', label }: RowsProps): VNode {
  const shown = there(rows ?? []);
  return (
    <ul class="rows" aria-label={label}>
      {rows && shown.length === 0 && none !== '' && <li class="sub">{none}</li>}
      {shown.map(({ key, tone = 'off', icon, title, says, sub = [], why, acts = [], more }) => (
        <li key={key}>
          <Mark tone={tone}>
            {icon !== undefined && <Icon of={icon} />}
            {title !== undefined && [<strong>{plain(title)}</strong>, ' ']}
            {says}
            <div class="why">{typeof why === 'string' ? plain(why) : why}</div>
            <div class="sub">{there(sub).flatMap((one, place) => (place === 0 ? [one] : [' · ', one]))}</div>
          </Mark>
          <Acts acts={acts} />
          {more}
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  readonly title: string;
  /** Of its title. */
  readonly id?: string;
  readonly kind?: string;
  readonly sub?: ComponentChildren;
  /** At the end of its head. */
  readonly end?: ComponentChildren;
  readonly acts?: readonly Maybe<Act>[];
  readonly failure?: Error | string | undefined;
  readonly children?: ComponentChildren;
}

export function Card({ title, id, kind = '', sub, end, acts = [], failure, children }: CardProps): VNode {
  const why = failure instanceof Error ? failure.message : failure;
  // What the platform does not have is no failure.
  const isAbsent = failure instanceof ApiError && failure.status === 424;
  const name = id ?? `card-${title.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <section class={`card ${kind}`} aria-labelledby={name}>
      <header>
        <h2 id={name}>{title}</h2>
        {sub && <span class="sub">{sub}</span>}
        {end}
        {acts.length > 0 && <Acts acts={acts} />}
      </header>
      {isAbsent && <p class="sub">{plain(failure.message)}</p>}
      <Failure sentence={isAbsent ? undefined : why} />
      {children}
    </section>
  );
}

export interface Read<T> {
  readonly found?: T;
  /** Why not, in the API's words. */
  readonly failure?: Error;
  readonly isAsking: boolean;
  readonly again: () => void;
}

/** Whether the caller may use a method at a path: not before it is known. What cannot be asked is refused later. */
export function useAllowed(api: Pick<Api, 'allows'>, path: string): ((method: string) => boolean) | undefined {
  const [known, setKnown] = useState<{ readonly may: (method: string) => boolean }>();
  useEffect(() => {
    let isNewest = true;
    api.allows(path).then(
      (may) => isNewest && setKnown({ may }),
      () => isNewest && setKnown({ may: () => true }),
    );
    return () => {
      isNewest = false;
    };
  }, [path]);
  return known?.may;
}

/** Something that is read once, and again with each `version` and when it is asked for: it is a list of the API server. */
export function useRead<T>(api: Pick<Api, 'ask'>, path: string | undefined, version?: unknown): Read<T> {
  const [state, setState] = useState<Omit<Read<T>, 'again'>>({ isAsking: false });
  const [times, setTimes] = useState(0);
  useEffect(() => {
    let isNewest = true;
    if (path === undefined) return undefined;
    setState(({ found }) => ({ ...(found !== undefined && { found }), isAsking: true }));
    api.ask<T>('GET', path).then(
      (found) => isNewest && setState({ found, isAsking: false }),
      (failure: Error) => isNewest && setState((before) => ({ ...before, failure, isAsking: false })),
    );
    return () => {
      isNewest = false;
    };
  }, [path, version, times]);
  return { ...state, again: () => setTimes(times + 1) };
}
