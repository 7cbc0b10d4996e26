// A started cluster with Davit on it, as test files see it: vitest's global set-up starts it once in another process
// and provides strings; this makes them useful again.

import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tenant } from './platform.ts';
import type { SampleImages } from './sample-cluster.ts';

/** What a global set-up provides. Everything is plain JSON. */
export interface Provided {
  readonly apiUrl: string;
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  readonly server: string;
  readonly ca: string;
  readonly node: 'real' | 'stand-in';
  readonly images: SampleImages;
  /** API addresses of a code host that the platform may go to, and the key of its GitHub App; where a set-up starts one. */
  readonly codeHost?: { readonly github: string; readonly gitea: string; readonly privateKey: string };
  /** Folder of the processes' logs: `davit-controller.log` and `davit-api.log`. */
  readonly logs: string;
  /** Where tests ask the set-up to make a tenant or to kill a process. */
  readonly controlUrl: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    davit: Provided;
  }
}

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  readonly body: any;
  readonly headers: Headers;
}

export interface Attached extends Provided {
  /** Standard output; rejects with standard error when kubectl fails. */
  kubectl(args: readonly string[], input?: string | object): Promise<string>;
  kubectlJson<T>(args: readonly string[]): Promise<T>;
  call(tenant: Tenant, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A tenant namespace of this test's own. */
  tenant(name: string): Promise<Tenant>;
  /** Ends a process of Davit by SIGKILL; it is started again. */
  killPart(part: 'controller' | 'api'): Promise<void>;
}

export function attach(provided: Provided): Attached {
  function kubectl(args: readonly string[], input?: string | object): Promise<string> {
    return new Promise((resolve, reject) => {
      // What it remembers of a cluster, by address and port, is the cluster's own: another one may have had the port today.
      const KUBECACHEDIR = join(dirname(provided.kubeconfig), 'home/kube-cache');
      const env = { ...process.env, KUBECONFIG: provided.kubeconfig, KUBECACHEDIR };
      const child = execFile(provided.kubectlPath, args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
        if (error) reject(new Error(`kubectl ${args.join(' ')}: ${stderr || error.message}`));
        else resolve(stdout);
      });
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(typeof input === 'object' ? JSON.stringify(input) : (input ?? ''));
    });
  }

  const call = callsTo(provided.apiUrl);

  return {
    ...provided,
    kubectl,
    call,
    kubectlJson: async <T>(args: readonly string[]) => JSON.parse(await kubectl([...args, '-o', 'json'])) as T,
    tenant: async (name) => {
      const response = await fetch(`${provided.controlUrl}/tenant/${name}`, { method: 'POST' });
      const tenant = (await response.json()) as Tenant;
      // The facade knows a new namespace, and the authorizer its bindings, a moment later.
      await eventually(async () => {
        const { status } = await call(tenant, 'GET', '/v2/deployments');
        if (status !== 200) throw new Error(`tenant ${name} is not known yet: ${status}`);
      });
      return tenant;
    },
    killPart: async (part) => {
      await fetch(`${provided.controlUrl}/kill/${part}`, { method: 'POST' });
    },
  };
}

/** Calls the HTTP API at `apiUrl`, with a tenant's token and id. */
export function callsTo(apiUrl: string): Attached['call'] {
  return async (tenant, method, path, body, headers = {}) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: {
        'x-api-key': tenant.token,
        'x-tenant-id': tenant.id,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
  };
}

/** Tries until it does not throw, for at most `withinMs`; then throws what it threw last. */
export async function eventually<T>(attempt: () => Promise<T>, withinMs = 60_000, everyMs = 100): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const begun = Date.now();
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > end) throw error;
      // Three times what the attempt took: with a kubectl a time, three lanes that wait would keep the processors busy, and what is
      // waited for waits for them.
      await sleep(Math.max(everyMs, 3 * (Date.now() - begun)));
    }
  }
}
