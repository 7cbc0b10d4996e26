// A client that asks an address again and again from a pod, each time by a new connection.

import { expect } from 'vitest';
import { eventually } from '../../support/running-davit.ts';
import type { Stage } from '../backups/stage.ts';

export interface Told {
  readonly answered: number;
  readonly failed: number;
}

export interface Asker {
  told(): Promise<Told>;
  until(answered: number): Promise<void>;
  stop(): Promise<Told>;
}

const SCRIPT = `
const http = require('http');
let answered = 0, failed = 0;
const reasons = {};
setInterval(() => console.log(JSON.stringify({ answered, failed, reasons })), 500);
function fail(why) { failed += 1; reasons[why] = (reasons[why] ?? 0) + 1; }
function ask() {
  const request = http.get(process.env.ADDRESS, { agent: false, timeout: 5000 }, (answer) => {
    answer.resume();
    answer.on('end', () => (answer.statusCode < 500 ? (answered += 1) : fail(answer.statusCode)));
  });
  request.on('timeout', () => request.destroy(new Error('timeout')));
  request.on('error', (error) => fail(error.code ?? error.message));
}
setInterval(ask, 50);
`;

const POD = 'asker';

/** On the first node, which no test drains while it asks. */
export async function startAsker(stage: Stage, address: string): Promise<Asker> {
  await stage.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD, namespace: 'team' },
    spec: {
      nodeName: 'davit-node',
      restartPolicy: 'Never',
      containers: [
        {
          name: POD,
          image: stage.sample,
          imagePullPolicy: 'Never',
          command: ['node', '-e', SCRIPT],
          env: [{ name: 'ADDRESS', value: address }],
        },
      ],
    },
  });
  async function told(): Promise<Told> {
    return JSON.parse(await stage.kubectl('logs', POD, '--tail=1')) as Told;
  }
  return {
    told,
    async until(answered) {
      await eventually(async () => expect((await told()).answered).toBeGreaterThanOrEqual(answered), 120_000);
    },
    async stop() {
      const last = await told();
      await stage.kubectl('delete', 'pod', POD, '--grace-period=1');
      return last;
    },
  };
}
