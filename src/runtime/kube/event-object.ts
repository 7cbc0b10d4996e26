// Events of the API group events.k8s.io/v1, as far as they are read. Older clients leave eventTime empty and set the deprecated fields.

import type { KubeObject } from './client.ts';

export interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly deprecatedCount?: number;
  readonly deprecatedLastTimestamp?: string | null;
}
