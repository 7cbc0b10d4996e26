// Every measure, in the order in which a whole run takes them.

import type { Measure } from './measure.ts';
import { writes } from './measures/writes.ts';

export const MEASURES: readonly Measure[] = [writes];
