// The controller of operations on databases.

import type { DeploymentContext } from '../deployments/controller.ts';
import type { ControllerDefinition } from '../lib/controller/definition.ts';
import { makeOperationReconciler, wakeOperations } from './reconciler.ts';

export const operations: ControllerDefinition<Pick<DeploymentContext, 'home' | 'settings' | 'now'>> = {
  name: 'operations',
  workers: 4,
  begin: ({ home, settings, now }, queue) => ({
    reconcile: makeOperationReconciler({ home, settings, now }),
    wake: () => wakeOperations(home.caches, queue),
  }),
};
