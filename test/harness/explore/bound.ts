// A bound: a first state, the events that may happen in it, and how often.

import type { Settings } from '../../../src/kinds/settings.ts';
import type { FakeRequest } from '../../support/fake-kube/fake-kube.ts';
import type { Cast } from './cast.ts';
import type { Event } from './event.ts';
import type { Broken } from './pass-seen.ts';
import type { Admission, Scene } from './scene.ts';
import type { State } from './world.ts';

export interface Bound {
  readonly name: string;
  readonly about: string;
  /** A property that the code is known to break here, which is to be mended. */
  readonly open?: string;
  /** How much of the time it gets, beside the 1 of others. */
  readonly share?: number;
  readonly settings: Settings;
  /** Namespaces of tenants, each with records of its own. */
  readonly namespaces: readonly string[];
  /** Makes the first state. */
  readonly begin: (scene: Scene) => void;
  /** Events on the way from what `begin` makes to the first state, in words; the state is brought to rest before and after each. */
  readonly history?: readonly string[];
  readonly events: readonly Event[];
  /** How many events of people, and how many troubles, there are on one way. */
  readonly people: number;
  readonly troubles: number;
  /** More steps than any way to rest has; 400 if absent. */
  readonly longestWay?: number;
  /** Whether what counts is every order of steps of records that concern each other little: it has no sequences of events alone. */
  readonly interleavings?: true;
  /** Whether the controller crashes between its writes. */
  readonly crashes?: true;
  /** Whether caches lag by one event. */
  readonly lags?: true;
  readonly refuse?: (scene: Scene, request: FakeRequest) => Error | undefined;
  readonly admission?: Admission;
  /** Who acts, and what must hold, where that is not the controller of one cluster. */
  readonly cast?: Cast;
}

export interface Step {
  readonly state: State;
  readonly label: string;
  readonly broken: readonly Broken[];
  /** Whether it is an event of people or a trouble. */
  readonly isAct: boolean;
}

export interface Judged {
  readonly broken: readonly Broken[];
  readonly afterwards: readonly string[];
}
