// The controllers of builds. The platform needs them if there are a registry and a builder.

import { randomUUID } from 'node:crypto';
import type { Cluster } from '../deploy/cluster/cluster.ts';
import type { DeploymentContext } from '../deploy/controller.ts';
import { probeRepository, type RegistrySettings } from '../deploy/record/registry-names.ts';
import type { Settings } from '../kinds/settings.ts';
import { systemClock } from '../runtime/controller/clock.ts';
import type { ControllerDefinition } from '../runtime/controller/definition.ts';
import type { Logger } from '../runtime/logger.ts';
import type { BuildCaches } from './caches.ts';
import { CODE_FILES, type CodeFiles, makeCodeFileReader } from './code-files.ts';
import type { CodeHosts } from './codehost/code-hosts.ts';
import { makePullSecretReconciler, wakePullSecrets } from './pull-secrets.ts';
import { type KnownCommits, makePushWatch, notingCommits, wakePushes } from './pushes.ts';
import { makeBuildReconciler } from './reconciler.ts';
import { makeRegistryAccess, type RegistryAccess } from './registry/access.ts';
import type { RegistryMetrics } from './registry/metrics.ts';
import { monitorRegistry } from './registry/monitor.ts';
import { makePlatformRegistry } from './registry/platform-registry.ts';
import { publishKeys } from './registry/publish-keys.ts';
import { keepUp, makeRegistryUpkeep } from './registry/upkeep.ts';
import { makeSourceAccess, type SourceAccess } from './source-access.ts';
import { wakeBuilds } from './watches.ts';

export interface BuildContext extends DeploymentContext {
  /** Undefined if builds are not configured. */
  readonly building: BuildCaches | undefined;
  /** Absent if the platform does not build. */
  readonly codeHosts?: Pick<CodeHosts, 'commit' | 'file' | 'status' | 'token'> | undefined;
  /** CA certificates (PEM) that builds trust besides those of their images. */
  readonly authorities: string | undefined;
  readonly known: KnownCommits;
  readonly files: CodeFiles;
  readonly log: Logger;
  readonly metrics: RegistryMetrics;
  /** Adds a key to the queue of another controller. */
  enqueue(controller: string, key: string): void;
}

interface BuildTools {
  readonly building: BuildCaches;
  readonly registry: RegistrySettings;
  readonly sources: SourceAccess;
  readonly registryAccess: RegistryAccess;
}

/** Four controllers share the tools of one context. */
const TOOLS = new WeakMap<BuildContext, BuildTools>();

/** What builds are made with, the same for all controllers of a context. Undefined if the platform does not build. */
function toolsOf(context: BuildContext): BuildTools | undefined {
  const { home, settings, namespace, building, codeHosts, now, elapsed, known, enqueue } = context;
  const { client, caches } = home;
  const { registry } = settings.builds;
  if (!building || !codeHosts || registry === undefined) return undefined;
  const onPush = (key: string): void => enqueue('appdeployments', key);
  const tools = TOOLS.get(context) ?? {
    building,
    registry,
    sources: notingCommits(makeSourceAccess({ client, caches, settings, codeHosts }), known, elapsed, onPush),
    registryAccess: makeRegistryAccess({ client, namespace, registry, builds: settings.builds, now }),
  };
  TOOLS.set(context, tools);
  return tools;
}

export const builds: ControllerDefinition<BuildContext> = {
  name: 'builds',
  workers: 4,
  begin(context, queue) {
    const { home: shell, settings, authorities, events, now } = context;
    const tools = toolsOf(context);
    if (tools === undefined) return undefined;
    const { building, ...rest } = tools;
    return {
      reconcile: makeBuildReconciler({ ...rest, shell, settings, authorities, builds: building, events, now }),
      wake: () => wakeBuilds(shell.caches, building, { queue, settings }),
    };
  },
};

export const pullSecrets: ControllerDefinition<BuildContext> = {
  name: 'pull-secrets',
  begin(context, queue) {
    const { home: shell, settings, now } = context;
    const tools = toolsOf(context);
    if (tools === undefined) return undefined;
    const { registry, registryAccess } = tools;
    return {
      reconcile: makePullSecretReconciler({ shell, settings, registry, registryAccess, now }),
      wake: () => wakePullSecrets(shell.caches, queue, registry),
    };
  },
};

export const pushes: ControllerDefinition<BuildContext> = {
  name: 'pushes',
  workers: 4,
  begin(context, queue) {
    const { home, settings, elapsed, known } = context;
    const tools = toolsOf(context);
    if (tools === undefined) return undefined;
    const { caches } = home;
    return {
      reconcile: makePushWatch({ known, caches, sources: tools.sources, settings, elapsed }),
      wake: () => wakePushes(caches, queue),
    };
  },
};

export const codeFiles: ControllerDefinition<BuildContext> = {
  name: CODE_FILES,
  workers: 4,
  begin(context) {
    const { home, settings, elapsed, files, enqueue } = context;
    const tools = toolsOf(context);
    if (tools === undefined) return undefined;
    const onChange = (key: string): void => enqueue('appdeployments', key);
    return {
      reconcile: makeCodeFileReader({
        files,
        caches: home.caches,
        sources: tools.sources,
        settings,
        elapsed,
        onChange,
      }),
      // A record asks for its file.
      wake: () => () => undefined,
    };
  },
};

/** It has no keys: what it does for the registry as a whole may take longer than a reconcile. */
export const registryUpkeep: ControllerDefinition<BuildContext> = {
  name: 'registry-upkeep',
  begin(context) {
    if (toolsOf(context) !== undefined) careForRegistry(context, context.home, context.leading);
    return undefined;
  },
};

interface RegistryCareOptions {
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: RegistryMetrics;
  readonly now: () => Date;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

/** Begins to look at the registry and, if it is the chart's own, to look after it, until `leading` aborts. */
export function careForRegistry(
  { namespace, settings, log, metrics, now, elapsed }: RegistryCareOptions,
  shell: Cluster,
  leading: AbortSignal,
): void {
  const { registry } = settings.builds;
  const platform = makePlatformRegistry({
    builds: settings.builds,
    proxies: settings.proxy,
    kube: shell.client,
    namespace,
    now,
    randomId: randomUUID,
    log,
  });
  if (registry === undefined || platform === undefined) return;
  const { client } = platform;
  leading.addEventListener('abort', () => void platform.close(), { once: true });
  const loop = { clock: systemClock, log, signal: leading };
  // Also where no API runs yet, and whether or not the registry answers.
  if (registry.tokens) void publishKeys(platform.keyRing, loop);
  const upkeep =
    registry.upkeep &&
    makeRegistryUpkeep({ shell, settings, registry, upkeep: registry.upkeep, client, namespace, log, now, elapsed });
  if (upkeep) void keepUp(upkeep, shell.caches, loop);
  const probe = (signal: AbortSignal): Promise<unknown> => client.digestOf(probeRepository(registry), 'none', signal);
  void monitorRegistry({ probe, own: upkeep?.shown, metrics, ...loop });
}
