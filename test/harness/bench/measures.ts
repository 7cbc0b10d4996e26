// Every measure, in the order in which a whole run takes them.

import type { Measure } from './measure.ts';
import { builds } from './measures/builds.ts';
import { changes } from './measures/changes.ts';
import { facadeCreates } from './measures/facade-creates.ts';
import { facadeLists } from './measures/facade-lists.ts';
import { facadeLogs } from './measures/facade-logs.ts';
import { facadeTokens } from './measures/facade-tokens.ts';
import { fairness } from './measures/fairness.ts';
import { floor, growth } from './measures/floor.ts';
import { handOver } from './measures/hand-over.ts';
import { listeners } from './measures/listeners.ts';
import { controllerRuntimePeer } from './measures/peers.ts';
import { memory, restart } from './measures/restart.ts';
import { small } from './measures/small.ts';
import { writes } from './measures/writes.ts';

export const MEASURES: readonly Measure[] = [
  floor,
  controllerRuntimePeer,
  small,
  writes,
  changes,
  // Its largest fill is the one that memory and restart begin with: right after the others that it is compared with.
  growth,
  memory,
  restart,
  fairness,
  handOver,
  facadeLists,
  facadeCreates,
  facadeTokens,
  facadeLogs,
  listeners,
  builds,
];
