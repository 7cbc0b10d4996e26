// One pass of the reconciler over a record: its inputs and its outcome.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { Settings } from '../kinds/settings.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import type { AddressOutcome } from './assess/address.ts';
import type { ActionFailure } from './assess/observed.ts';
import type { Vanished } from './bypassed-finalizers.ts';
import type { PodContracts } from './children/contracts/contract.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { HostRegistry } from './host-registry.ts';
import type { Commit } from './record/build-source.ts';
import type { ReadCodeFile } from './record/code-file.ts';
import type { SecretFingerprints } from './secret-fingerprints.ts';

export interface ReconcilerOptions {
  /** Holds the record, its children, its tracing project and all statuses. */
  readonly home: Cluster;
  readonly contents: SecretFingerprints;
  readonly hosts: HostRegistry;
  readonly vanished: Vanished;
  readonly settings: Settings;
  readonly events: EventRecorder;
  readonly now: () => Date;
  /** The commit that the record's branch has now, as far as it was asked for. */
  readonly pushedCommit: (record: AppDeployment) => Commit | undefined;
  /** The file that a revision needs. Its reading begins where it is not known yet. */
  readonly codeFile: ReadCodeFile;
  /** All known contracts, except in tests. */
  readonly contracts: PodContracts;
}

export interface PassOutcome {
  /** The newest revision; undefined if the record has none (yet). */
  readonly latest: AppRevision | undefined;
  readonly refusals: readonly ActionFailure[];
  /** Absent if nothing could be decided. */
  readonly address?: AddressOutcome;
  /** Delay until the next reconcile if nothing changes. */
  readonly requeueAfterMs?: number;
  /** Failures that are retried and not reported in the status. */
  readonly housekeeping?: readonly unknown[];
}

/** A step after which the pass does nothing more. */
export interface Ended {
  readonly ended: PassOutcome;
}
