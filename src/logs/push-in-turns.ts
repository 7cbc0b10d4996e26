// Feeds what containers wrote to a sink without keeping the event loop: a piece of a few kilobytes may have thousands of lines.

import { turns } from '../runtime/http/turns.ts';
import type { LineSink } from './lines.ts';

/** Bytes between two questions whether the turn is over. */
const STEP = 8 * 1024;

/** false: no later line of this container can be on the page. */
export async function pushInTurns(sink: LineSink, piece: Uint8Array): Promise<boolean> {
  for (let at = 0; at < piece.length; at += STEP) {
    const over = turns.over();
    if (over !== undefined) await over;
    if (!sink.push(piece.subarray(at, at + STEP))) return false;
  }
  return true;
}
