// A TCP connection between two clusters that a test can cut, slow down and reset. It forwards bytes and does not read them.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TcpLink {
  /** Where to connect instead of the target. */
  readonly port: number;
  /**
   * Loses all packets, as a firewall does that has forgotten its connections: nobody is told. Connections from before stay silent
   * also after `heal`.
   */
  cut(): void;
  /** Forwards the bytes of new connections. */
  heal(): void;
  /** Delays everything from now on by this time in each direction. */
  slow(milliseconds: number): void;
  /** Resets all connections. New ones are forwarded. */
  reset(): void;
  close(): Promise<void>;
}

/** A link to `server`, an https URL with a port on this machine. */
export async function openLink(server: string): Promise<TcpLink> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  const lost = new WeakSet<Socket>();
  let isCut = false;
  let delayMs = 0;

  function forward(from: Socket, to: Socket): void {
    // One after the other, so that bytes keep their order when the delay changes.
    let last = Promise.resolve();
    const later = (act: () => void): void => {
      last = last.then(async () => {
        if (delayMs > 0) await sleep(delayMs);
        act();
      });
    };
    from.on('data', (bytes) => later(() => void (lost.has(from) || to.destroyed || to.write(bytes))));
    from.on('end', () => later(() => void (lost.has(from) || to.end())));
    from.on('close', () => {
      sockets.delete(from);
      if (!lost.has(from)) to.destroy();
    });
    from.on('error', () => undefined);
  }

  const listening = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      if (isCut) lost.add(socket);
    }
    forward(near, far);
    forward(far, near);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));

  return {
    port: (listening.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of sockets) lost.add(socket);
    },
    heal() {
      isCut = false;
    },
    slow(milliseconds) {
      delayMs = milliseconds;
    },
    reset() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listening.close(resolve));
    },
  };
}
