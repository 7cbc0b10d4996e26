// Ends what is kept for people when its tenant, provider or deployment goes: tokens are revoked at the provider, clients are taken back
// where they were registered, and then the Secrets are deleted. Decided on the caches, and confirmed by the API server.

import { z } from 'zod';
import { APP_DEPLOYMENTS } from '../../kinds/app-deployment.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../kinds/oauth-provider.ts';
import { providerById, providerIdOf, providerNameFor } from '../../kinds/provider-id.ts';
import { type Clock, systemClock, untilAborted } from '../../runtime/controller/clock.ts';
import { type Result, startController } from '../../runtime/controller/controller.ts';
import { endAll, type WatchedStore } from '../../runtime/controller/store.ts';
import { makeWorkQueue } from '../../runtime/controller/work-queue.ts';
import { NotFound } from '../../runtime/errors.ts';
import { NAMESPACES } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Clients } from './clients.ts';
import { deploymentOf, type End, endOf, type Judged, type World } from './ends.ts';
import { ENTRY_KINDS } from './names.ts';
import { GrantFailed } from './server.ts';
import type { Tokens } from './tokens.ts';
import type { Entry, Vault } from './vault.ts';

export interface Collector {
  /** Looks once at everything. Resolves to whether something is left that could not be ended. */
  sweep(): Promise<boolean>;
  /** Sweeps now and then, and soon after something was deleted, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface CollectorOptions {
  /** The facade's account. */
  readonly kube: KubeClient;
  readonly vault: Vault;
  readonly tokens: Pick<Tokens, 'read' | 'end'>;
  readonly clients: Clients;
  readonly caches: {
    readonly providers: WatchedStore<OAuthProvider>;
    readonly tenants: WatchedStore;
    readonly records: WatchedStore;
  };
  readonly organizationNamespace: string;
  readonly now: () => Date;
  /** When to sweep. */
  readonly clock?: Clock;
  readonly log: Logger;
}

const NAME = 'oauth-ends';
/** The only key: a sweep looks at everything. */
const EVERYTHING = 'everything';
/** When nothing was deleted: for what went while no process ran. */
const EVERY_MS = 600_000;
/** After a deletion, so that one sweep covers all that goes with a namespace. */
const SOON_MS = 5000;
/** For what a provider has not let end. */
const AGAIN_MS = 60_000;
/** After so long without success the Secret is deleted without the provider. */
const PATIENCE_MS = 3_600_000;
/** Deleted providers that are remembered, to revoke what they gave. */
const REMEMBERED = 100;

const About = z.object({
  providerUid: z.string().optional(),
  expiresAt: z.string().optional(),
  tokenId: z.string().optional(),
  createdAt: z.string().optional(),
});

type Kept = Entry<z.output<typeof About>> & Judged;
const OTHERS = ENTRY_KINDS.filter((kind) => kind !== 'connection');

export function makeCollector(options: CollectorOptions): Collector {
  const { vault, caches, organizationNamespace, now, clock = systemClock, log } = options;
  /** The last state of providers that were deleted, the newest last. */
  const gone: OAuthProvider[] = [];
  const providerNow = (id: string): OAuthProvider | undefined =>
    providerById(id, (name) => caches.providers.get({ namespace: organizationNamespace, name }));

  function world(ids: ReadonlySet<string>): World {
    return {
      namespaceUid: (name) => caches.tenants.get({ name })?.metadata.uid,
      providerUid: (id) => providerNow(id)?.metadata.uid,
      hasDeployment: (uid) => caches.records.byUid(uid) !== undefined,
      hasToken: (id) => ids.has(id),
      now: now(),
    };
  }

  /** The providers with which it may have been sealed. */
  const providersOf = ({ subject, about }: Kept): OAuthProvider[] =>
    [providerNow(subject.provider), ...gone.toReversed()].filter(
      (one) =>
        one !== undefined &&
        providerIdOf(one) === subject.provider &&
        (about.providerUid === undefined || one.metadata.uid === about.providerUid),
    ) as OAuthProvider[];

  const tryToEnd = makeEnding(options, providersOf);

  async function sweep(): Promise<boolean> {
    if (![caches.providers, caches.tenants, caches.records].every((cache) => cache.hasSynced())) return true;
    // Connections first: the token of one that is listed is there before it.
    const connections = await vault.listAll('connection', About);
    const others = await Promise.all(OTHERS.map((kind) => vault.listAll(kind, About)));
    const entries = [connections, ...others].flat();
    const seen = world(new Set(entries.filter(({ kind }) => kind === 'token').map(({ id }) => id)));
    const isConfirmed = makeConfirmation(options);
    const errors: Error[] = [];
    for (const entry of entries) {
      const why = endOf(entry, seen);
      if (why === undefined || !(await isConfirmed(entry, why))) continue;
      errors.push(...[(await tryToEnd(entry, why)) ?? []].flat());
    }
    const [err] = errors;
    if (err) log.warn({ err, count: errors.length }, 'Cannot revoke the tokens of providers yet');
    return errors.length > 0;
  }

  return {
    sweep,
    async run(signal) {
      const queue = makeWorkQueue({ name: NAME, clock });
      const soon = (): void => queue.addAfter(EVERYTHING, SOON_MS);
      const unsubscribe = endAll([
        caches.providers.onChange(({ type, object }) => {
          if (type !== 'deleted') return;
          gone.push(object);
          if (gone.length > REMEMBERED) gone.shift();
          soon();
        }),
        ...[caches.tenants, caches.records].map((cache) => cache.onChange(({ type }) => type === 'deleted' && soon())),
      ]);
      const reconcile = async (): Promise<Result> => ({ requeueAfterMs: (await sweep()) ? AGAIN_MS : EVERY_MS });
      const controller = startController({ name: NAME, queue, reconcile, workers: 1, timeoutMs: EVERY_MS, clock, log });
      soon();
      await untilAborted(signal);
      unsubscribe();
      await controller.stop();
    },
  };
}

