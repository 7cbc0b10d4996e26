// The proxy in front of a PostgreSQL that is played: what is passed on, and what comes of each fault.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type ServerFault, startServerProxy } from './server-proxy.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function message(type: string, body: string): Buffer {
  const text = Buffer.from(body);
  const head = Buffer.alloc(type.length + 4);
  head.write(type);
  head.writeInt32BE(4 + text.length, type.length);
  return Buffer.concat([head, text]);
}

const READY = message('Z', 'I');

interface Played {
  readonly client: Socket;
  /** Texts that the server was asked for. */
  readonly asked: string[];
  readonly answers: () => string;
  readonly kills: () => number;
  readonly statements: readonly string[];
}

/** Asks for the texts one after the other, each in two pieces, until the connection ends or all are answered. */
async function played(texts: readonly string[], strike?: Omit<ServerFault, 'kind'>): Promise<Played> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const [, text = ''] of chunk.toString('latin1').matchAll(/Q[^]{4}([^\0]+)\0/g)) {
        asked.push(text);
        socket.write(Buffer.concat([message('C', 'DONE\0'), READY]));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let kills = 0;
  const proxy = await startServerProxy({
    port: (server.address() as AddressInfo).port,
    strike: strike && { kind: 'server', ...strike },
    kill: () => {
      kills += 1;
    },
    fired: () => undefined,
  });
  const client = connect({ port: proxy.port, host: '127.0.0.1' });
  closing.push(
    () => client.destroy(),
    () => proxy.close(),
    () => server.close(),
  );
  let answers = '';
  client.on('error', () => undefined);
  client.on('data', (chunk) => {
    answers += chunk.toString('latin1');
  });
  client.write(message('', 'startup'));
  for (const text of texts) {
    const before = answers.split('Z').length;
    const whole = message('Q', `${text}\0`);
    client.write(whole.subarray(0, 3));
    client.write(whole.subarray(3));
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    while (!client.closed && answers.split('Z').length === before)
      await new Promise((resolve) => setImmediate(resolve));
  }
  return { client, asked, answers: () => answers, kills: () => kills, statements: proxy.statements };
}

const TEXTS = ['select 1', 'create role "a"', 'create role "b"'];

it('passes everything on, and names what changes something', async () => {
  const { asked, statements, answers, kills } = await played(TEXTS);
  expect([asked, statements, answers().match(/DONE/g)?.length, kills()]).toEqual([
    TEXTS,
    ['create role#1', 'create role#2'],
    3,
    0,
  ]);
});

it.each([
  { does: 'broken', passed: 2, answered: 2, closed: true, kills: 0 },
  { does: 'crash-before', passed: 2, answered: 2, closed: true, kills: 1 },
  { does: 'lost', passed: 3, answered: 2, closed: true, kills: 0 },
  { does: 'crash-lost', passed: 3, answered: 2, closed: true, kills: 1 },
  { does: 'crash-after', passed: 3, answered: 3, closed: false, kills: 1 },
  { does: 'full', passed: 2, answered: 2, closed: false, kills: 0 },
] as const)(
  '$does: $passed statements arrive, $answered are answered',
  async ({ does, passed, answered, closed, kills }) => {
    const run = await played(TEXTS, { statement: 'create role#2', does });
    expect([run.asked.length, run.answers().match(/DONE/g)?.length, run.client.closed, run.kills()]).toEqual([
      passed,
      answered,
      closed,
      kills,
    ]);
    expect(run.answers().includes('53100')).toBe(does === 'full');
  },
);
