// The controllers of the hub: of Listeners, and of the records that their clusters run.

import type { DeploymentContext } from '../../deploy/controller.ts';
import type { ControllerDefinition } from '../../runtime/controller/definition.ts';
import { endAll } from '../../runtime/controller/store.ts';
import type { ListenerCaches } from './caches.ts';
import { makeHearing } from './hearing.ts';
import { makeListenerReconciler, wakeListeners } from './listeners.ts';
import { makeRecordReconciler, wakeRemoteRecords } from './records.ts';

export interface ListenerContext extends DeploymentContext {
  /** Undefined if no deployments run on further clusters. */
  readonly listening: ListenerCaches | undefined;
}

export const listeners: ControllerDefinition<ListenerContext> = {
  name: 'listeners',
  begin({ home, listening, settings, namespace, now, elapsed, leading }, queue) {
    if (listening === undefined) return undefined;
    const hearing = makeHearing(listening.leases, elapsed);
    leading.addEventListener('abort', hearing.close, { once: true });
    const account = { name: 'davit-controller', namespace };
    return {
      reconcile: makeListenerReconciler({ home, listening, settings, hearing, account, now, elapsed }),
      wake: () => wakeListeners(home.caches, listening, queue),
    };
  },
};

/** The controller of all records, whichever cluster runs them. `local` is that of the records of this cluster. */
export function onAllClusters(local: ControllerDefinition<DeploymentContext>): ControllerDefinition<ListenerContext> {
  return {
    ...local,
    begin(context, queue) {
      const begun = local.begin(context, queue);
      const { home, listening } = context;
      if (begun === undefined || listening === undefined) return begun;
      return {
        reconcile: makeRecordReconciler({ ...context, listening, local: begun.reconcile }),
        wake: () => endAll([begun.wake(), wakeRemoteRecords(home.caches, listening, queue)]),
      };
    },
  };
}
