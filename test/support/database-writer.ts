// A client that writes one row after the other and tries each again until it is acknowledged, in a pod of its own.

import { expect } from 'vitest';
import { eventually } from './running-davit.ts';

const LONG_MS = 420_000;

/** In the tenant's namespace, which is `team`. */
interface Stage {
  kubectl(...args: readonly string[]): Promise<string>;
  apply(object: object): Promise<void>;
}

/** What it was told at some moment: rows 1 to this one, and the longest time between two. */
export interface Written {
  readonly acknowledged: number;
  readonly pauseMs: number;
}

export interface Writer {
  count(): Promise<number>;
  until(rows: number): Promise<void>;
  stop(): Promise<Written>;
}

/** One connection at a time, and the number of a row is its key: a row that is tried again is there once. */
const SCRIPT = `
const { Client } = require('pg');
let acknowledged = 0, pauseMs = 0, last = Date.now();
const say = () => console.log(JSON.stringify({ acknowledged, pauseMs }));
setInterval(say, 500);
async function session() {
  const client = new Client({ connectionString: process.env.POSTGRES_URI, connectionTimeoutMillis: 2000, query_timeout: 4000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('create table if not exists kept (n int primary key)');
    for (;;) {
      await client.query('insert into kept values ($1) on conflict do nothing', [acknowledged + 1]);
      acknowledged += 1;
      pauseMs = Math.max(pauseMs, Date.now() - last);
      last = Date.now();
      if (Number(process.env.REST_MS) > 0) await new Promise((resolve) => setTimeout(resolve, Number(process.env.REST_MS)));
    }
  } catch { await new Promise((resolve) => setTimeout(resolve, 100)); }
  await client.end().catch(() => undefined);
}
(async () => { for (;;) await session(); })();
`;

/** Its pod has the labels by which the network policy lets it in. `restMs`: between two rows. */
export async function startWriter(stage: Stage, name: string, restMs = 0): Promise<Writer> {
  const pod = `writer-${name}`;
  const [server] = JSON.parse(
    await stage.kubectl('get', 'deployment', name, '-o', 'jsonpath=[{.spec.template.spec.containers[0]}]'),
  ) as { readonly image: string }[];
  await stage.kubectl('delete', 'pod', pod, '--ignore-not-found', '--grace-period=1');
  await stage.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: pod,
      namespace: 'team',
      labels: { 'davit.dev/deployment': name, 'davit.dev/component': 'task' },
    },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'writer',
          image: server?.image,
          imagePullPolicy: 'Never',
          workingDir: '/app',
          command: ['node', '-e', SCRIPT],
          env: [
            { name: 'POSTGRES_URI', valueFrom: { secretKeyRef: { name: `${name}--postgres`, key: 'uri' } } },
            { name: 'REST_MS', value: String(restMs) },
          ],
        },
      ],
    },
  });
  async function written(): Promise<Written> {
    const log = await stage.kubectl('logs', pod, '--tail=1');
    return JSON.parse(log) as Written;
  }
  const count = async (): Promise<number> => (await written()).acknowledged;
  return {
    count,
    async until(rows) {
      await eventually(async () => expect(await count()).toBeGreaterThanOrEqual(rows), LONG_MS);
    },
    async stop() {
      const told = await written();
      await stage.kubectl('delete', 'pod', pod, '--grace-period=1');
      return told;
    },
  };
}
