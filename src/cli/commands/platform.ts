// Prints what the platform offers to a tenant, from GET /v2/platform.

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

type Numbers = Readonly<Record<string, number>>;
type Nullable<T> = Readonly<Record<string, T | null>>;

/** The fields of the answer that are printed. */
interface Platform {
  readonly tenant: { readonly id: string; readonly namespace: string };
  readonly sources: readonly string[];
  readonly builds: {
    readonly available: boolean;
    readonly base_images: Nullable<string>;
    readonly package_indexes: Nullable<string>;
    readonly registry: string | null;
    readonly timeout_seconds: number;
    readonly upload_max_mb: number;
  };
  readonly hosts: { readonly available: boolean; readonly claimable: readonly string[] };
  readonly code_hosts: readonly string[];
  readonly integrations: readonly { readonly id: string; readonly name: string; readonly host: string }[];
  readonly listeners: readonly { readonly id: string; readonly name: string; readonly namespaces: readonly string[] }[];
  readonly templates: readonly {
    readonly name: string;
    readonly image_uri: string | null;
    readonly repo_url: string | null;
  }[];
  readonly pods: { readonly port: number; readonly health_path: string; readonly policy: string };
  readonly stores: {
    readonly own: boolean;
    readonly postgres_image: string;
    readonly redis_image: string;
    readonly drivers: readonly string[];
    readonly backups: boolean;
    readonly archives: boolean;
  };
  readonly limits: Readonly<Record<string, unknown>>;
  readonly default_type: string;
  readonly sizes: Readonly<Record<string, Readonly<Record<string, Numbers>>>>;
}

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
  const { tenant, hosts, pods, stores, limits } = platform;
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
    ['Limits', said(limits) || 'none'],
    ['Default sizes', `deployment_type ${platform.default_type}`],
    ...sizeRows(platform),
  ];
}

const DRIVERS: Readonly<Record<string, string>> = {
  pod: 'pod',
  'cloudnative-pg': 'cloudnative-pg (a Cluster with replicas)',
};

function databaseRows({ own, drivers, backups, archives }: Platform['stores']): Row[] {
  if (!own) return [];
  const storeless = 'no: the platform has no store for them';
  const clusterless = drivers.includes('cloudnative-pg')
    ? "no: CloudNativePG's Barman Cloud plugin is not installed"
    : 'no: they need driver cloudnative-pg';
  const hindrance = backups ? clusterless : storeless;
  return [
    ['  drivers', drivers.map((driver) => DRIVERS[driver] ?? driver).join(', ')],
    ['  backups', backups ? 'yes' : storeless],
    ['  archives', archives ? 'yes, of driver cloudnative-pg' : hindrance],
  ];
}

/** Sources that the hosting mode allows, by whether the platform has what they need. A template may have an image. */
function sourcesOf({ sources, builds }: Platform): Readonly<Record<'usable' | 'unusable', readonly string[]>> {
  const needs: Readonly<Record<string, boolean>> = {
    codehost: builds.available,
    internal_source: builds.available,
    internal_docker: builds.registry !== null,
  };
  const isUsable = (source: string): boolean => needs[source] !== false;
  return { usable: sources.filter(isUsable), unusable: sources.filter((source) => !isUsable(source)) };
}

function buildRows(platform: Platform): Row[] {
  const { builds, code_hosts: hosts } = platform;
  const { unusable } = sourcesOf(platform);
  const without = unusable.length === 0 ? '' : `, so nothing can be of source ${unusable.join(' or ')}`;
  if (!builds.available) return [['Builds', `none${without}: deploy an image`]];
  return [
    [
      'Builds',
      `registry ${builds.registry}, uploads up to ${builds.upload_max_mb} MB, ${builds.timeout_seconds} s at most`,
    ],
    ['Base images', said(builds.base_images) || "the builder's own"],
    ['Indexes', said(builds.package_indexes) || "the package managers' own"],
    ['Code hosts', hosts.join(', ') || 'none'],
  ];
}

function sizeRows({ default_type: type, sizes }: Platform): Row[] {
  return Object.entries(sizes[type] ?? {}).map(([part, numbers]) => [`  ${part}`, said(numbers)]);
}

function said(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
