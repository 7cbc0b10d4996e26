// Every measure, in the order in which a whole run takes them.

import type { Measure } from './measure.ts';
import { changes } from './measures/changes.ts';
import { floor, growth } from './measures/floor.ts';
import { controllerRuntimePeer, slowPeers } from './measures/peers.ts';
import { writes } from './measures/writes.ts';

export const MEASURES: readonly Measure[] = [floor, controllerRuntimePeer, slowPeers, writes, changes, growth];
