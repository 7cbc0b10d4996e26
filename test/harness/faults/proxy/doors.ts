// Where processes knock: a port for each of them, the proxy's own authority, and connections that can be broken.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { makeAuthority } from '../../../cluster/certificates.ts';
import type { Actor } from './trace.ts';

export interface Doors {
  urlFor(actor: Actor): string;
  /** PEM. */
  readonly ca: string;
  /** Shows certificates of another authority from now on, whose own it returns as PEM, and breaks every connection. */
  rotateAuthority(): string;
  /** Breaks every connection, and accepts none until `mendLink`. */
  cutLink(): void;
  mendLink(): void;
  close(): void;
}

const authority = makeAuthority('fault proxy');
const serving = authority.serving('127.0.0.1', ['127.0.0.1']);

/** A connection whose request cannot be handled is broken. */
export async function openDoors(
  actors: readonly Actor[],
  handle: (actor: Actor, request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Doors> {
  const sockets = new Set<Socket>();
  let isCut = false;

  async function serve(actor: Actor): Promise<Server> {
    const server = createServer({ key: serving.key, cert: serving.certificate }, (request, response) => {
      handle(actor, request, response).catch(() => response.destroy());
    });
    server.on('secureConnection', (socket) => {
      if (isCut) socket.destroy();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return server;
  }
  const servers = new Map(await Promise.all(actors.map(async (actor) => [actor, await serve(actor)] as const)));

  function breakConnections(): void {
    for (const socket of sockets) socket.destroy();
  }

  return {
    urlFor(actor) {
      const address = servers.get(actor)?.address() as AddressInfo;
      return `https://127.0.0.1:${address.port}`;
    },
    ca: authority.certificate,
    rotateAuthority() {
      const next = makeAuthority('fault proxy, rotated');
      const { key, certificate: cert } = next.serving('127.0.0.1', ['127.0.0.1']);
      for (const server of servers.values()) server.setSecureContext({ key, cert });
      breakConnections();
      return next.certificate;
    },
    cutLink() {
      isCut = true;
      breakConnections();
    },
    mendLink() {
      isCut = false;
    },
    close() {
      for (const server of servers.values()) server.close();
      breakConnections();
    },
  };
}
