// The only reader of process.env: what a process must be told before it can read anything else. How the platform
// behaves is in the settings document (kinds/settings.ts), whose path is told here.

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { Settings } from '../kinds/settings.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const milliseconds = z.coerce.number().int().min(1).max(3_600_000);

const Environment = z.object({
  DAVIT_SETTINGS: z.string().optional(),
  DAVIT_REQUIREMENTS: z.string().optional(),
  DAVIT_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  DAVIT_KUBECONFIG: z.string().optional(),
  DAVIT_CONTEXT: z.string().optional(),
  DAVIT_NAMESPACE: z.string().default('davit-system'),
  DAVIT_IDENTITY: z.string().optional(),
  DAVIT_WORKERS: z.coerce.number().int().min(1).max(100).default(8),
  DAVIT_HTTP_HOST: z.string().default('127.0.0.1'),
  DAVIT_HTTP_PORT: port.default(8080),
  DAVIT_HEALTH_HOST: z.string().default('127.0.0.1'),
  DAVIT_HEALTH_PORT: port.default(9090),
  DAVIT_LISTENER_NAMESPACES: z.string().default(''),
  DAVIT_TLS_CERT: z.string().optional(),
  DAVIT_TLS_KEY: z.string().optional(),
  DAVIT_LEASE_MS: milliseconds.default(15_000),
  DAVIT_BACKOFF_MS: milliseconds.default(200),
  DAVIT_SERVICE_ACCOUNT_DIR: z.string().optional(),
  DAVIT_CA_BUNDLE: z.string().optional(),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: z.string().optional(),
});

/**
 * What the chart has made for this process: it asks at the start whether all of it is there. The chart writes the same
 * rules into its roles.
 */
const Requirements = z.strictObject({
  admissionPolicies: z.array(z.string()).default([]),
  rights: z
    .array(
      z.strictObject({
        namespace: z.string().exactOptional(),
        rules: z.array(
          z.strictObject({
            apiGroups: z.array(z.string()),
            resources: z.array(z.string()),
            resourceNames: z.array(z.string()).exactOptional(),
            verbs: z.array(z.string()),
          }),
        ),
      }),
    )
    .default([]),
});

export interface Config {
  readonly settings: Settings;
  readonly requirements: z.infer<typeof Requirements>;
  /** CA certificates (PEM) that are trusted besides the system's. Node.js itself reads them from NODE_EXTRA_CA_CERTS. */
  readonly authorities?: string;
  readonly logLevel: string;
  readonly kube: {
    readonly kubeconfig?: string;
    readonly context?: string;
    readonly inCluster?: { readonly host: string; readonly port: string; readonly directory?: string };
  };
  /** Davit's own namespace: its lease is there. */
  readonly namespace: string;
  readonly identity: string;
  readonly workers: number;
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly tls?: { readonly certFile: string; readonly keyFile: string };
  };
  readonly health: { readonly host: string; readonly port: number };
  /** Namespaces that the hub of a listener may use. */
  readonly listenerNamespaces: readonly string[];
  readonly leaseMs: number;
  readonly backoffMs: number;
}

