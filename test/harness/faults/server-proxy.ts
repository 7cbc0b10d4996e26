// The man in the middle between a controller and the shared PostgreSQL server. It names every statement that changes something, and commits
// the one fault that its plan asks for: at a statement, or for as long as the workload says. Without TLS, so that it can read.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** At a statement to the shared PostgreSQL server that changes something: not passed on, its answer lost, or refused; or SIGKILL. */
export interface ServerFault {
  readonly kind: 'server';
  /** As `create database#1`. */
  readonly statement: string;
  readonly does: 'broken' | 'lost' | 'full' | 'crash-before' | 'crash-lost' | 'crash-after';
  readonly ms?: number;
}

export interface ServerProxyOptions {
  /** Port of the server on 127.0.0.1. */
  readonly port: number;
  readonly strike: ServerFault | undefined;
  kill(): void;
  fired(): void;
}

export interface ServerProxy {
  readonly port: number;
  /** What was asked for that changes something, as `create database#1`, in the order of its arrival. */
  readonly statements: readonly string[];
  /** Nobody is connected any more, and new ones are refused or not answered, until it is told that it is `well`. */
  turn(how: Away | 'well'): void;
  close(): void;
}

export type Away = 'down' | 'hangs';

const CHANGES = /^(?:create|alter|comment|grant|revoke|drop)\b/i;
/** SQLSTATE disk_full. */
const FULL = '53100';

export async function startServerProxy(options: ServerProxyOptions): Promise<ServerProxy> {
  const statements: string[] = [];
  const counts = new Map<string, number>();
  const open = new Set<Socket>();
  let how: Away | 'well' = 'well';

  /** The label of a statement; undefined for one that changes nothing. */
  const nameOf = (text: string): string | undefined => {
    if (!CHANGES.test(text)) return undefined;
    const words = text.split(/\s+/, 2).join(' ').toLowerCase();
    const count = (counts.get(words) ?? 0) + 1;
    counts.set(words, count);
    const label = `${words}#${count}`;
    statements.push(label);
    return label;
  };

  const server = createServer((client) => {
    if (how === 'down') return void client.destroy();
    open.add(client);
    client.on('error', () => undefined);
    client.on('close', () => open.delete(client));
    if (how === 'hangs') return;
    const upstream = connect({ port: options.port, host: '127.0.0.1' });
    upstream.on('error', () => client.destroy());
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    relay(client, upstream, nameOf, options);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    statements,
    turn(next) {
      how = next;
      if (how !== 'well') for (const one of open) one.destroy();
      // Who was not answered would wait for longer than the server is away.
      if (how === 'well') for (const one of open) one.destroy();
    },
    close() {
      server.close();
      for (const one of open) one.destroy();
    },
  };
}

function relay(
  client: Socket,
  upstream: Socket,
  nameOf: (text: string) => string | undefined,
  { strike, kill, fired }: ServerProxyOptions,
): void {
  /** What is done when the server says that it is ready for the next statement. */
  let atAnswer: { readonly isTold: boolean; readonly act: () => void } | undefined;
  const breakOff = (): void => {
    client.destroy();
    upstream.destroy();
  };
  const acts: Readonly<Record<ServerFault['does'], (frame: Buffer) => void>> = {
    broken: breakOff,
    full: () => void client.write(refusal()),
    lost(frame) {
      atAnswer = { isTold: false, act: breakOff };
      upstream.write(frame);
    },
    'crash-before'() {
      kill();
      breakOff();
    },
    'crash-lost'(frame) {
      atAnswer = {
        isTold: false,
        act() {
          kill();
          breakOff();
        },
      };
      upstream.write(frame);
    },
    'crash-after'(frame) {
      atAnswer = { isTold: true, act: kill };
      upstream.write(frame);
    },
  };
  client.on(
    'data',
    inFrames(true, (frame, type) => {
      const text = type === 'Q' ? textOf(frame, 5) : type === 'P' ? textOf(frame, frame.indexOf(0, 5) + 1) : '';
      const label = nameOf(text);
      if (label === undefined || label !== strike?.statement) return void upstream.write(frame);
      fired();
      acts[strike.does](frame);
    }),
  );
  upstream.on(
    'data',
    inFrames(false, (frame, type) => {
      if (atAnswer === undefined || atAnswer.isTold) client.write(frame);
      if (type !== 'Z' || atAnswer === undefined) return;
      const { act } = atAnswer;
      atAnswer = undefined;
      act();
    }),
  );
}

/** Cuts a stream into messages. The first one of a client has no type. */
function inFrames(isOfClient: boolean, onFrame: (frame: Buffer, type: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = isOfClient;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      const frame = rest.subarray(0, length);
      rest = rest.subarray(length);
      onFrame(frame, isFirst ? '' : String.fromCharCode(frame[0] ?? 0));
      isFirst = false;
    }
  };
}

function textOf(frame: Buffer, from: number): string {
  return frame.toString('utf8', from, frame.indexOf(0, from));
}

/** An error, and that the next statement may come. */
function refusal(): Buffer {
  const fields = Buffer.from(`SERROR\0VERROR\0C${FULL}\0Mno space is left in the test\0\0`);
  const error = Buffer.alloc(5);
  error.write('E');
  error.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([error, fields, Buffer.from([0x5a, 0, 0, 0, 5, 0x49])]);
}
