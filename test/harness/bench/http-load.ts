// A closed loop of clients over kept-alive connections, in a process of its own: each begins again when the answer to its
// last request has arrived whole. Plain sockets, so that it costs a fraction of what it measures.
//
//   node http-load.ts '{"url": "http://127.0.0.1:8080", "steps": [{"path": "/"}], ...}'   prints one line of JSON

import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Load {
  readonly url: string;
  /** What a client does in one turn, one after the other; its time is that of all of them. */
  readonly steps: readonly Step[];
  /** A turn is one of the steps instead, the next one each time, whichever client takes it. */
  readonly alternate?: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly clients: number;
  readonly seconds: number;
  /** Ends earlier, after so many turns. */
  readonly turns?: number;
  /** Not counted. */
  readonly warmUpSeconds?: number;
  /** PEM. */
  readonly ca?: string;
}

export interface Step {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  /** With `{n}` where each turn has a number of its own. */
  readonly body?: string;
}

export interface Loaded {
  readonly turns: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Fewest and most turns that one client got through. */
  readonly perClient: readonly [number, number];
  /** Of this process, for each second. */
  readonly cpuMsPerSecond: number;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** What has arrived of one answer. */
class Incoming {
  status = '';
  #head: Buffer = Buffer.alloc(0);
  #left = -1;
  #tail: Buffer = Buffer.alloc(0);
  size = 0;

  /** True when the answer is whole. */
  take(chunk: Buffer): boolean {
    this.size += chunk.length;
    if (this.status !== '') return this.#takeBody(chunk);
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf(HEADER_END);
    if (end < 0) return false;
    const head = this.#head.toString('latin1', 0, end);
    this.status = head.slice(9, 12);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#left = length === undefined ? (this.status === '204' ? 0 : -1) : Number(length);
    return this.#takeBody(this.#head.subarray(end + HEADER_END.length));
  }

  #takeBody(chunk: Buffer): boolean {
    if (this.#left >= 0) {
      this.#left -= chunk.length;
      return this.#left === 0;
    }
    this.#tail = chunk.length >= 5 ? chunk.subarray(-5) : Buffer.concat([this.#tail, chunk]).subarray(-5);
    return this.#tail.equals(LAST_CHUNK);
  }
}

export function run(load: Load): Promise<Loaded> {
  const { clients, seconds, warmUpSeconds = 0, steps, alternate = false } = load;
  const url = new URL(load.url);
  const requestOf = requestsTo(url, load.headers);
  const tally = makeTally(clients);
  let turns = 0;
  let over = false;
  const open = (): Socket =>
    url.protocol === 'https:'
      ? connectTls({ host: url.hostname, port: Number(url.port), ca: load.ca, servername: 'localhost' })
      : connectPlain({ host: url.hostname, port: Number(url.port), noDelay: true });

  return new Promise((resolve, reject) => {
    const sockets = Array.from({ length: clients }, (_, client) => {
      const socket = open();
      let incoming = new Incoming();
      let began = 0;
      let turn = 0;
      let step = 0;
      const ask = (): void => {
        incoming = new Incoming();
        socket.write(requestOf(steps[step] as Step, turn));
      };
      const begin = (): void => {
        if (over) return void socket.destroy();
        turn = turns++;
        step = alternate ? turn % steps.length : 0;
        began = performance.now();
        ask();
      };
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', begin);
      socket.on('data', (chunk: Buffer) => {
        if (!incoming.take(chunk)) return;
        tally.answered(incoming);
        step += 1;
        if (!alternate && step < steps.length) return ask();
        const counted = tally.turned(client, began);
        if (load.turns !== undefined && counted >= load.turns) finish();
        begin();
      });
      socket.on('error', reject);
      socket.on('close', () => {
        if (!over) reject(new Error(`${load.url} closed a connection`));
      });
      return socket;
    });
    const finish = (): void => {
      if (over) return;
      over = true;
      const loaded = tally.result();
      for (const socket of sockets) socket.destroy();
      resolve(loaded);
    };
    const count = (): void => {
      tally.start();
      // Not what keeps the process, should the turns be over before.
      setTimeout(finish, seconds * 1000).unref();
    };
    if (warmUpSeconds === 0) count();
    else setTimeout(count, warmUpSeconds * 1000);
  });
}

/** The text of a request; `{n}` in its body is the number of the turn. */
function requestsTo({ host }: URL, headers: Load['headers']): (step: Step, turn: number) => string {
  const fixed = Object.entries({ host, connection: 'keep-alive', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return ({ method = 'GET', path, body }, turn) => {
    if (body === undefined) return `${method} ${path} HTTP/1.1\r\n${fixed}\r\n`;
    const text = body.replaceAll('{n}', String(turn));
    return `${method} ${path} HTTP/1.1\r\n${fixed}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
}

interface Tally {
  /** What came before was the warm-up. */
  start(): void;
  answered(incoming: Incoming): void;
  /** How many turns are counted by now. */
  turned(client: number, began: number): number;
  result(): Loaded;
}

function makeTally(clients: number): Tally {
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const perClient = Array.from({ length: clients }, () => 0);
  let bytes = 0;
  let counting = false;
  let started = performance.now();
  let cpu = process.cpuUsage();
  return {
    start() {
      counting = true;
      started = performance.now();
      cpu = process.cpuUsage();
    },
    answered({ status, size }) {
      if (!counting) return;
      statuses[status] = (statuses[status] ?? 0) + 1;
      bytes += size;
    },
    turned(client, began) {
      if (!counting) return 0;
      perClient[client] = (perClient[client] ?? 0) + 1;
      return latencies.push(performance.now() - began);
    },
    result() {
      const took = (performance.now() - started) / 1000;
      const used = process.cpuUsage(cpu);
      const sorted = latencies.toSorted((a, b) => a - b);
      const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      return {
        turns: sorted.length,
        seconds: took,
        perSecond: sorted.length / took,
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        maxMs: sorted.at(-1) ?? 0,
        statuses,
        bytes,
        perClient: [Math.min(...perClient), Math.max(...perClient)],
        cpuMsPerSecond: (used.user + used.system) / 1000 / took,
      };
    },
  };
}

if (import.meta.main)
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as Load))}\n`);
