// What an event of the world is: a guard, which lists what it can happen to, and an effect.

import type { Scene } from './scene.ts';

export interface Event {
  /** In words, with a % for the subject. */
  readonly name: string;
  readonly by: 'people' | 'cluster' | 'builds';
  /** Happens automatically, sooner or later, so that nothing is at rest before it has. */
  readonly calm?: true;
  /** The subjects it can happen to in this namespace: names, or '' for the namespace. */
  readonly subjects: (scene: Scene, namespace: string) => readonly string[];
  readonly happen: (scene: Scene, namespace: string, subject: string) => Promise<void> | void;
}

export const wordsOf = ({ name }: Event, namespace: string, subject: string): string =>
  `${name.replace('%', subject)} in ${namespace}`;

/** An event of one namespace, and of nothing more special in there. */
export function eventIn(
  where: string,
  by: Event['by'],
  name: string,
  can: (scene: Scene) => boolean,
  happen: (scene: Scene) => unknown,
): Event {
  return {
    name,
    by,
    subjects: (scene, namespace) => (namespace === where && can(scene) ? [''] : []),
    happen: async (scene) => void (await happen(scene)),
  };
}
