// The registry of host claims of all tenants: an index of the caches by host, and the hosts whose addresses are being created. A
// claim is decided (assess/host-ownership.ts) synchronously, so that exactly one of several concurrent claims succeeds.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, HOSTS_ANNOTATION } from '../kinds/meta.ts';
import type { AddressSettings } from '../kinds/settings.ts';
import { keyOf } from '../runtime/controller/keys.ts';
import type { Change } from '../runtime/controller/store.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { hostsOf } from './assess/address.ts';
import { type HostClaim, holderOf } from './assess/host-ownership.ts';
import type { Caches } from './cluster/caches.ts';
import { hostOf, mayClaim, wantedHost } from './record/hostnames.ts';
import { runsHere } from './record/listener-assignment.ts';
import { namespaceOf, uidOf } from './record/metadata.ts';
import { names } from './record/names.ts';

export interface HostRegistry {
  /** The owner of the host. If it is this record, it remains the owner until `settled`, whatever the caches show meanwhile. */
  take(record: AppDeployment, host: string): HostClaim;
  /** The caches now contain the address object of the host. */
  settled(record: AppDeployment): void;
  /** Called with the key of each record that may get a host which another has released. */
  onFreed(listener: (key: string) => void): () => void;
  /** Stops following the caches. */
  close(): void;
}

/** The hosts of one record. */
interface RecordHosts {
  readonly wanted: string | undefined;
  readonly claim: HostClaim;
}

type AddressCaches = Pick<Caches, 'records' | 'addresses' | 'namespaces'>;

export function makeHostRegistry(caches: AddressCaches, settings: AddressSettings): HostRegistry {
  /** uid → hosts of the record */
  const byRecord = new Map<string, RecordHosts>();
  /** host → uids of the records that want, claim or have it */
  const byHost = new Map<string, Set<string>>();
  const beingMade = new Map<string, string>();
  const listeners = new Set<(key: string) => void>();

  /** Updates the hosts of a record, and enqueues records that wait for a host that it released. */
  function follow(uid: string, record: AppDeployment | undefined): void {
    const before = byRecord.get(uid);
    const after = record && hostsOfRecord(record, caches, settings);
    if (before) for (const host of hostsIn(before)) byHost.get(host)?.delete(uid);
    if (after) {
      byRecord.set(uid, after);
      for (const host of hostsIn(after)) byHost.set(host, (byHost.get(host) ?? new Set<string>()).add(uid));
    } else {
      byRecord.delete(uid);
      beingMade.delete(uid);
    }
    for (const host of before ? released(before, after) : []) wakeWaiting(host, uid);
  }

  function wakeWaiting(host: string, by: string): void {
    const users = byHost.get(host) ?? new Set();
    if (users.size === 0) byHost.delete(host);
    for (const uid of users) {
      const waiting = byRecord.get(uid);
      if (uid === by || waiting?.wanted !== host) continue;
      for (const listener of listeners) listener(keyOf(waiting.claim.namespace, waiting.claim.name));
    }
  }

  /** The current claim, including an address that is being created. */
  function standing(uid: string, host: string): HostClaim | undefined {
    const claim = byRecord.get(uid)?.claim;
    if (!claim) return undefined;
    return beingMade.get(uid) === host ? { ...claim, holds: new Set([...claim.holds, host]) } : claim;
  }

  const stops = [
    caches.records.onChange(({ type, object }) => follow(uidOf(object), type === 'deleted' ? undefined : object)),
    caches.addresses?.onChange(({ object: { metadata } }: Change<KubeObject>) => {
      const name = metadata.labels?.[DEPLOYMENT_LABEL];
      const record = name === undefined ? undefined : caches.records.get({ namespace: metadata.namespace ?? '', name });
      if (record) follow(uidOf(record), record);
    }),
    // Its annotation decides which of the routed hosts its records hold.
    caches.namespaces.onChange(({ object: { metadata } }) => {
      for (const record of caches.records.list(metadata.name)) follow(uidOf(record), record);
    }),
  ];
  for (const record of caches.records.list()) follow(uidOf(record), record);

  return {
    take(record, host) {
      const uid = uidOf(record);
      const own = standing(uid, host) ?? hostsOfRecord(record, caches, settings).claim;
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
      if (host !== undefined && byRecord.get(uid)?.claim.holds.has(host) !== true) wakeWaiting(host, uid);
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

function hostsOfRecord(record: AppDeployment, caches: AddressCaches, settings: AddressSettings): RecordHosts {
  const { name, deletionTimestamp, creationTimestamp = '' } = record.metadata;
  const [uid, namespace] = [uidOf(record), namespaceOf(record)];
  const wanted = deletionTimestamp === undefined ? wantedHost(record.spec, { name, namespace }, settings) : undefined;
  const { url, hostClaim } = record.status ?? {};
  // The address of a record that a listener's cluster runs is what that cluster reports: it claims no host here.
  const reported = url !== undefined && runsHere(record) ? [hostOf(url)] : [];
  const object = caches.addresses?.get({ namespace, name: names(name).address });
  const allowed = caches.namespaces.get({ name: namespace })?.metadata.annotations?.[HOSTS_ANNOTATION];
  // A tenant may edit its address object, and pause the record so that the edit stays: only hosts that it may claim count.
  const routed = (object?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === uid ? hostsOf(object) : []).filter((host) =>
    mayClaim(host, { name, namespace }, allowed, settings),
  );
  return {
    wanted,
    claim: {
      uid,
      namespace,
      name,
      createdAt: creationTimestamp,
      holds: new Set([...reported, ...routed]),
      ...(hostClaim && hostClaim.host === wanted && { reported: hostClaim }),
    },
  };
}

function hostsIn({ wanted, claim }: RecordHosts): Set<string> {
  return new Set([
    ...(wanted === undefined ? [] : [wanted]),
    ...claim.holds,
    ...(claim.reported ? [claim.reported.host] : []),
  ]);
}

function released(before: RecordHosts, after: RecordHosts | undefined): string[] {
  return [...hostsIn(before)].filter((host) => {
    if (!after) return true;
    const { claim } = after;
    return (
      (before.wanted === host && after.wanted !== host) ||
      (before.claim.holds.has(host) && !claim.holds.has(host)) ||
      (before.claim.reported?.host === host && claim.reported?.host !== host)
    );
  });
}
