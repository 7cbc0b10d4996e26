// A client of the API server with the kubeconfig's own credentials, whatever they are: kubectl proxy adds them.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../lib/kube/client.ts';
import type { ClusterAccess } from '../../lib/kube/config.ts';
import { endsWithThis, Failure } from './kubectl.ts';

/** Loaded late: most commands that print help or complete a word reach no cluster. */
async function clientOf(access: ClusterAccess): Promise<KubeClient> {
  const { makeKubeClient } = await import('../../lib/kube/http-client.ts');
  return makeKubeClient({ access, userAgent: 'kubectl-davit' });
}

/**
 * Starts `kubectl proxy`, which ends with this program. Only this user can reach it: it listens on a socket in a folder of mode 0700, or
 * on Windows, whose Node.js has no such sockets, below a path of 128 random bits. Throws Failure with kubectl's message.
 */
export async function proxiedClient(flags: readonly string[], program = 'kubectl'): Promise<KubeClient> {
  const place = process.platform === 'win32' ? secretPath() : await socketInFolder();
  const args = [...flags, 'proxy', ...place.flags];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  endsWithThis(child, place.remove);
  const address = await new Promise<string>((resolve, reject) => {
    let words = '';
    let out = '';
    child.on('error', (error) => reject(new Failure(`${program} could not be started: ${error.message}`)));
    child.on('close', (code) => reject(new Failure(words.trim() || `${program} proxy ended with ${code}`)));
    child.stderr.on('data', (chunk: Buffer) => (words = `${words}${chunk.toString('utf8')}`.slice(-4000)));
    child.stdout.on('data', (chunk: Buffer) => {
      out = `${out}${chunk.toString('utf8')}`.slice(-1000);
      const [, found] = /^Starting to serve on (.+)$/m.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const { server, tls } = place.access(address);
  return clientOf({ server, credentials: async () => ({ headers: {}, tls }), refresh: () => undefined });
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
