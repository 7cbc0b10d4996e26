// Counts the children on a server while an arm makes them. It must cost little: lines of the watches are counted and not
// read.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../../src/kinds/meta.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import { BUILT_IN_RESOURCES } from '../../../src/runtime/kube/api-resources.ts';
import { collectionPath } from '../../../src/runtime/kube/urls.ts';
import { until } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { LineCounter } from './line-counter.ts';

const RESOURCES = [...BUILT_IN_RESOURCES, APP_REVISIONS, TRACING_PROJECTS];
/** Without one more child for so long, nothing more is expected to come. */
const STALLED_AFTER_MS = 120_000;

export interface WatchedChildren {
  /** Objects of each kind that are there now. */
  counts(): ReadonlyMap<string, number>;
  /** Resolves as soon as there are so many of each kind; throws when nothing comes any more. */
  until(expected: ReadonlyMap<string, number>): Promise<Sighted>;
  close(): void;
}

/** When children were seen, in ms of performance.now(). */
export interface Sighted {
  readonly first: number;
  readonly last: number;
}

/** All namespaces and all records, unless it is said. */
export interface Where {
  readonly namespace?: string;
  readonly deployment?: string;
}

/** `kinds` with the deployment label. Resolves when every watch is open. */
export async function watchChildren(
  cluster: Cluster,
  kinds: Iterable<string>,
  where: Where = {},
): Promise<WatchedChildren> {
  const counters = new Map([...kinds].map((kind) => [kind, new LineCounter()]));
  const over = new AbortController();
  const listeners = new Set<() => void>();
  let broken: Error | undefined;
  let first: number | undefined;
  let last = performance.now();

  function heard(): void {
    last = performance.now();
    first ??= last;
    for (const listener of listeners) listener();
  }

  function broke(error: Error): void {
    if (over.signal.aborted) return;
    broken ??= error;
    for (const listener of listeners) listener();
  }

  await Promise.all(
    [...counters].map(async ([kind, counter]) => {
      const path = pathOf(kind, where);
      let stream: IncomingMessage | undefined;
      // A kind that was installed a moment ago is not served at once.
      await until(`a watch of ${kind}`, async () => {
        stream = await openWatch(cluster, path, over.signal);
      });
      if (stream === undefined) return;
      stream.on('error', broke);
      stream.on('end', () => broke(new Error(`the watch of ${kind} ended`)));
      stream.on('data', (chunk: Buffer) => counter.push(chunk) && heard());
    }),
  );
  const counts = (): Map<string, number> => new Map([...counters].map(([kind, { present }]) => [kind, present]));

  return {
    counts,
    until: (expected) =>
      new Promise((resolve, reject) => {
        function look(): void {
          const there = counts();
          const isAll = [...expected].every(([kind, count]) => (there.get(kind) ?? 0) >= count);
          const hasStalled = performance.now() - last > STALLED_AFTER_MS;
          if (!isAll && !hasStalled && broken === undefined) return;
          clearInterval(watchdog);
          listeners.delete(look);
          if (isAll) return resolve({ first: first ?? last, last });
          reject(broken ?? new Error(`not every child came: there are ${said(there)} of ${said(expected)}`));
        }
        const watchdog = setInterval(look, 1000);
        listeners.add(look);
        look();
      }),
    close: () => over.abort(),
  };
}

function said(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}

function pathOf(kind: string, { namespace, deployment }: Where): string {
  const resource = RESOURCES.find((one) => one.kind === kind);
  if (resource === undefined) throw new Error(`no resource is known for ${kind}`);
  const selector = deployment === undefined ? DEPLOYMENT_LABEL : `${DEPLOYMENT_LABEL}=${deployment}`;
  return `${collectionPath('watch', resource, namespace)}?labelSelector=${encodeURIComponent(selector)}`;
}

function openWatch({ server, ca, adminToken }: Cluster, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${adminToken}` };
    // Without a resourceVersion it begins with what is there.
    const url = new URL(`${path}&watch=true&timeoutSeconds=7200`, server);
    const sent = request(url, { ca, headers, signal, agent: false }, (answer) => {
      if (answer.statusCode === 200) return resolve(answer);
      reject(new Error(`watch ${path}: ${answer.statusCode}`));
    });
    sent.on('error', reject);
    sent.end();
  });
}