/**
 * Ends one entry. The function returns the error that keeps it for another attempt: any but a refusal of the provider may pass.
 * `providersOf`: the providers with which it may have been sealed.
 */
function makeEnding(
  { vault, tokens, clients, now, log }: CollectorOptions,
  providersOf: (entry: Kept) => readonly OAuthProvider[],
): (entry: Kept, why: End) => Promise<Error | undefined> {
  /** When an end was tried first, by name. */
  const tried = new Map<string, number>();

  async function end(entry: Kept): Promise<void> {
    if (entry.kind === 'token') {
      const present = await tokens.read(entry.id);
      // The person may have consented again meanwhile, which keeps the uid.
      const isSame = present?.version?.uid === entry.version?.uid && present?.about.createdAt === entry.about.createdAt;
      if (present && isSame) await tokens.end(present, ...providersOf(entry));
    } else if (entry.kind === 'client') await clients.end(entry, providersOf(entry));
    else await vault.take(entry);
  }

  return async (entry, why) => {
    const name = `${entry.kind} ${entry.id}`;
    try {
      await end(entry);
    } catch (err) {
      const since = tried.get(name) ?? now().getTime();
      if (err instanceof Error && !(err instanceof GrantFailed) && now().getTime() - since < PATIENCE_MS) {
        tried.set(name, since);
        return err;
      }
      log.warn({ err, kind: entry.kind, ended: why }, 'Deleted a token of a provider without revoking it');
      await vault.take(entry);
    }
    tried.delete(name);
    if (why !== 'time')
      log.info(
        { kind: entry.kind, tenant: entry.subject.tenant, ended: why },
        'Deleted, because its purpose no longer exists',
      );
    return undefined;
  };
}

/** Asks the API server whether that is gone for which an entry was; each question once. */
function makeConfirmation({
  kube,
  organizationNamespace,
}: CollectorOptions): (entry: Kept, why: End) => Promise<boolean> {
  const asked = new Map<string, Promise<readonly KubeObject[]>>();
  const once = (what: string, ask: () => Promise<readonly KubeObject[]>): Promise<readonly KubeObject[]> => {
    const answer = asked.get(what) ?? ask();
    asked.set(what, answer);
    return answer;
  };
  const listed = async (resource: Resource, namespace: string): Promise<readonly KubeObject[]> =>
    (await kube.listAll(resource, { namespace, metadataOnly: true })).items;
  const namespaceOf = async (name: string): Promise<readonly KubeObject[]> => {
    try {
      return [await kube.get<KubeObject>(NAMESPACES, { name }, { metadataOnly: true })];
    } catch (error) {
      if (error instanceof NotFound) return [];
      throw error;
    }
  };

  return async ({ subject, about }, why) => {
    const { tenant, tenantId, provider } = subject;
    const hasUid = (objects: readonly KubeObject[], uid: string | undefined): boolean =>
      objects.some(({ metadata }) => metadata.uid === uid);
    switch (why) {
      case 'tenant':
        return !hasUid(await once(`tenant ${tenant}`, () => namespaceOf(tenant)), tenantId);
      case 'deployment':
        return !hasUid(await once(`records ${tenant}`, () => listed(APP_DEPLOYMENTS, tenant)), deploymentOf(subject));
      case 'provider': {
        const all = await once('providers', () => listed(OAUTH_PROVIDERS, organizationNamespace));
        const present = all.find(({ metadata }) => metadata.name === providerNameFor(provider));
        return present === undefined || !hasUid([present], about.providerUid ?? present.metadata.uid);
      }
      default:
        return true;
    }
  };
}
