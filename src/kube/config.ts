// Where the API server is and who we are to it. @kubernetes/client-node is used for kubeconfig files alone, and
// loaded only then: even its config.js pulls in every generated model (85 MB), which a pod in the cluster never needs.

import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';

/** What one request carries: headers that say who is asking, and how TLS is spoken. */
export interface Credentials {
  /** Authorization, Impersonate-User; nothing else. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsSettings;
}

export interface TlsSettings {
  readonly ca?: string;
  /** Client certificate and key: they are credentials, and never used for somebody else's token. */
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** An API server and the way to it. */
export interface ClusterAccess {
  /** https://host:port, perhaps with a path. */
  readonly server: string;
  /** The namespace that the configuration names as its own. */
  readonly namespace?: string;
  /** The credentials of the moment; cheap to call for every request. Rotated files are seen within seconds. */
  credentials(): Promise<Credentials>;
  /** Forget what was remembered: the server has just refused it. */
  refresh(): void;
}

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string;
  readonly port: string | number;
  readonly directory?: string;
}

const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How long files are trusted before they are read again: the kubelet swaps a token long before it expires. */
const REMEMBER_MS = 10_000;

/** Access of a pod by its service account. Token and CA are read again as the kubelet rotates them. */
export async function inClusterAccess(options: InClusterOptions): Promise<ClusterAccess> {
  const directory = options.directory ?? SERVICE_ACCOUNT_DIRECTORY;
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
  const namespace = await readFile(`${directory}/namespace`, 'utf8').catch(() => undefined);

  async function read(): Promise<Credentials> {
    const [token, ca] = await Promise.all([
      readFile(`${directory}/token`, 'utf8'),
      readFile(`${directory}/ca.crt`, 'utf8'),
    ]);
    return { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } };
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

/** Access by a kubeconfig file: certificates, tokens, token files, exec plug-ins and OIDC, as client-node does them. */
export async function loadKubeConfigFile(options: {
  readonly path: string;
  readonly context?: string;
}): Promise<ClusterAccess> {
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  config.loadFromFile(options.path);
  if (options.context !== undefined) config.setCurrentContext(options.context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`load ${options.path}: no context ${config.getCurrentContext()}`);
  if (cluster.proxyUrl !== undefined) throw new Error(`load ${options.path}: proxy-url is not supported`);

  async function read(): Promise<Credentials> {
    const found: HttpsOptions = { headers: {} };
    await config.applyToHTTPSOptions(found as Parameters<typeof config.applyToHTTPSOptions>[0]);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(found.headers ?? {})) headers[name.toLowerCase()] = String(value);
    if (found.auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(found.auth).toString('base64')}`;
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

  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  const remembered = rememberFor(REMEMBER_MS, read);
  await remembered.get();
  return {
    server: cluster.server.replace(/\/+$/, ''),
    ...(namespace !== undefined && { namespace }),
    credentials: remembered.get,
    refresh: remembered.forget,
  };
}

/** What client-node fills in. */
interface HttpsOptions {
  headers?: Record<string, unknown>;
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  auth?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** One read at a time, its result kept for a while; a failed read keeps the last good result rather than nothing. */
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
      // A token file is missing for an instant while the kubelet swaps it.
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