/**
 * Reads the environment and the settings file it names. Throws an Error whose message lists every finding, for
 * people: `DAVIT_HTTP_PORT: Invalid input ...`.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const parsed = Environment.safeParse(env);
  if (!parsed.success) throw new Error(`Invalid environment variables: ${z.prettifyError(parsed.error)}`);
  const e = parsed.data;
  if ((e.DAVIT_TLS_CERT === undefined) !== (e.DAVIT_TLS_KEY === undefined))
    throw new Error('Give DAVIT_TLS_CERT and DAVIT_TLS_KEY together.');
  return Object.freeze({
    settings: withWholeNoProxy(loadDocument('settings', Settings, e.DAVIT_SETTINGS), e.KUBERNETES_SERVICE_HOST),
    requirements: loadDocument('requirements', Requirements, e.DAVIT_REQUIREMENTS),
    ...(e.DAVIT_CA_BUNDLE !== undefined && { authorities: loadAuthorities(e.DAVIT_CA_BUNDLE) }),
    logLevel: e.DAVIT_LOG_LEVEL,
    kube: {
      ...(e.DAVIT_KUBECONFIG !== undefined && { kubeconfig: e.DAVIT_KUBECONFIG }),
      ...(e.DAVIT_CONTEXT !== undefined && { context: e.DAVIT_CONTEXT }),
      ...(e.KUBERNETES_SERVICE_HOST !== undefined && {
        inCluster: {
          host: e.KUBERNETES_SERVICE_HOST,
          port: e.KUBERNETES_SERVICE_PORT ?? '443',
          ...(e.DAVIT_SERVICE_ACCOUNT_DIR !== undefined && { directory: e.DAVIT_SERVICE_ACCOUNT_DIR }),
        },
      }),
    },
    namespace: e.DAVIT_NAMESPACE,
    // Two processes of one host must not take each other for themselves when they compete for the lease.
    identity: e.DAVIT_IDENTITY ?? `${hostname()}-${process.pid}`,
    workers: e.DAVIT_WORKERS,
    http: {
      host: e.DAVIT_HTTP_HOST,
      port: e.DAVIT_HTTP_PORT,
      ...(e.DAVIT_TLS_CERT !== undefined &&
        e.DAVIT_TLS_KEY !== undefined && { tls: { certFile: e.DAVIT_TLS_CERT, keyFile: e.DAVIT_TLS_KEY } }),
    },
    health: { host: e.DAVIT_HEALTH_HOST, port: e.DAVIT_HEALTH_PORT },
    listenerNamespaces: e.DAVIT_LISTENER_NAMESPACES.split(',').flatMap((name) => name.trim() || []),
    leaseMs: e.DAVIT_LEASE_MS,
    backoffMs: e.DAVIT_BACKOFF_MS,
  });
}

/** A YAML file; without one, what the schema has where nothing is set. */
function loadDocument<T extends z.ZodType>(what: string, schema: T, path: string | undefined): Readonly<z.output<T>> {
  if (path === undefined) return schema.parse({});
  const parsed = schema.safeParse(parseYaml(readFileSync(path, 'utf8')) ?? {});
  if (!parsed.success) throw new Error(`The ${what} in ${path} are not valid: ${z.prettifyError(parsed.error)}`);
  return Object.freeze(parsed.data);
}

/** Hosts to which no request leaves the cluster. */
const IN_CLUSTER = ['localhost', '127.0.0.1', '::1', '.svc', '.cluster.local'];

/**
 * Completes setting `proxy.noProxy` by what is always reached directly: the cluster's own, Prometheus, and code hosts, webhooks and OAuth
 * servers whose addresses are listed, which are checked before a connection.
 */
function withWholeNoProxy(settings: Readonly<Settings>, apiServer: string | undefined): Readonly<Settings> {
  const { proxy, codeHosts, webhooks, oauth, http } = settings;
  if (proxy.httpProxy === undefined && proxy.httpsProxy === undefined) return settings;
  const listed = [...codeHosts, ...webhooks.hosts, ...oauth.hosts].filter(({ addresses }) => addresses.length > 0);
  const urls = [...listed.map(({ host }) => `https://${host}`), ...(http.prometheus ? [http.prometheus] : [])];
  const direct = urls.flatMap((url) => URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? []);
  const noProxy = [...new Set([...proxy.noProxy, ...IN_CLUSTER, ...(apiServer ? [apiServer] : []), ...direct])];
  return Object.freeze({ ...settings, proxy: { ...proxy, noProxy } });
}

/** They are in the Secrets of each build, which have at most a mebibyte. */
const LARGEST_AUTHORITIES = 512 * 1024;

function loadAuthorities(path: string): string {
  const text = readFileSync(path, 'utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error(`The authorities in ${path} (value caBundle) contain no certificate in PEM.`);
  if (text.length > LARGEST_AUTHORITIES)
    throw new Error(
      `The authorities in ${path} (value caBundle) are larger than 512 KiB. List only your own authorities.`,
    );
  return text;
}
