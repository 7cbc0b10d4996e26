// The maintenance window of the platform: when it is open, and which patches it makes next.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { STORE_PARTS } from '../kinds/meta.ts';
import { nextRunAt } from '../kinds/next-run.ts';
import { anOperation } from '../kinds/operation-manifest.ts';
import { isEnded } from '../kinds/operation-phases.ts';
import type { Settings } from '../kinds/settings.ts';
import { keyOf } from '../runtime/controller/keys.ts';
import { decidePatch } from './decide-patch.ts';
import { holdsTurn, waitsForTurn } from './turns.ts';

export type Window = NonNullable<Settings['datastores']['window']>;

const HOUR_MS = 3_600_000;

/** When the window that is open has opened, or when the next one opens. In milliseconds since 1970. */
export type WindowNow = { readonly openedAt: number } | { readonly opensAt: number };

export function windowAt({ schedule, timeZone, hours }: Window, now: number): WindowNow {
  // Settings take no schedule without a run.
  const next = (after: number): number => nextRunAt(schedule, timeZone, after) ?? Number.POSITIVE_INFINITY;
  const openedAt = next(now - hours * HOUR_MS);
  return openedAt <= now ? { openedAt } : { opensAt: openedAt };
}

export interface Platform {
  /** Deployments that are neither paused nor deleted. */
  readonly records: readonly AppDeployment[];
  /** All operations, also those that have ended. */
  readonly operations: readonly DatastoreOperation[];
  /** `namespace/name` of operations that the API server refuses. */
  readonly refused?: ReadonlySet<string>;
  readonly atOnce: number;
}

/**
 * The operations to create now, for datastores that are behind: at most so many that none waits for its turn when the window closes. A datastore is tried
 * once in each window. A deployment with an unfinished operation, and a patch that would be refused, are left out.
 */
export function patchesIn(
  openedAt: number,
  { records, operations, refused = new Set(), atOnce }: Platform,
  { accept }: Window,
  now: Date,
): DatastoreOperation[] {
  const made = new Set(operations.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)));
  const unfinished = operations.filter((one) => !isEnded(one));
  // Of others, what waits for a pause or for another operation of its deployment delays nobody.
  const counted = unfinished.filter((one) => !one.status?.phase || waitsForTurn(one) || holdsTurn(one, now)).length;
  const busy = new Set(unfinished.map(({ metadata, spec }) => keyOf(metadata.namespace, spec.deployment)));
  const patches: DatastoreOperation[] = [];
  for (const record of records) {
    const { namespace = '', name } = record.metadata;
    for (const datastore of STORE_PARTS) {
      if (counted + patches.length >= atOnce) return patches;
      if (busy.has(keyOf(namespace, name)) || record.status?.datastores?.[datastore]?.available === undefined) continue;
      const operation = anOperation(
        { name: `${name}-${datastore}-${(openedAt / 60_000).toString(36)}`, namespace },
        { deployment: name, action: 'Patch', patch: { datastore }, accept: [...accept] },
      );
      const key = keyOf(namespace, operation.metadata.name);
      if (made.has(key) || refused.has(key)) continue;
      if ('refused' in decidePatch(record, operation.spec, now)) continue;
      busy.add(keyOf(namespace, name));
      patches.push(operation);
    }
  }
  return patches;
}
