// Every measure, in the order in which a whole run takes them.

import type { Measure } from './measure.ts';
import { floor, growth } from './measures/floor.ts';
import { writes } from './measures/writes.ts';

export const MEASURES: readonly Measure[] = [floor, writes, growth];
