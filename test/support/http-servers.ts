// Starts and stops HTTP servers of tests.

import type { Server, ServerResponse } from 'node:http';

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

/** Runs a handler, and answers 400 with what it throws: a rejection that nobody handles would end the process. */
export async function answering(response: ServerResponse, handler: () => Promise<void>): Promise<void> {
  try {
    await handler();
  } catch (error) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end(String(error));
  }
}
