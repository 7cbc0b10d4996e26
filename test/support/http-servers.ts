// Starts and stops HTTP servers of tests.

import type { Server } from 'node:http';

/** Resolves when the server listens. Port 0 is any free port. */
export async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Resolves when the server and all its connections are closed. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
