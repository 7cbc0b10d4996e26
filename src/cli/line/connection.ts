// How to reach Davit's HTTP API: an address and a token that are given, or what the kubeconfig has, through a forwarded port.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Connection } from '../transport/http-api.ts';
import { Failure, type Forwarded, isMissing, type Kubectl } from '../transport/kubectl.ts';
import { Misuse } from './command.ts';

export interface ConnectionOptions {
  /** --server or DAVIT_SERVER. */
  readonly server?: string | undefined;
  /** --token or DAVIT_TOKEN. */
  readonly token?: string | undefined;
  /** --namespace. */
  readonly namespace?: string | undefined;
  /** --context and --user. */
  readonly context?: string | undefined;
  readonly user?: string | undefined;
  /** --as, which a token cannot do. */
  readonly impersonated?: string | undefined;
  /** Namespace of Davit's own Service. */
  readonly davitNamespace: string;
  /** Environment of programs that the kubeconfig names. */
  readonly environment: NodeJS.ProcessEnv;
}

export interface Cluster {
  readonly kubectl: Kubectl;
  /** Forwards a free local port to a port of a Service. */
  readonly forward: (namespace: string, service: string, port: number) => Promise<Forwarded>;
}

const SERVICE = 'davit-api';
/** A program of the kubeconfig that gives a token may ask a person to log in. */
const CREDENTIALS_MS = 120_000;

/** The port that is forwarded lasts until its pod ends, or as long as the program. */
export async function connect(cluster: Cluster, options: ConnectionOptions): Promise<Connection> {
  if (options.impersonated !== undefined) {
    const other =
      ' Without --server and DAVIT_SERVER, --as works with the kubeconfig, except for deploy FOLDER and logs --build.';
    throw new Misuse(
      `--as works only with kubectl. Davit's HTTP API identifies the user by the token: leave out --as, and pass a token of that user with --token.${options.server === undefined ? '' : other}`,
    );
  }
  const kubeconfig = await readKubeconfig(cluster.kubectl, options);
  const namespace = options.namespace ?? kubeconfig.namespace;
  const token = options.token ?? (await tokenOf(kubeconfig, options));
  const own = { token, ...(namespace !== undefined && { namespace }) };
  if (options.server !== undefined) {
    const again = { isOver: () => false, connect: () => connect(cluster, options) };
    return { server: serverOf(options.server), ...own, ...(options.token === undefined && { again }) };
  }
  const { scheme, port } = await serviceOf(cluster.kubectl, options.davitNamespace);
  const forwarded = await cluster.forward(options.davitNamespace, SERVICE, port).catch((error: unknown) => {
    throw unreached(options.davitNamespace, error);
  });
  let isOver = false;
  void forwarded.ended.then(() => (isOver = true));
  return {
    server: `${scheme}://127.0.0.1:${forwarded.port}`,
    ...own,
    again: {
      isOver: () => isOver,
      connect() {
        forwarded.close();
        return connect(cluster, options);
      },
    },
    // The certificate is for another name. The API server has chosen the pod, and the way there is its own.
    ...(scheme === 'https' && { tls: { rejectUnauthorized: false } }),
  };
}

function serverOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Misuse(`--server must be an address such as https://davit.example.com, not "${given}".`);
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
}

interface ServicePort {
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

async function serviceOf(kubectl: Kubectl, namespace: string): Promise<ServicePort> {
  const args = ['get', 'service', SERVICE, `--namespace=${namespace}`, '-o', 'json'];
  const text = await kubectl(args).catch((error: unknown) => {
    throw unreached(namespace, error);
  });
  const { spec } = JSON.parse(text) as { spec: { ports: readonly { name: string; port: number }[] } };
  const [found] = spec.ports;
  return { scheme: found?.name === 'https' ? 'https' : 'http', port: found?.port ?? 443 };
}

function unreached(namespace: string, error: unknown): Failure {
  const words = error instanceof Error ? error.message : String(error);
  return new Failure(
    `Davit's HTTP API cannot be reached through the Service ${SERVICE} in namespace ${namespace}: ${words}\nName its address with --server or DAVIT_SERVER, or its namespace with --davit-namespace.`,
  );
}

interface User {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly exec?: {
    readonly apiVersion?: string;
    readonly command: string;
    readonly args?: readonly string[] | null;
    readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
    readonly provideClusterInfo?: boolean;
  };
}
interface Kubeconfig {
  readonly user: User | undefined;
  readonly namespace: string | undefined;
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
}
interface Named {
  readonly name: string;
}
interface RawKubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?:
    | readonly (Named & {
        readonly context: { readonly user?: string; readonly cluster?: string; readonly namespace?: string };
      })[]
    | null;
  readonly users?: readonly (Named & { readonly user: User })[] | null;
  readonly clusters?: readonly (Named & { readonly cluster: Readonly<Record<string, unknown>> })[] | null;
}

/** Empty where there is no kubeconfig, and, if an address is given, where there is no kubectl. */
async function readKubeconfig(kubectl: Kubectl, { server, token, ...options }: ConnectionOptions): Promise<Kubeconfig> {
  const text = await kubectl(['config', 'view', '--raw', '-o', 'json']).catch((error: unknown) => {
    if (server === undefined || (token === undefined && !isMissing(error))) throw error;
    return '{}';
  });
  const raw = JSON.parse(text) as RawKubeconfig;
  const chosen = options.context ?? raw['current-context'];
  const context = raw.contexts?.find(({ name }) => name === chosen)?.context;
  const userName = options.user ?? context?.user;
  return {
    user: raw.users?.find(({ name }) => name === userName)?.user,
    // As kubectl takes it. Where an address and a token are given, the context may be of another cluster: the API chooses the only tenant.
    namespace: context?.namespace ?? (context && !(server && token) ? 'default' : undefined),
    cluster: raw.clusters?.find(({ name }) => name === context?.cluster)?.cluster,
  };
}

async function tokenOf({ user, cluster }: Kubeconfig, { environment }: ConnectionOptions): Promise<string> {
  if (user?.token) return user.token;
  if (user?.tokenFile) return (await readFile(user.tokenFile, 'utf8')).trim();
  const token = user?.exec && (await tokenOfProgram(user.exec, cluster, environment));
  if (token) return token;
  throw new Failure(
    `The kubeconfig has no token for this context, and Davit's HTTP API takes no client certificate. Give a token:
  export DAVIT_TOKEN=$(kubectl create token ACCOUNT)
ACCOUNT is a service account that is bound to davit-editor in the namespace.`,
  );
}

/** As kubectl asks it (client.authentication.k8s.io). Undefined if it gives a certificate. */
async function tokenOfProgram(
  { apiVersion, command, args, env, provideClusterInfo = false }: NonNullable<User['exec']>,
  cluster: Kubeconfig['cluster'],
  environment: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const info = {
    apiVersion: apiVersion ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, ...(provideClusterInfo && { cluster }) },
  };
  try {
    const { stdout } = await promisify(execFile)(command, [...(args ?? [])], {
      timeout: CREDENTIALS_MS,
      env: {
        ...environment,
        ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
    });
    return (JSON.parse(stdout) as { readonly status?: { readonly token?: string } }).status?.token;
  } catch (error) {
    throw new Failure(
      `${command}, which the kubeconfig names, gave no token: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
