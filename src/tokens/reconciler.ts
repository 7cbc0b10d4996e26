// Reports whether the objects that an OAuth provider or code host integration names exist. Writes only their status.

import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { type ConditionInput, mergeConditions } from '../kinds/conditions.ts';
import { FIELD_MANAGER, SENT_TO_ANNOTATION } from '../kinds/meta.ts';
import type { OAuthProvider } from '../kinds/oauth-provider.ts';
import type { Settings } from '../kinds/settings.ts';
import { type Cluster, until } from '../runtime/controller/cluster.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import type { Reflector } from '../runtime/controller/reflector.ts';
import { reportStatus } from '../runtime/controller/report-status.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import { NotFound } from '../runtime/errors.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { type OrganizationCaches, SECRETS_NAMED } from './caches.ts';
import { organizationVerdict } from './conditions.ts';

type Judged = OAuthProvider | CodeHostIntegration;

function judged({ providers, integrations }: OrganizationCaches): readonly Reflector<Judged>[] {
  return [providers, integrations] as unknown as readonly Reflector<Judged>[];
}

function keyOf({ kind, metadata }: Pick<Judged, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`;
}

/** The condition IssuerKnown. Undefined for a provider without an issuer. */
export type AskIssuer = (provider: OAuthProvider) => Promise<ConditionInput | undefined>;

/** Metadata of an OAuth server rarely changes; one that is down comes back. */
const ISSUER_ASKED_MS = 6 * 3_600_000;
const ISSUER_ASKED_AGAIN_MS = 300_000;

/** Reconciles one of them, by kind and name. */
export function makeOrganizationReconciler(
  cluster: Cluster<OrganizationCaches>,
  { codeHosts, oauth }: Pick<Settings, 'codeHosts' | 'oauth'>,
  now: () => Date,
  askIssuer?: AskIssuer,
): Reconcile {
  const { caches } = cluster;
  const namespace = caches.organizationNamespace;
  return async function reconcile(key, signal) {
    const [kind, name = ''] = key.split('/');
    const object = judged(caches)
      .find(({ resource }) => resource.kind === kind)
      ?.get({ namespace, name });
    if (!object || object.metadata.deletionTimestamp !== undefined) return {};
    const secret = (named: string): KubeObject | undefined => caches.clientSecrets.get({ namespace, name: named });
    const ready = organizationVerdict(object, { secret, codeHosts, oauth });
    const issuer = object.kind === 'OAuthProvider' ? await askIssuer?.(object) : undefined;
    const generation = object.metadata.generation ?? 1;
    const conditions = mergeConditions(
      object.status?.conditions,
      [ready, ...(issuer ? [issuer] : [])],
      generation,
      now(),
    );
    try {
      await reportStatus(object, { observedGeneration: generation, conditions }, until(cluster, signal), {
        fieldManager: FIELD_MANAGER,
        foreign: 'pushes',
      });
    } catch (error) {
      // Deleted during the reconcile.
      if (!(error instanceof NotFound)) throw error;
    }
    return issuer ? { requeueAfterMs: issuer.status === 'True' ? ISSUER_ASKED_MS : ISSUER_ASKED_AGAIN_MS } : {};
  };
}

const sentTo = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[SENT_TO_ANNOTATION];

/** Enqueues all keys first, and then those whose object or Secret changes. Returns a function that stops it. */
export function wakeOrganization(caches: OrganizationCaches, queue: WorkQueue): () => void {
  const wakeAll = (): void => {
    for (const cache of judged(caches)) for (const object of cache.list()) queue.add(keyOf(object));
  };
  const subscriptions = [
    ...judged(caches).map((cache) => cache.onChange(({ object }) => queue.add(keyOf(object)))),
    caches.clientSecrets.onChange(({ type, object, previous }) => {
      // Only whether the Secret exists, and for which addresses it was given.
      const isNews = type === 'deleted' || previous === undefined || sentTo(previous) !== sentTo(object);
      const { namespace, name } = object.metadata;
      if (!isNews || namespace !== caches.organizationNamespace) return;
      for (const cache of judged(caches))
        for (const naming of cache.byIndex(namespace, SECRETS_NAMED, name)) queue.add(keyOf(naming));
    }),
  ];
  wakeAll();
  return endAll(subscriptions);
}
