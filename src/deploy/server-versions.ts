// Asks PostgreSQL and Redis for their versions: each writes its version into its log when it starts. A log is read once for each start.

import { text } from 'node:stream/consumers';
import { LruMap } from 'toad-cache';
import type { StorePart } from '../kinds/meta.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { logPath } from '../runtime/kube/log-path.ts';
import type { Logger } from '../runtime/logger.ts';
import { type Server, serversToAsk, versionInLog } from './assess/datastores.ts';
import type { Observed } from './assess/observed.ts';

/** The first lines of a log; CloudNativePG writes many before the one of PostgreSQL. */
const BYTES_READ = 65_536;
/** A node that does not answer holds no report up for longer. */
const READ_WITHIN_MS = 2000;
/** Minimum interval between two looks into the log of one start. */
const ASK_EVERY_MS = 300_000;
const STARTS_REMEMBERED = 4000;

export interface ServerVersions {
  /** Versions that the status does not have yet. After a failure there is none. */
  of(observed: Observed, client: KubeClient, log: Logger): Promise<NonNullable<Observed['versions']>>;
}

export function makeServerVersions(now: () => Date): ServerVersions {
  /** By the uid of the pod and the start of its server: when it was asked. */
  const asked = new LruMap<number>(STARTS_REMEMBERED);

  async function ask({ part, pod, startedAt }: Server, client: KubeClient, log: Logger): Promise<string | undefined> {
    const { namespace = '', name, uid = '' } = pod.metadata;
    const start = `${uid} ${startedAt}`;
    if (now().getTime() - (asked.get(start) ?? -Infinity) < ASK_EVERY_MS) return undefined;
    // Recorded first, so that a failing request is not repeated in every pass.
    asked.set(start, now().getTime());
    try {
      const path = logPath(namespace, { pod: name, container: part, previous: false }, { limitBytes: `${BYTES_READ}` });
      return versionInLog(part, await text(client.stream(path, { signal: AbortSignal.timeout(READ_WITHIN_MS) })));
    } catch (err) {
      log.debug({ err, pod: name }, 'Could not read the log of a datastore');
      return undefined;
    }
  }

  return {
    of: async (observed, client, log) => {
      const said = await Promise.all(
        serversToAsk(observed).map(
          async (server): Promise<readonly [StorePart, string | undefined]> => [
            server.part,
            await ask(server, client, log),
          ],
        ),
      );
      return Object.fromEntries(said.filter((one): one is readonly [StorePart, string] => one[1] !== undefined));
    },
  };
}
