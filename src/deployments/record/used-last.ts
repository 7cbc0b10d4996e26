// The mark on the Secret of the database that a deleted deployment used last (plan/used-last.ts).

import type { KubeObject } from '../../lib/kube/client.ts';
import { DEPLOYMENT_UID_LABEL, USED_LAST_ANNOTATION } from '../../schema/meta.ts';

/** The driver of that database; undefined for a Secret without the mark of the deployment that it is from. */
export function driverUsedLast({ metadata: { annotations = {}, labels = {} } }: KubeObject): string | undefined {
  const [uid, driver] = annotations[USED_LAST_ANNOTATION]?.split(' ') ?? [];
  return uid === labels[DEPLOYMENT_UID_LABEL] ? driver : undefined;
}
