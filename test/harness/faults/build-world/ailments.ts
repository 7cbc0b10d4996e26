// What ails the servers of a build world.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** What ails a server: no answer at all, an answer that says no or makes no sense, or a late one. */
export type Ailment = 'down' | 'slow' | 'garbled' | 401 | 500 | 507 | undefined;

export interface Ailments {
  /** `api`: what the controller asks the code host; `file`: of that, the files of commits; `git`: what a pod fetches from it. */
  readonly ails: { api: Ailment; file: Ailment; git: Ailment; registry: Ailment };
  /** How often an ailment was met. */
  met(): number;
  /** Whether the request was dealt with. */
  meet(what: Ailment, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

const LATE_MS = 2000;

export function makeAilments(): Ailments {
  let met = 0;
  return {
    ails: { api: undefined, file: undefined, git: undefined, registry: undefined },
    met: () => met,
    async meet(what, request, response) {
      if (what === undefined) return false;
      met += 1;
      if (what === 'slow') {
        await sleep(LATE_MS);
        return false;
      }
      if (what === 'down') request.socket.destroy();
      else if (what === 'garbled') response.writeHead(200).end('<html>a page of something in between');
      else response.writeHead(what).end(JSON.stringify({ message: 'not today' }));
      return true;
    },
  };
}
