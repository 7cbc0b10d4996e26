// The address of the API server and Davit's credentials. @kubernetes/client-node is only used, and only loaded, for kubeconfig
// files: even its config.js imports every generated model (85 MB), which a pod in the cluster never needs. The image lacks it.

import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { parse as parseYaml } from 'yaml';

/** The credentials of one request: headers and TLS options. */
export interface Credentials {
  /** Only Authorization and Impersonate-User. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsSettings;
}

export interface TlsSettings {
  readonly ca?: string;
  /** Client certificate and key. They are credentials and are never combined with another caller's token. */
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
  /** Path of a Unix socket through which the server is reached, as `kubectl proxy` opens one. */
  readonly socketPath?: string;
}

/** Access to an API server. */
export interface ClusterAccess {
  /** https://host:port, optionally with a path. */
  readonly server: string;
  /** The namespace that the configuration names as its own. */
  readonly namespace?: string;
  /** The current credentials. Cheap enough to call for every request. Rotated files are detected within seconds. */
  credentials(): Promise<Credentials>;
  /** Discards cached credentials after the server has rejected them. */
  refresh(): void;
}

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string;
  readonly port: string | number;
  readonly directory?: string;
}

const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How long the content of files is cached. The kubelet replaces a token long before it expires. */
const REMEMBER_MS = 10_000;

/** Access of a pod with its service account. Token and CA are read again when the kubelet rotates them. */
export async function inClusterAccess(options: InClusterOptions): Promise<ClusterAccess> {
  const directory = options.directory ?? SERVICE_ACCOUNT_DIRECTORY;
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
  const namespace = await readFile(`${directory}/namespace`, 'utf8').catch(() => undefined);

  async function read(): Promise<Credentials> {
    const [authorization, ca] = await Promise.all([
      bearerIn(`${directory}/token`),
      readFile(`${directory}/ca.crt`, 'utf8'),
    ]);
    return { headers: { authorization }, tls: { ca } };
  }

  const remembered = rememberFor(REMEMBER_MS, read);
  await remembered.get();
  return {
    server: `https://${host}:${options.port}`,
    ...(namespace !== undefined && { namespace: namespace.trim() }),
    credentials: remembered.get,
    refresh: remembered.forget,
  };
}

/**
 * Access by a kubeconfig file: certificates, tokens, token files, exec plug-ins and OIDC. The file and the files that it names
 * are read again after the server has rejected their credentials. Throws an Error with the file's name for unsupported fields: a
 * proxy, impersonated groups, a plug-in that needs a terminal.
 */
export async function loadKubeConfigFile(options: {
  readonly path: string;
  readonly context?: string;
}): Promise<ClusterAccess> {
  let source = await openKubeConfig(options);
  let isRefused = false;

  async function read(): Promise<Credentials> {
    // client-node caches a plug-in's token until it expires, even after the server has rejected it.
    if (isRefused) source = await openKubeConfig(options);
    isRefused = false;
    return credentialsOf(source);
  }

  const remembered = rememberFor(REMEMBER_MS, read);
  await remembered.get();
  const { server, namespace } = source;
  return {
    server: server.replace(/(?<!\/)\/+$/, ''),
    ...(namespace !== undefined && { namespace }),
    credentials: remembered.get,
    refresh() {
      isRefused = true;
      remembered.forget();
    },
  };
}

/** The fields of a kubeconfig's user that client-node ignores, by their names in the file. */
interface RawUser {
  readonly tokenFile?: string;
  readonly 'as-groups'?: unknown;
  readonly 'as-uid'?: unknown;
  readonly 'as-user-extra'?: unknown;
  readonly exec?: ExecPlugin;
}

interface ExecPlugin {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly interactiveMode?: string;
}

interface KubeConfigSource {
  readonly config: KubeConfig;
  readonly server: string;
  readonly namespace: string | undefined;
  readonly tokenFile: string | undefined;
  readonly exec: ExecPlugin | undefined;
}

