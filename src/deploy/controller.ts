// The controllers of deployments: of the records themselves, and of the Secrets that no record names.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { Settings } from '../kinds/settings.ts';
import type { ControllerDefinition } from '../runtime/controller/definition.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import { makeKeySecret } from '../runtime/controller/key-secret.ts';
import { keyOf } from '../runtime/controller/keys.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { makeVanished } from './bypassed-finalizers.ts';
import type { PodContracts } from './children/contracts/contract.ts';
import { POD_CONTRACTS } from './children/contracts.ts';
import { type DigestKey, digestKey } from './children/secret-digest.ts';
import type { Cluster } from './cluster/cluster.ts';
import { makeHostRegistry } from './host-registry.ts';
import { makeReconciler } from './reconcile.ts';
import type { Commit } from './record/build-source.ts';
import type { ReadCodeFile } from './record/code-file.ts';
import {
  makeClientSecretCollector,
  makeSecretCollector,
  wakeClientSecretCollector,
  wakeCollector,
} from './secret-collector.ts';
import { makeSecretFingerprints } from './secret-fingerprints.ts';
import { enqueueOnChange } from './watches.ts';

export interface DeploymentContext {
  readonly home: Cluster;
  readonly settings: Settings;
  /** Davit's own namespace, which contains the digest key. */
  readonly namespace: string;
  readonly events: EventRecorder;
  readonly now: () => Date;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
  /** Aborts when this process leads no more. */
  readonly leading: AbortSignal;
  /** How many records are reconciled side by side. */
  readonly workers: number;
  /** The latest commit of the branch of a record with build_on_push, if it is known. */
  readonly pushedCommit: (record: AppDeployment) => Commit | undefined;
  /** The file of the repository that a revision needs, if it is known. */
  readonly codeFile: ReadCodeFile;
  /** The pod contracts that revisions may name; those of this version if absent. */
  readonly contracts?: PodContracts;
}

/** From this number of workers on, one is reserved for other tenants: a tenant with few keys does not wait for one with many. */
const ENOUGH_TO_KEEP_ONE = 4;

const DEPLOYMENTS_QUEUE = 'appdeployments';

export const deployments: ControllerDefinition<DeploymentContext> = {
  name: DEPLOYMENTS_QUEUE,
  workers: ({ workers }) => workers,
  workersForNewGroups: ({ workers }) => (workers >= ENOUGH_TO_KEEP_ONE ? 1 : 0),
  begin({ home, settings, namespace, events, now, elapsed, leading, pushedCommit, codeFile, contracts }, queue) {
    const { client, caches } = home;
    const hosts = makeHostRegistry(caches, settings.address);
    const vanished = makeVanished(home, settings, elapsed);
    for (const { close } of [hosts, vanished]) leading.addEventListener('abort', close, { once: true });
    return {
      reconcile: makeReconciler({
        home,
        contents: makeSecretFingerprints({ client, caches, digestKey: makeDigestKey(client, namespace), elapsed }),
        hosts,
        vanished,
        settings,
        events,
        now,
        contracts: contracts ?? POD_CONTRACTS,
        pushedCommit,
        codeFile,
      }),
      wake() {
        const end = enqueueOnChange(caches, queue, hosts, settings.backups);
        for (const { metadata } of caches.records.list()) queue.add(keyOf(metadata.namespace, metadata.name));
        return end;
      },
    };
  },
};

/** A paused platform deletes nothing, so the collectors get no keys. */
const NOTHING = (): (() => void) => endAll([]);

export const secrets: ControllerDefinition<DeploymentContext> = {
  name: 'secrets',
  begin: ({ home, settings, elapsed }, queue) => ({
    reconcile: makeSecretCollector(home, elapsed),
    wake: settings.paused ? NOTHING : () => wakeCollector(home.caches, queue),
  }),
};

export const clientSecrets: ControllerDefinition<DeploymentContext> = {
  name: 'client-secrets',
  begin: ({ home, settings, elapsed }, queue) => ({
    reconcile: makeClientSecretCollector(home, elapsed),
    wake: settings.paused ? NOTHING : () => wakeClientSecretCollector(home.caches, queue),
  }),
};

/** Reads or creates the key in `namespace` at the first call. A failure is thrown, and the next call retries. */
export function makeDigestKey(client: KubeClient, namespace: string): () => Promise<DigestKey> {
  const read = makeKeySecret({
    client,
    namespace,
    name: 'davit-hmac',
    field: 'key',
    bytes: 32,
    what: 'the digest key',
    replaced: 'A new key does not restart pods',
  });
  return async () => digestKey(await read());
}
