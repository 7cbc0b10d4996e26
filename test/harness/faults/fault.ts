// What a plan is: a workload, and the one fault that disturbs it.

import { BUILD_WORKLOADS } from './build-workloads.ts';
import type { StreamFault } from './watch-faults.ts';

export type Fault =
  | StreamFault
  | Meddling
  /** `quiet`: nothing, but then nothing may be written for `ms`. */
  | { readonly kind: 'none' | 'quiet'; readonly ms?: number }
  /** Not sent; committed with its answer lost; answered: then SIGKILL. */
  | { readonly kind: 'crash-before' | 'crash-lost' | 'crash-after'; readonly at: string; readonly ms?: number }
  /** The connection breaks after the write was committed; `lost-blind`: and its watch lags behind. */
  | { readonly kind: 'lost' | 'lost-blind'; readonly at: string; readonly ms?: number }
  | {
      readonly kind: 'refused' | 'refused-committed';
      readonly at: string;
      readonly status: number;
      readonly ms?: number;
    }
  | { readonly kind: 'throttled'; readonly at: string; readonly ms?: number }
  /** `ms` on every request. */
  | { readonly kind: 'slow'; readonly ms?: number }
  | {
      readonly kind:
        | 'watch-delay'
        | 'watch-410'
        | 'watch-cut'
        | 'watch-half-open'
        | 'watch-gap'
        | 'connect-410'
        | 'list-410';
      readonly resource: string;
      /** The how-manieth line of the resource's watches. */
      readonly event?: number;
      readonly ms?: number;
    }
  | { readonly kind: 'leases-blocked'; readonly phase: string; readonly ms?: number }
  /** The old token, or certificates of the old authority, are no longer good a moment before the new one is there. */
  | { readonly kind: 'token-rotated' | 'ca-rotated'; readonly phase: string; readonly ms?: number }
  /** The controller's wall clock is so far ahead. */
  | { readonly kind: 'clock-skew'; readonly ms: number }
  /** The namespace's RoleBindings are deleted before it is. */
  | { readonly kind: 'roles-first'; readonly ms?: number }
  /** The namespace is deleted at a write, before all is made. */
  | { readonly kind: 'namespace-deleted'; readonly at: string; readonly ms?: number }
  /** The API server is killed a moment after the phase has begun, and started again after `ms`. */
  | { readonly kind: 'api-restart'; readonly phase: string; readonly ms?: number }
  /** From a write on, lists and watches are answered by a second API server that hears nothing new for `ms`. */
  | { readonly kind: 'stale-server'; readonly at: string; readonly crash: boolean; readonly ms?: number }
  /** Before the phase a change is made and seen through; then etcd is put back to where it was before that change. */
  | { readonly kind: 'etcd-restored'; readonly ms?: number }
  /** Two controllers; at a write the one that leads is killed, asked to stop, or frozen for longer than the lease. */
  | { readonly kind: 'leader-killed' | 'leader-stopped' | 'leader-paused'; readonly at: string; readonly ms?: number }
  /** Two controllers; of the one that leads the lease alone is refused, so that the other takes over. */
  | { readonly kind: 'leader-cut'; readonly phase: string; readonly ms?: number }
  /** What the controller asks the code host, for `ms` from the beginning of the phase. */
  | { readonly kind: 'code-host'; readonly phase: string; readonly says: 'down' | 'slow' | 500; readonly ms?: number }
  /** Every request but those for leases, for `ms` from the beginning of the phase, and until no watch has told anything for `quietMs`. */
  | {
      readonly kind: 'outage';
      readonly phase: string;
      readonly status: number;
      readonly ms?: number;
      readonly quietMs?: number;
    }
  /** Neither told nor listed. */
  | { readonly kind: 'events-refused'; readonly ms?: number }
  | { readonly kind: 'crash-loop'; readonly every: number; readonly times: number; readonly ms?: number };

export const WORKLOADS = [
  'create',
  'image',
  'hasty',
  'scale',
  'resize',
  'impossible',
  'autoscaled',
  'rotate',
  'referenced',
  'unfixed',
  'external',
  'pair',
  'drift',
  'taken',
  'delete',
  'recreate',
  'doomed',
  'undone',
  'reformed',
  'upgraded',
  'overtaken',
  'unmounted',
  'held',
  'migrated',
  'workers',
  'tasks',
  'backups',
  'moves',
  'moves-kept',
  'moves-deleted',
  'claims',
  ...BUILD_WORKLOADS,
] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

export interface Plan {
  readonly workload: WorkloadName;
  readonly fault: Fault;
  /** A bug that is put into the controller for this plan (mutants.ts). */
  readonly seed?: string;
}

/** What others than Davit do. */
export type Meddling =
  /** A person does this to one child once everything is ready. */
  | { readonly kind: 'edit'; readonly child: string; readonly edit: Edit; readonly ms?: number }
  /** Somebody else's object has the child's name, and is taken away when the record has complained. */
  | { readonly kind: 'foreign'; readonly child: string; readonly ms?: number }
  /** A ValidatingAdmissionPolicy of the cluster refuses this kind until the record has complained. */
  | { readonly kind: 'admission'; readonly of: string; readonly ms?: number }
  /** A ResourceQuota of the namespace does. */
  | { readonly kind: 'quota'; readonly of: string; readonly ms?: number }
  /** Another field manager force-applies what is ours, or adds what is its own. */
  | { readonly kind: 'second-manager'; readonly does: 'takes' | 'adds'; readonly ms?: number }
  /** Another writer touches the record, or its children, without pause. */
  | { readonly kind: 'conflict-storm' | 'child-storm'; readonly ms?: number }
  /** Somebody puts a finalizer of theirs on the record just before the controller's first write to it arrives. */
  | { readonly kind: 'raced'; readonly at: string; readonly ms?: number }
  /** A neighbour of almost a megabyte. */
  | { readonly kind: 'monster'; readonly ms?: number };

export const EDITS = ['delete', 'labels', 'owner', 'digest', 'field', 'remade'] as const;
export type Edit = (typeof EDITS)[number];
