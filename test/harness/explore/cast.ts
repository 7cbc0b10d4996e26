// Who acts in a bound that is not the controller of one cluster alone, and what must hold there.

import type { Reconcile } from '../../../src/runtime/controller/controller.ts';
import type { Broken, Controllers, PassSeen } from './pass-seen.ts';
import type { Scene } from './scene.ts';

export interface Cast {
  /** What may be reconciled in a namespace. */
  readonly keys: (scene: Scene, namespace: string) => readonly (readonly [controller: Controllers, subject: string])[];
  readonly make: (scene: Scene, controller: Controllers) => Reconcile;
  readonly judgePass: (seen: PassSeen) => readonly Broken[];
  /** `isMended`: whether a careful person has undone every trouble before. */
  readonly judgeRest: (scene: Scene, namespace: string, isMended: boolean) => readonly Broken[];
  readonly mend: (scene: Scene, namespace: string) => Promise<void> | void;
  /** Writes that are made also at rest. */
  readonly writesAtRest?: (words: string) => boolean;
}
