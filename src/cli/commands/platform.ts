// Prints what the platform offers to a tenant, from GET /v2/platform.

import type { Platform } from '../../deploy/http/platform/payloads.ts';
import { SOURCE_RULES, type Source, uses } from '../../kinds/source-rules.ts';
import { API_FLAGS, type Command, OUTPUT, print } from '../line/command.ts';
import type { HttpApi } from '../transport/http-api.ts';

export const platformCommand: Command = {
  name: 'platform',
  purpose:
    'show what the platform offers: base images, databases and their backups, hosts, limits, integrations, default sizes',
  words: [],
  flags: [OUTPUT, ...API_FLAGS],
  async run(context) {
    const platform = await readPlatform(await context.api());
    print(context, platform, () => platformLines(platform));
    return 0;
  },
};

export function readPlatform(api: HttpApi): Promise<Platform> {
  return api.call('GET', '/v2/platform');
}

export function platformLines(platform: Platform): string[] {
  const rows = rowsOf(platform);
  const width = Math.max(...rows.map(([name]) => name.length));
  let last = '';
  return rows.map(([name, value]) => {
    const shown = name === last ? '' : name;
    last = name;
    return `${shown.padEnd(width)}  ${value}`;
  });
}

type Row = readonly [name: string, value: string];

function rowsOf(platform: Platform): Row[] {
  const { tenant, hosts, pods, stores, limits, default_type: type, sizes } = platform;
  const several = (name: string, values: readonly string[]): Row[] =>
    values.length === 0 ? [[name, 'none']] : values.map((value) => [name, value]);
  return [
    ['Tenant', `${tenant.namespace}, id ${tenant.id}`],
    ['Sources', sourcesOf(platform).usable.join(', ') || 'none'],
    ['Image', `listens on ${pods.port}, answers GET ${pods.health_path}; pods are ${pods.policy}`],
    [
      'Databases',
      stores.own
        ? `${stores.postgres_image} and ${stores.redis_image}, external ones, or none`
        : 'external ones, or none',
    ],
    ...databaseRows(stores),
    ...buildRows(platform),
    ...several('Hosts', hosts.available ? hosts.claimable : []),
    ...several(
      'Integrations',
      platform.integrations.map(({ id, name, host }) => `${name} at ${host}, id ${id}`),
    ),
    ...several(
      'Listeners',
      platform.listeners.map(({ id, name, namespaces }) => `${name}, namespaces ${namespaces.join(', ')}, id ${id}`),
    ),
    ...several(
      'Templates',
      platform.templates.map(({ name, image_uri: image, repo_url: repository }) => `${name}: ${image ?? repository}`),
    ),
    ['Placement', placementOf(platform.placement)],
    ['Limits', said(limits) || 'none'],
    ['Default sizes', `deployment_type ${type}`],
    ...Object.entries(sizes[type] ?? {}).map(([part, numbers]): Row => [`  ${part}`, said(numbers)]),
  ];
}

function placementOf({ node_selector: labels, tolerations, runtime_classes: classes }: Platform['placement']): string {
  const allowed = [
    ...Object.entries(labels).map(([label, values]) => `${label}=${values.join('|')}`),
    ...tolerations.map((taint) => `taint ${taint}`),
    ...classes.map((name) => `RuntimeClass ${name}`),
  ];
  return allowed.join(', ') || "the platform's own";
}

function databaseRows({ own, drivers, backups, archives }: Platform['stores']): Row[] {
  if (!own) return [];
  const storeless = 'no: the platform has no backup store';
  const clusterless = drivers.includes('cloudnative-pg')
    ? "no: CloudNativePG's Barman Cloud plugin is not installed"
    : 'no: they need driver cloudnative-pg';
  const hindrance = backups ? clusterless : storeless;
  return [
    ['  drivers', drivers.join(', ').replace('cloudnative-pg', '$& (a Cluster with replicas)')],
    ['  backups', backups ? 'yes' : storeless],
    ['  archives', archives ? 'yes, with driver cloudnative-pg' : hindrance],
  ];
}

/** Sources that the hosting mode allows, by whether the platform has what they need. A template may have an image. */
function sourcesOf({ sources, builds }: Platform): Readonly<Record<'usable' | 'unusable', readonly string[]>> {
  const isUsable = (source: Source): boolean => {
    const { content } = SOURCE_RULES[source];
    return uses(source, 'push') ? builds.registry !== null : builds.available || content.includes('imageUri');
  };
  return { usable: sources.filter(isUsable), unusable: sources.filter((source) => !isUsable(source)) };
}

function buildRows(platform: Platform): Row[] {
  const { builds, code_hosts: hosts } = platform;
  const { unusable } = sourcesOf(platform);
  const without = unusable.length === 0 ? '' : `, so no deployment can have source ${unusable.join(' or ')}`;
  if (!builds.available) return [['Builds', `none${without}: deploy an image`]];
  return [
    [
      'Builds',
      `registry ${builds.registry}, uploads up to ${builds.upload_max_mb} MB, ${builds.timeout_seconds} s at most`,
    ],
    ['Base images', said(builds.base_images) || 'none: a configuration file must set base_image'],
    ['Agent server', builds.agent_server ?? 'none: a langgraph.json needs a base image with a server'],
    ['Indexes', said(builds.package_indexes) || "the package managers' own"],
    ['Code hosts', hosts.join(', ') || 'none'],
  ];
}

function said(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
