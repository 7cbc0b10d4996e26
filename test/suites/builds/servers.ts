// HTTPS servers of a test that pods reach: on the machine's end of the link to the node, by a certificate for that address.

import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { makeAuthority } from '../../cluster/certificates.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { close, listen } from '../../support/http-servers.ts';

/** One authority for everything that builds meet, as a company has one. */
export const authority = makeAuthority('davit-builds');

/** A Secret with a certificate for these hosts, as a server mounts it. */
export function servingSecret(name: string, namespace: string, hosts: readonly string[]): object {
  const { certificate, key } = authority.serving(name, hosts);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name, namespace },
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  };
}

export interface Server {
  readonly url: string;
  close(): Promise<void>;
}

export async function serve(address: string, answer: RequestListener): Promise<Server> {
  const { certificate, key } = authority.serving('builds', [address]);
  const server = createServer({ cert: certificate, key }, answer);
  const port = await freePort(address);
  await listen(server, port, address);
  return {
    url: `https://${address}:${port}`,
    close: () => close(server),
  };
}
