// The mark on the Secret of the database that a deleted deployment used last (plan/used-last.ts).

import { DEPLOYMENT_UID_LABEL, USED_LAST_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

/** In the mark, after the driver: the deployment used an external database after this one. */
export const EXTERNAL_DATABASE = 'external';

/**
 * The driver of that database, and whether the deployment used an external one after it. Empty for a Secret without the mark of the
 * deployment that it is from.
 */
export function markOf({ metadata: { annotations = {}, labels = {} } }: KubeObject): {
  driver?: string;
  next?: string;
} {
  const [uid, driver, next] = annotations[USED_LAST_ANNOTATION]?.split(' ') ?? [];
  if (uid !== labels[DEPLOYMENT_UID_LABEL]) return {};
  return { ...(driver !== undefined && { driver }), ...(next !== undefined && { next }) };
}

/** For people, as a sentence. */
export const OF_BEFORE_EXTERNAL =
  'That deployment last used an external database, so the retained database does not have what was written there.';
