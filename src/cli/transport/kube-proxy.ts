// A client of the API server with the kubeconfig's own credentials, whatever they are: kubectl proxy adds them.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../runtime/kube/client.ts';
import type { ClusterAccess } from '../../runtime/kube/config.ts';
import { serving } from './kubectl.ts';

/**
 * Starts `kubectl proxy`, which ends with this program. Only this user can reach it: it listens on a socket in a folder of mode 0700, or
 * on Windows, whose Node.js has no such sockets, below a path of 128 random bits. Throws Failure with kubectl's message.
 */
export async function proxiedClient(flags: readonly string[], program = 'kubectl'): Promise<KubeClient> {
  const place = process.platform === 'win32' ? secretPath() : await socketInFolder();
  const args = [...flags, 'proxy', ...place.flags];
  const { found: address } = await serving(args, /^Starting to serve on (.+)$/m, { program, after: place.remove });
  const { server, tls } = place.access(address);
  // Loaded late: most commands that print help or complete a word reach no cluster.
  const { makeKubeClient } = await import('../../runtime/kube/http-client.ts');
  const access = { server, credentials: async () => ({ headers: {}, tls }), refresh: () => undefined };
  return makeKubeClient({ access, userAgent: 'kubectl-davit' });
}

interface Place {
  readonly flags: readonly string[];
  readonly access: (
    address: string,
  ) => Pick<ClusterAccess, 'server'> & { readonly tls: { readonly socketPath?: string } };
  readonly remove: () => void;
}

async function socketInFolder(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-'));
  const socketPath = join(folder, 'kubectl.sock');
  return {
    flags: [`--unix-socket=${socketPath}`],
    access: () => ({ server: 'http://localhost', tls: { socketPath } }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function secretPath(): Place {
  const prefix = `/${randomBytes(16).toString('hex')}/`;
  return {
    flags: ['--port=0', `--api-prefix=${prefix}`],
    access: (address) => ({ server: `http://${address}${prefix.slice(0, -1)}`, tls: {} }),
    remove: () => undefined,
  };
}
