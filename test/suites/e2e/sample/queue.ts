// The work queue in Redis: a list that servers push to and workers pop from.
import { createClient } from 'redis';
import { errorText, type Log } from './log.ts';
import type { QueuedJob } from './store.ts';

export interface Queue {
  connect(): Promise<void>;
  push(job: QueuedJob): Promise<void>;
  /** The next job; nothing if none comes within a second. */
  pop(): Promise<QueuedJob | undefined>;
  close(): void;
}

/** Redis can't be asked just now. */
export class QueueUnavailable extends Error {}

const list = 'sample:jobs';

export function openQueue(uri: string, log: Log): Queue {
  const options = {
    url: uri,
    // Fail at once while Redis is away, rather than hold callers until it is back.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: 3000,
      reconnectStrategy: (tries: number) => Math.min(100 * 2 ** tries, 2000),
      // A pod that vanishes says no goodbye. With a ping every two seconds, silence means that it is gone.
      socketTimeout: 6000,
    },
    pingInterval: 2000,
  };
  const client = createClient(options);
  // A blocking pop keeps its connection to itself.
  const blocking = createClient(options);
  for (const one of [client, blocking]) {
    // Unheard, an error event would end this process; the client reconnects automatically.
    one.on('error', (error) => log('warn', 'Redis connection lost', { error: errorText(error) }));
  }

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw new QueueUnavailable('Redis does not answer', { cause: error });
    }
  }

  return {
    async connect() {
      await Promise.all([client, blocking].map((one) => one.connect()));
      await ask(() => client.ping());
    },
    async push(job) {
      await ask(() => client.lPush(list, JSON.stringify(job)));
    },
    async pop() {
      const popped = await ask(() => blocking.brPop(list, 1));
      return popped === null ? undefined : (JSON.parse(popped.element) as QueuedJob);
    },
    close() {
      client.destroy();
      blocking.destroy();
    },
  };
}
