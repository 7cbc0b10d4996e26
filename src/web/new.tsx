// The views for a new deployment and for an image that is pushed to one. They are in create.js, which is loaded when it is wanted: most
// visits make no deployment.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from './api.ts';
import { Failure } from './parts.tsx';

export interface NewProps {
  readonly api: Pick<Api, 'ask' | 'upload'>;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  readonly go: (link: string) => void;
  /** The list as it was left. */
  readonly list: string;
  /** Id of the deployment that an image is pushed to; undefined for the form of a new one. */
  readonly pushedTo?: string | undefined;
}

/** What create.js (src/web/create.tsx) has. It shares no module with this script: what passes between both are values and functions. */
export interface CreateScript {
  /** Shows the form in `place`. Returns a function that takes it away. */
  readonly mount: (place: HTMLElement, props: NewProps) => () => void;
}

export function New(props: NewProps): VNode {
  const title = props.pushedTo === undefined ? 'New deployment' : 'Push an image';
  const place = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    document.title = `${title} – Davit`;
    let isLeft = false;
    let leave: (() => void) | undefined;
    const url = document.getElementById('page')?.dataset['create'] ?? '';
    (import(url) as Promise<CreateScript>).then(
      ({ mount }) => {
        if (!isLeft && place.current !== null) leave = mount(place.current, props);
      },
      () => setFailure('A part of this page could not be loaded. Load the page again.'),
    );
    return () => {
      isLeft = true;
      leave?.();
    };
  }, []);
  return (
    <section class="sign-in" aria-labelledby="new">
      <nav aria-label="Back">
        <a href={props.list}>← All deployments</a>
      </nav>
      <h1 id="new">{title}</h1>
      <Failure sentence={failure} />
      <div ref={place} />
    </section>
  );
}