async function openKubeConfig({ path, context }: { path: string; context?: string }): Promise<KubeConfigSource> {
  const { KubeConfig: Config } = await import('@kubernetes/client-node/dist/config.js').catch((cause: unknown) => {
    const why =
      'the image of Davit cannot read kubeconfig files, because it has no package @kubernetes/client-node. Unset DAVIT_KUBECONFIG to use the service account of the pod, or start Davit from a clone of its repository';
    throw new Error(`load ${path}: ${why}`, { cause });
  });
  const config = new Config();
  config.loadFromFile(path);
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`load ${path}: no context ${config.getCurrentContext()}`);
  const refuse = (what: string): never => {
    throw new Error(`load ${path}: ${what}`);
  };
  if (cluster.proxyUrl !== undefined)
    refuse('proxy-url is not supported; use a server that can be reached without a proxy');
  const current = config.getContextObject(config.getCurrentContext());
  const user = await rawUser(path, current?.user);
  for (const field of ['as-groups', 'as-uid', 'as-user-extra'] as const) {
    // Sending requests with other rights than configured would be worse than failing.
    if (user[field] !== undefined) refuse(`${field} is not supported; for impersonation, only \`as\` is`);
  }
  if (user.exec?.interactiveMode === 'Always')
    refuse(`the plug-in ${user.exec.command} requires a terminal (interactiveMode: Always), but Davit has none`);
  const execUser = config.getCurrentUser() as { exec?: ExecPlugin } | null;
  if (user.exec !== undefined && execUser !== null) execUser.exec = withExecInfo(user.exec);
  return {
    config,
    server: cluster.server,
    namespace: current?.namespace,
    tokenFile: user.tokenFile === undefined ? undefined : resolve(dirname(path), user.tokenFile),
    exec: user.exec,
  };
}

async function rawUser(path: string, name: string | undefined): Promise<RawUser> {
  const raw = parseYaml(await readFile(path, 'utf8')) as {
    readonly users?: readonly { readonly name?: string; readonly user?: RawUser | null }[] | null;
  };
  return raw.users?.find((user) => user.name === name)?.user ?? {};
}

/** The environment tells a plug-in the version of the protocol, and whether it may prompt a person. */
function withExecInfo(exec: ExecPlugin): ExecPlugin {
  const info = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } };
  return { ...exec, env: [...(exec.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] };
}

async function credentialsOf({ config, tokenFile, exec }: KubeConfigSource): Promise<Credentials> {
  const found: HttpsOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(found as Parameters<typeof config.applyToHTTPSOptions>[0]);
  } catch (cause) {
    if (exec === undefined) throw cause;
    const why = cause instanceof Error ? cause.message.trim() : String(cause);
    const hint = exec.installHint === undefined ? '' : `\n${exec.installHint}`;
    throw new Error(`run the credential plug-in ${exec.command}: ${why}${hint}`, { cause });
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(found.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (found.auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(found.auth).toString('base64')}`;
  if (tokenFile !== undefined) headers['authorization'] = await bearerIn(tokenFile);
  return {
    headers,
    tls: {
      ...(found.ca !== undefined && { ca: String(found.ca) }),
      ...(found.cert !== undefined && { cert: String(found.cert) }),
      ...(found.key !== undefined && { key: String(found.key) }),
      ...(found.servername !== undefined && { servername: found.servername }),
      ...(found.rejectUnauthorized !== undefined && { rejectUnauthorized: found.rejectUnauthorized }),
    },
  };
}

/** A file that is being rewritten may be empty. Without a token every request would be anonymous and forbidden. */
async function bearerIn(tokenFile: string): Promise<string> {
  const token = (await readFile(tokenFile, 'utf8')).trim();
  if (token === '') throw new Error(`read ${tokenFile}: the file contains no token`);
  return `Bearer ${token}`;
}

/** The options that client-node sets. */
interface HttpsOptions {
  headers?: Record<string, unknown>;
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  auth?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** A cached read without concurrent executions. If a read fails, the last good result is kept. */
function rememberFor<T>(milliseconds: number, read: () => Promise<T>): { get(): Promise<T>; forget(): void } {
  let value: { readonly is: T; readonly at: number } | undefined;
  let reading: Promise<T> | undefined;
  let stale = false;

  async function renew(): Promise<T> {
    try {
      const is = await read();
      value = { is, at: performance.now() };
      stale = false;
      return is;
    } catch (error) {
      // A token file may be missing for a moment while the kubelet replaces it.
      if (value !== undefined) return value.is;
      throw error;
    } finally {
      reading = undefined;
    }
  }

  return {
    async get() {
      if (value !== undefined && !stale && performance.now() - value.at < milliseconds) return value.is;
      reading ??= renew();
      return reading;
    },
    forget() {
      stale = true;
    },
  };
}
