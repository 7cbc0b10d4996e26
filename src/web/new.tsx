// The views of create.js, which is loaded when one of them is wanted: a new deployment, and how one is configured or gets
// its next version. Most visits want none.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Api } from './api.ts';
import { Failure } from './parts.tsx';
import type { Tab } from './route.ts';

export interface NewProps {
  readonly api: Pick<Api, 'ask' | 'upload'>;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  readonly go: (link: string) => void;
  /** The list as it was left. */
  readonly list: string;
}

export interface ConfigureProps extends Pick<NewProps, 'say'> {
  readonly api: Api;
  readonly deployment: Deployment;
  /** Whether nothing can be changed, because it is being deleted. */
  readonly isLocked: boolean;
  readonly shown: Extract<Tab, 'configure' | 'push' | 'upload'>;
}

/** Of `NewProps` or `ConfigureProps`, which has a deployment. */
export type LoadedProps = NewProps | ConfigureProps;

/** What create.js (src/web/create.tsx) has. It shares no module with this script: what passes between both are values and functions. */
export interface CreateScript {
  /** Shows the view in `place`, again with other properties. */
  readonly show: (place: HTMLElement, props: LoadedProps) => void;
  readonly hide: (place: HTMLElement) => void;
}

export function Loaded(props: LoadedProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const [script, setScript] = useState<CreateScript>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    const url = document.getElementById('page')?.dataset['create'] ?? '';
    (import(url) as Promise<CreateScript>).then(
      ({ show, hide }) => setScript({ show, hide }),
      () => setFailure('A part of this page could not be loaded. Reload the page.'),
    );
  }, []);
  useEffect(() => {
    if (place.current !== null) script?.show(place.current, props);
  });
  useEffect(() => {
    const shown = place.current;
    return () => {
      if (shown !== null) script?.hide(shown);
    };
  }, [script]);
  return (
    <>
      <Failure sentence={failure} />
      <div ref={place} />
    </>
  );
}

export function New(props: NewProps): VNode {
  useEffect(() => {
    document.title = 'New deployment – Davit';
  }, []);
  return (
    <section class="sign-in" aria-labelledby="new">
      <nav aria-label="Back">
        <a href={props.list}>← All deployments</a>
      </nav>
      <h1 id="new">New deployment</h1>
      <Loaded {...props} />
    </section>
  );
}
