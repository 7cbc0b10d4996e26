// A collection of the HTTP API as a value: its own folder says what it needs, and which routes it has.

import type { Settings } from '../kinds/settings.ts';
import type { FairLimiter } from '../runtime/controller/fair-limiter.ts';
import type { FreshList } from '../runtime/http/coalesced-list.ts';
import type { KubeClient, KubeObject } from '../runtime/kube/client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { FacadeCaches } from './caches.ts';
import type { Hooks } from './hooks.ts';
import type { OrganizationSecrets } from './organization-secrets.ts';
import type { App } from './validation.ts';

/** What collections share. */
export interface FacadeContext extends Hooks {
  /** The facade's own credentials. */
  readonly kube: KubeClient;
  readonly caches: FacadeCaches;
  readonly settings: Settings;
  readonly secrets: OrganizationSecrets;
  /** Adds a written object to its cache, so that a later list of this facade contains it. */
  readonly remember: (object: KubeObject) => void;
  /** Removes a deleted object from its cache before the watch reports it. */
  readonly forget: (uid: string) => void;
  readonly freshList: FreshList;
  /** Limits concurrent writes. It gets all writes of a request as one. */
  readonly gate: Pick<FairLimiter, 'run'>;
  readonly log: Logger;
  readonly now: () => Date;
  /** 32 random hexadecimal digits. */
  readonly randomId: () => string;
  /** 1 to 16 random characters of a-z and 0-9. */
  readonly randomSuffix: () => string;
}

/** Registers its routes; called once for each prefix under which `app` serves the API. */
export type Collection<Needs> = (app: App, needs: Needs, prefix: string) => void;
