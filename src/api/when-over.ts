// When an answer is over: it was read, or its connection is closed.

import type { FastifyReply } from 'fastify';

/**
 * Calls `over` once: now, if the connection is closed already. Fastify's onResponse is not called for an answer that is not sent
 * completely, and Node reports no end of an answer that waited behind others when its connection closed.
 */
export function whenOver({ raw, request }: FastifyReply, over: () => void): void {
  const { socket } = request.raw;
  if (raw.destroyed || socket.destroyed) return over();
  const end = (): void => {
    raw.off('close', end);
    socket.off('close', end);
    over();
  };
  raw.once('close', end);
  // One for each answer of a pipeline.
  socket.setMaxListeners(0).once('close', end);
}
