// Presents the platform's settings to a tenant. Each field is named here, so that a new setting is not shown automatically. Pure.

import type { Tenant } from '../../../api/authorization.ts';
import type { AppTemplate } from '../../../kinds/app-template.ts';
import type { CodeHostIntegration } from '../../../kinds/code-host-integration.ts';
import type { Listener } from '../../../kinds/listener.ts';
import { HOSTS_ANNOTATION } from '../../../kinds/meta.ts';
import type { Settings } from '../../../kinds/settings.ts';
import { isSourceTaken, SOURCES } from '../../../kinds/source-rules.ts';
import { snakeKeys } from '../../../runtime/http/casing.ts';
import type { KubeObject } from '../../../runtime/kube/client.ts';
import { databaseOffers } from '../../record/database-offers.ts';
import { claimableHosts } from '../../record/hostnames.ts';
import type { Platform } from './payloads.ts';

/** The objects that a tenant may use. */
export interface Offered {
  readonly tenant: Tenant;
  /** The tenant's namespace. */
  readonly namespace: KubeObject | undefined;
  readonly integrations: readonly CodeHostIntegration[];
  readonly listeners: readonly Listener[];
  readonly templates: readonly AppTemplate[];
  /** Whether the cluster has the kinds of CloudNativePG, and of its plugin for archives. */
  readonly cloudNativePg: boolean;
  readonly archives: boolean;
}

export function presentPlatform(settings: Settings, offered: Offered): Platform {
  const { hosting, deploymentType, address, codeHosts, pods, sizes } = settings;
  const { tenant, namespace, integrations, listeners, templates } = offered;
  return {
    tenant: { id: tenant.id, namespace: tenant.namespace },
    hosting,
    sources: SOURCES.filter((source) => isSourceTaken(source, hosting, false)),
    builds: presentBuilds(settings.builds),
    hosts: {
      available: address.kind !== 'none',
      base_domain: address.baseDomain ?? null,
      claimable:
        address.kind === 'none'
          ? []
          : claimableHosts(tenant.namespace, namespace?.metadata.annotations?.[HOSTS_ANNOTATION], address),
    },
    code_hosts: codeHosts.map(({ host }) => host),
    integrations: integrations.map(({ metadata, spec }) => ({
      id: metadata.uid ?? '',
      name: metadata.name,
      kind: spec.kind,
      host: URL.canParse(spec.apiUrl) ? new URL(spec.apiUrl).host : '',
    })),
    listeners: listeners.map(({ metadata, spec }) => ({
      id: metadata.uid ?? '',
      name: metadata.name,
      namespaces: spec.namespaces ?? [],
    })),
    templates: templates.map(({ metadata, spec }) => ({
      name: metadata.name,
      image_uri: spec.imageUri ?? null,
      repo_url: spec.repoUrl ?? null,
      repo_ref: spec.repoRef ?? null,
      workflow_config_path: spec.workflowConfigPath ?? null,
    })),
    pods: {
      port: pods.port,
      health_path: pods.healthPath,
      policy: pods.policy,
      progress_deadline_seconds: pods.progressDeadlineSeconds,
    },
    stores: presentStores(settings, offered),
    placement: {
      node_selector: settings.placement.allowed?.nodeSelector ?? {},
      tolerations: settings.placement.allowed?.tolerations ?? [],
      runtime_classes: settings.placement.allowed?.runtimeClasses ?? [],
    },
    limits: presentLimits(settings),
    default_type: deploymentType ?? 'plain',
    sizes: Object.fromEntries(
      Object.entries(sizes).map(([type, { server, postgres, redis }]) => [
        type,
        { server: snakeKeys(server), postgres: snakeKeys(postgres), redis: snakeKeys(redis) },
      ]),
    ),
  };
}

function presentBuilds(builds: Settings['builds']): Platform['builds'] {
  const { registry, images, baseImages, agentServer, packageIndex, concurrency } = builds;
  return {
    available: registry !== undefined && images.builder !== undefined,
    base_images: { python: baseImages.python ?? null, node: baseImages.node ?? null },
    agent_server: agentServer?.package ?? null,
    package_indexes: { pip: withoutCredentials(packageIndex.pip), npm: withoutCredentials(packageIndex.npm) },
    registry: registry?.host ?? null,
    user: builds.user,
    concurrency: { per_tenant: concurrency.perTenant, total: concurrency.total },
    timeout_seconds: builds.timeoutSeconds,
    upload_max_mb: builds.uploadMaxMb,
    workspace_max_mb: builds.workspaceMb,
  };
}

function presentStores(settings: Settings, { cloudNativePg, archives }: Offered): Platform['stores'] {
  const { database, images, backups } = settings;
  const { own } = database;
  const hasClusters = cloudNativePg && database.cloudNativePg.enabled;
  const hasBackups = own && backups.store !== undefined;
  return {
    own,
    postgres_image: images.postgres,
    redis_image: images.redis,
    drivers: own ? databaseOffers(settings, hasClusters).map(({ driver }) => driver) : [],
    backups: hasBackups,
    archives: hasBackups && hasClusters && archives,
  };
}

function presentLimits({ limits, http }: Settings): Platform['limits'] {
  return {
    cpu: limits.cpu ?? null,
    memory_mb: limits.memoryMb ?? null,
    scale: limits.scale ?? null,
    storage_gi: limits.storageGi ?? null,
    resources: limits.resources ?? null,
    requests_per_minute: http.requestsPerMinute,
  };
}

/** An index may be named with a user and password, or with a token in its query. */
function withoutCredentials(address: string | undefined): string | null {
  if (address === undefined) return null;
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname}`;
}
