// The address of a record in a pass: the record claims its host, and an address that it may not have is removed.

import type { AppRevision } from '../kinds/app-revision.ts';
import { type AddressOutcome, type AskedAddress, addressOf, keepsAddress, undecided } from './assess/address.ts';
import type { ActionFailure, Observed, ObservedChildren } from './assess/observed.ts';
import { heldRevision } from './assess/workloads.ts';
import { deleteObjects } from './cluster/delete.ts';
import type { ReconcilerOptions } from './pass.ts';
import { imageOf } from './record/revision-image.ts';

export interface ClaimedAddress {
  readonly outcome: AddressOutcome;
  /** The host for which an address object is made; undefined if there is to be none, or its kind is not installed. */
  readonly host: string | undefined;
  readonly failures: readonly ActionFailure[];
}

export async function claimAddress(
  observed: Observed,
  asked: AskedAddress,
  latest: AppRevision,
  { hosts, home }: Pick<ReconcilerOptions, 'hosts' | 'home'>,
): Promise<ClaimedAddress> {
  const outcome = claim(observed, asked, latest, hosts);
  const failures = keepsAddress(outcome) ? [] : await removeAddress(observed, home);
  const host = outcome.is === 'held' && !observed.addressKindMissing ? outcome.host : undefined;
  return { outcome, host, failures };
}

/** Decided synchronously, so that exactly one of several concurrent claims succeeds. */
function claim(
  observed: ObservedChildren,
  asked: AskedAddress,
  latest: AppRevision,
  hosts: ReconcilerOptions['hosts'],
): AddressOutcome {
  if (asked.is !== 'allowed') return asked;
  if (imageOf(latest) === undefined && !heldRevision(observed, latest)) return undecided(observed, asked);
  const { host } = asked;
  const holder = hosts.take(observed.record, host);
  if (holder.uid === observed.record.metadata.uid) return { is: 'held', host };
  const isOwnTenant = holder.namespace === observed.record.metadata.namespace;
  return { is: 'taken', host, ...(isOwnTenant && { by: holder.name }) };
}

async function removeAddress(observed: ObservedChildren, home: ReconcilerOptions['home']): Promise<ActionFailure[]> {
  const object = addressOf(observed);
  return object && object.metadata.deletionTimestamp === undefined ? deleteObjects([object], home) : [];
}
