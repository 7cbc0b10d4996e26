// The platform's limits for records, in addition to the bounds of the schema.

import { EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE } from '../api/meta.ts';
import { numberField, type ResourceSpec } from '../api/resource-spec.ts';
import type { Settings } from '../api/settings.ts';

export interface Excess {
  /** As in the record: `queueCpuLimit`. */
  readonly field: string;
  readonly most: number;
}

/** The numbers of `spec` that exceed the platform's limits. */
export function limitViolations(spec: Readonly<ResourceSpec>, limits: Settings['limits']): Excess[] {
  return Object.entries(spec).flatMap(([field, value]) => {
    const limitedBy = numberField(field)?.limitedBy;
    const most = limitedBy && limits[limitedBy];
    return typeof value === 'number' && most !== undefined && value > most ? [{ field, most }] : [];
  });
}

/** The required variables that a record lacks if the platform provides no databases; `names` are those that it has. */
export function missingExternal(names: Iterable<unknown>): string[] {
  const there = new Set(names);
  return [EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE].filter((name) => !there.has(name));
}
