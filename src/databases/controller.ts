// The controllers of operations on databases, and of the maintenance window that creates some of them.

import type { DeploymentContext } from '../deploy/controller.ts';
import { isEnded } from '../kinds/operation-phases.ts';
import type { ControllerDefinition } from '../runtime/controller/definition.ts';
import { makeOperationReconciler, makeWindowReconciler, wakeOperations } from './reconciler.ts';

/** The one key of the window. */
const PLATFORM = 'platform';

export const operations: ControllerDefinition<Pick<DeploymentContext, 'home' | 'settings' | 'now'>> = {
  name: 'operations',
  workers: 4,
  begin: ({ home, settings, now }, queue) => ({
    reconcile: makeOperationReconciler({ home, settings, now }),
    wake: () => wakeOperations(home.caches, queue),
  }),
};

export const patchWindow: ControllerDefinition<Pick<DeploymentContext, 'home' | 'settings' | 'now'>> = {
  name: 'patch-window',
  begin: ({ home, settings, now }, queue) => {
    const { window } = settings.datastores;
    if (!window) return undefined;
    return {
      reconcile: makeWindowReconciler({ home, settings, now }, window),
      wake: () => {
        queue.add(PLATFORM);
        return home.caches.operations.onChange(({ type, object }) => {
          if (type === 'deleted' || isEnded(object)) queue.add(PLATFORM);
        });
      },
    };
  },
};
