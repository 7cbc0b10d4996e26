// The controller of Notifiers.

import type { BuildContext } from '../../build/controller.ts';
import { makeSourceAccess } from '../../build/source-access.ts';
import type { Notifier } from '../../kinds/notifier.ts';
import type { ControllerDefinition } from '../../runtime/controller/definition.ts';
import type { Reflector } from '../../runtime/controller/reflector.ts';
import { makeNotifierReconciler, type NotifierReconcilerOptions, wakeNotifiers } from './reconciler.ts';

export interface NoticeContext extends Pick<BuildContext, 'home' | 'settings' | 'codeHosts' | 'now'> {
  readonly notifiers: Reflector<Notifier>;
  /** Sends to hosts of settings.webhooks alone. */
  readonly post: NotifierReconcilerOptions['post'];
}

export const notices: ControllerDefinition<NoticeContext> = {
  name: 'notices',
  workers: 4,
  // One worker takes only namespaces that no other worker is busy with: slow webhooks of one tenant do not hold up the others.
  workersForNewGroups: () => 1,
  begin({ home, settings, codeHosts, notifiers, post, now }, queue) {
    const { client, caches } = home;
    const sources = codeHosts && makeSourceAccess({ client, caches, settings, codeHosts });
    return {
      reconcile: makeNotifierReconciler({ home, notifiers, post, sources, now }),
      wake: () => wakeNotifiers(caches, notifiers, queue),
    };
  },
};
