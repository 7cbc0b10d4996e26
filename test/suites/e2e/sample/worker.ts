// Works the queue: takes jobs from Redis, writes their results into PostgreSQL with who did them.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import { errorText, type Log } from './log.ts';
import type { Queue } from './queue.ts';
import type { QueuedJob, Store } from './store.ts';

export interface Worker {
  /** Takes no more jobs, and waits for those taken. */
  stop(): Promise<void>;
}

const staleSeconds = 15;

/** The work: the text in capitals, backwards. */
export function work(text: string): string {
  return Array.from(text.toUpperCase()).reverse().join('');
}

export function startWorker(config: Config, store: Store, queue: Queue, log: Log): Worker {
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function finish({ id, text }: QueuedJob): Promise<void> {
    try {
      await store.finishJob(id, work(text), config.pod, config.role);
      log('info', 'Job done', { job: id });
    } catch (error) {
      // It stays pending, and is queued again when it is found stale.
      log('warn', 'Job not written', { job: id, error: errorText(error) });
    }
  }

  async function take(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (underWay.size >= config.jobs) {
        await Promise.race(underWay);
        continue;
      }
      try {
        const job = await queue.pop();
        if (job === undefined) continue;
        const one = finish(job).finally(() => underWay.delete(one));
        underWay.add(one);
      } catch (error) {
        if (stopping.signal.aborted) return;
        log('warn', 'Queue not read', { error: errorText(error) });
        await pause(1000);
      }
    }
  }

  async function requeueStale(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        for (const job of await store.takeStaleJobs(staleSeconds)) await queue.push(job);
      } catch (error) {
        log('warn', 'Stale jobs not queued again', { error: errorText(error) });
      }
      await pause(5000);
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  }

  const loops = [take(), requeueStale()];
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
      await Promise.all(underWay);
    },
  };
}
