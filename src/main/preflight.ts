// Checks the prerequisites of Davit in its cluster: the server's version, the CRDs, the admission policies, the rights.

import { ownResources } from '../kinds/kinds.ts';
import type { Settings } from '../kinds/settings.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Config } from './config.ts';
import {
  kindsAreServed,
  kubernetesIsNewEnough,
  policiesAreThere,
  rightsAreGranted,
  tenantsHavePodSecurity,
} from './preflight/preflight-checks.ts';
import { type WatchedRequirements, watchRequirements } from './preflight/preflight-poll.ts';

export interface Asking {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Time limit of the first check of the server's version. Other checks report a server that does not answer. */
const FIRST_LOOK_MS = 3000;
/** Prerequisites that can be removed later are checked again at this interval. */
const AGAIN_MS = 5 * 60_000;

/** What is possible and not recommended in the settings, as sentences. */
export function settingsWarnings({
  backups,
  builds,
  images,
}: Pick<Settings, 'backups' | 'builds' | 'images'>): string[] {
  const named = [
    ['images.postgres', images.postgres],
    ['images.cloudNativePg', images.cloudNativePg],
    ['images.redis', images.redis],
    ['builds.images.builder', builds.images.builder],
    ['builds.images.davit', builds.images.davit],
    ['backups.image', backups.image],
  ] as const;
  return [...named.flatMap(([setting, image]) => movingTagWarning(setting, image)), ...registryWarnings(builds)];
}

/** Three numbers. The chart's NOTES judge by the same rules, and Argo CD and Flux do not print them. */
const FIXED_TAG = /^v?\d+\.\d+\.\d/;
/** Versions of PostgreSQL have two numbers, so that a base behind them fixes the tag: 17.11-trixie. */
const FIXED_POSTGRES_TAG = /^v?\d+\.\d+(\.\d|-)/;

function movingTagWarning(setting: string, image: string | undefined): string[] {
  const isPostgres = /postgres|Pg/.test(setting);
  const fixed = isPostgres ? FIXED_POSTGRES_TAG : FIXED_TAG;
  const isFixed = image === undefined || image.includes('@') || fixed.test(image.slice(image.lastIndexOf(':') + 1));
  return isFixed
    ? []
    : [
        `settings.${setting} is ${image}. Its tag moves, so each node runs the image that it pulled last${
          isPostgres
            ? ', and a database may get another base. Set version and base, as in 17.11-trixie, or a digest'
            : '. Set the full version, or a digest'
        }.`,
      ];
}

function registryWarnings({ registry }: Settings['builds']): string[] {
  if (registry === undefined || registry.tokens) return [];
  const key = 'settings.builds.registry.tokens is false';
  if (registry.pullSecret === undefined && registry.pushSecret === undefined)
    return [
      `${key}, and the registry has no credentials, so everybody who reaches it can read and replace all images.`,
    ];
  return [
    `${key}, so everybody who runs a pod with builds.registry.pullSecret can read the images and uploads of all tenants. Use a registry that accepts Davit's tokens (docs/build-platform.md), or let only tenants that trust one another share this platform.`,
  ];
}

/** Warns once, when the process starts. Never rejects: other checks report a server that does not answer. */
export async function warnOfTenants({ client, log, signal }: Asking, { namespaces }: Settings): Promise<void> {
  const warning = await tenantsHavePodSecurity(client, namespaces, signal).catch(() => undefined);
  if (warning !== undefined) log.warn(warning);
}

export function watchServerVersion({ client, log, signal }: Asking): WatchedRequirements {
  const kubernetes = (asking: AbortSignal): Promise<string | undefined> => kubernetesIsNewEnough(client, asking);
  return watchRequirements({ requirements: { kubernetes }, log, signal });
}

/** False if the server does not answer: the other checks wait for it. */
export async function serverIsTooOld({ client, signal }: Asking): Promise<boolean> {
  const look = AbortSignal.any([signal, AbortSignal.timeout(FIRST_LOOK_MS)]);
  return (await kubernetesIsNewEnough(client, look).catch(() => undefined)) !== undefined;
}

export function watchKinds({ client, log, signal }: Asking): WatchedRequirements {
  const definitions = (asking: AbortSignal): Promise<string | undefined> =>
    kindsAreServed(client, ownResources(), asking);
  return watchRequirements({ requirements: { definitions }, log, signal, againMs: AGAIN_MS });
}

/** The controller's prerequisites. The facade writes with its callers' rights. */
export function watchChart(
  { client, log, signal }: Asking,
  { admissionPolicies, rights }: Config['requirements'],
): WatchedRequirements[] {
  const admission = (asking: AbortSignal): Promise<string | undefined> =>
    policiesAreThere(client, admissionPolicies, asking);
  const granted = (asking: AbortSignal): Promise<string | undefined> => rightsAreGranted(client, rights, asking);
  return [
    watchRequirements({ requirements: { admission }, log, signal, againMs: AGAIN_MS }),
    watchRequirements({ requirements: { rights: granted }, log, signal }),
  ];
}
