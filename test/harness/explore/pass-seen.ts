// A pass of a controller: which one, what it did, and what it broke.

import type { Write } from '../../support/fake-kube/fake-kube.ts';
import type { Scene } from './scene.ts';

export type Controllers =
  | 'records'
  | 'operations'
  | 'builds'
  | 'organization'
  | 'listeners'
  | 'works'
  | 'lease'
  | 'upkeep';

/** What a pass of the controller did, as far as a property may ask. */
export interface PassSeen {
  readonly before: Scene;
  readonly after: Scene;
  readonly key: string;
  readonly controller: Controllers;
  readonly writes: readonly Write[];
  readonly error: Error | undefined;
}

export interface Broken {
  readonly property: string;
  readonly message: string;
}
