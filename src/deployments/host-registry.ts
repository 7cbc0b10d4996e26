// The registry of host claims of all tenants: an index of the caches by host, and the hosts whose addresses are being created. A
// claim is decided synchronously, so that exactly one of several concurrent claims of a free host succeeds.

import { keyOf } from '../lib/controller/keys.ts';
import type { Change } from '../lib/controller/store.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../schema/meta.ts';
import type { AddressSettings } from '../schema/settings.ts';
import { hostsOf } from './assess/address.ts';
import { type HostClaim, holderOf } from './assess/host-ownership.ts';
import type { Caches } from './cluster/caches.ts';
import { hostOf, wantedHost } from './record/hostnames.ts';
import { runsHere } from './record/listener-assignment.ts';
import { namespaceOf, uidOf } from './record/metadata.ts';
import { names } from './record/names.ts';

export interface HostRegistry {
  /** The owner of the host. If it is this record, it remains the owner until `settled`, whatever the caches show meanwhile. */
  take(record: AppDeployment, host: string): HostClaim;
  /** The caches now contain the address object of the host. */
  settled(record: AppDeployment): void;
  /** Tells the key of each record that may get a host which another has let go. */
  onFreed(listener: (key: string) => void): () => void;
  /** Follows the caches no more. */
  close(): void;
}

/** The hosts of one record. */
interface Grip {
  readonly wanted: string | undefined;
  readonly claim: HostClaim;
}

export function makeHostRegistry(
  caches: Pick<Caches, 'records' | 'addresses'>,
  address: AddressSettings,
): HostRegistry {
  const grips = new Map<string, Grip>();
  /** host → uids of the records that want, claim or have it */
  const byHost = new Map<string, Set<string>>();
  const beingMade = new Map<string, string>();
  const listeners = new Set<(key: string) => void>();

  function gripOf(record: AppDeployment): Grip {
    const { uid, name, namespace } = placeOf(record);
    const { deletionTimestamp, creationTimestamp = '' } = record.metadata;
    const wanted = deletionTimestamp === undefined ? wantedHost(record.spec, { name, namespace }, address) : undefined;
    const { url, hostClaim } = record.status ?? {};
    // The address of a record that a listener's cluster runs is what that cluster says: it claims no host here.
    const reports = url !== undefined && runsHere(record) ? [hostOf(url)] : [];
    const holds = new Set([...reports, ...hostsMade(record)]);
    return {
      wanted,
      claim: {
        uid,
        namespace,
        name,
        createdAt: creationTimestamp,
        holds,
        ...(hostClaim && hostClaim.host === wanted && { reported: hostClaim }),
      },
    };
  }

  function hostsMade(record: AppDeployment): string[] {
    const { uid, name, namespace } = placeOf(record);
    const object = caches.addresses?.get({ namespace, name: names(name).address });
    return object?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === uid ? hostsOf(object) : [];
  }

  /** Updates the hosts of a record, and enqueues records that wait for a host that it released. */
  function follow(uid: string, record: AppDeployment | undefined): void {
    const before = grips.get(uid);
    const now = record && gripOf(record);
    if (before) for (const host of hostsIn(before)) byHost.get(host)?.delete(uid);
    if (now) {
      grips.set(uid, now);
      for (const host of hostsIn(now)) usersOf(host).add(uid);
    } else {
      grips.delete(uid);
      beingMade.delete(uid);
    }
    for (const host of before ? letGo(before, now) : []) free(host, uid);
  }

  function usersOf(host: string): Set<string> {
    const users = byHost.get(host) ?? new Set();
    byHost.set(host, users);
    return users;
  }

  function free(host: string, by: string): void {
    const users = byHost.get(host) ?? new Set();
    if (users.size === 0) byHost.delete(host);
    for (const uid of users) {
      const grip = grips.get(uid);
      if (uid === by || grip?.wanted !== host) continue;
      for (const listener of listeners) listener(keyOf(grip.claim.namespace, grip.claim.name));
    }
  }

  /** The current claim, including an address that is being created. */
  function standing(uid: string, host: string): HostClaim | undefined {
    const grip = grips.get(uid);
    if (!grip) return undefined;
    return beingMade.get(uid) === host ? { ...grip.claim, holds: new Set([...grip.claim.holds, host]) } : grip.claim;
  }

  const stops = [
    caches.records.onChange(({ type, object }) => follow(uidOf(object), type === 'deleted' ? undefined : object)),
    caches.addresses?.onChange(({ object: { metadata } }: Change<KubeObject>) => {
      const name = metadata.labels?.[DEPLOYMENT_LABEL];
      const record = name === undefined ? undefined : caches.records.get({ namespace: metadata.namespace ?? '', name });
      if (record) follow(uidOf(record), record);
    }),
  ];
  for (const record of caches.records.list()) follow(uidOf(record), record);

  return {
    take(record, host) {
      const uid = uidOf(record);
      const own = standing(uid, host) ?? gripOf(record).claim;
      const others = [...(byHost.get(host) ?? [])].flatMap((other) =>
        other === uid ? [] : (standing(other, host) ?? []),
      );
      const holder = holderOf(host, own, others);
      if (holder.uid === uid) beingMade.set(uid, host);
      return holder;
    },
    settled(record) {
      const uid = uidOf(record);
      const host = beingMade.get(uid);
      beingMade.delete(uid);
      if (host !== undefined && grips.get(uid)?.claim.holds.has(host) !== true) free(host, uid);
    },
    onFreed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const stop of stops) stop?.();
    },
  };
}

function placeOf(record: AppDeployment): { uid: string; name: string; namespace: string } {
  return { uid: uidOf(record), name: record.metadata.name, namespace: namespaceOf(record) };
}

function hostsIn({ wanted, claim }: Grip): Set<string> {
  return new Set([
    ...(wanted === undefined ? [] : [wanted]),
    ...claim.holds,
    ...(claim.reported ? [claim.reported.host] : []),
  ]);
}

function letGo(before: Grip, now: Grip | undefined): string[] {
  return [...hostsIn(before)].filter((host) => {
    if (!now) return true;
    const { claim } = now;
    return (
      (before.wanted === host && now.wanted !== host) ||
      (before.claim.holds.has(host) && !claim.holds.has(host)) ||
      (before.claim.reported?.host === host && claim.reported?.host !== host)
    );
  });
}
