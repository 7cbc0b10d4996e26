// The man in the middle: a TLS reverse proxy between one controller and the API server. It names every write and
// counts every watch event, keeps a trace, and commits the one fault that its plan asks for.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAuthority } from '../../cluster/certificates.ts';
import { DAVIT_NAMESPACE } from '../../support/platform.ts';
import { longestStall } from './event-loop-lag.ts';
import { WITHOUT_ROLE_BINDING } from './namespace-deletion.ts';
import type { Fault } from './plans.ts';
import type { Actor } from './run-processes.ts';
import { cutList, delayOfLine, deniedStatus, ghost } from './watch-faults.ts';

export interface TracedWrite {
  /** `create/apply deployments shop#1`: phase, verb, resource, name without what is random, and how often by now. */
  readonly label: string;
  readonly actor: Actor;
  readonly resource: string;
  readonly verb: string;
  readonly at: number;
  readonly body: Record<string, unknown>;
  status: number;
}

export interface Trace {
  readonly writes: TracedWrite[];
  /** Writes that an outage has refused, as `create/apply deployments shop`; not among `writes`. */
  readonly refused: { readonly what: string; readonly at: number }[];
  /** Answered lists of events, by what they were asked for. */
  readonly eventLists: { readonly of: string; readonly at: number }[];
  /** Everything but leases, lists and watches. */
  requests: number;
  lists: number;
  watches: number;
  leases: number;
  /** Events that were told; they are not among the writes. */
  events: number;
  /** When any write but a lease's came last, events included. */
  lastWriteAt: number;
  /** When the last lease request that was answered with success arrived. */
  renewedAt: number;
  /** Who held the lease, one after the other, and from when on. */
  readonly holders: { readonly actor: Actor; readonly at: number }[];
  /** Writes that came when the lease was another's, or had not been renewed for its whole duration. */
  readonly withoutLease: string[];
  fired: boolean;
  /** When the fault that ends or freezes a process came about. */
  firedAt: number | undefined;
}

export interface Proxy {
  /** Each process has a port of its own, by which its requests are known. */
  urlFor(actor: Actor): string;
  /** PEM. */
  readonly ca: string;
  readonly trace: Trace;
  /** Names the part of the workload that the writes from now on belong to. */
  enter(phase: string): void;
  /** The first token that was seen is answered with 401 from now on. */
  refuseOldToken(): void;
  /** Shows certificates of another authority from now on, whose own it returns as PEM, and breaks every connection. */
  rotateAuthority(): string;
  /** Forbids from now on what the chart grants by a RoleBinding in a listed namespace. */
  takeRoleBinding(): void;
  /** Breaks every connection, and accepts none until `mendLink`. */
  cutLink(): void;
  mendLink(): void;
  /** Lists and watches go to this server, and lists ask it for whatever it remembers; watches under way are ended. */
  turnTo(server: string | undefined): void;
  close(): void;
}

export interface ProxyOptions {
  readonly server: string;
  readonly ca: string;
  readonly fault: Fault;
  readonly leaseMs: number;
  /** Where leases of Davit's namespace are kept instead, so that runs side by side do not compete for one. */
  readonly leaseNamespace?: string;
  /** What somebody does just before a write that the plan names. */
  readonly race?: () => Promise<void>;
  readonly actors: readonly Actor[];
  /** Ends the process: without a word, or asking it to. */
  readonly kill: (actor: Actor, signal: 'SIGKILL' | 'SIGTERM') => void;
  /** Freezes the process for so long. */
  readonly pause: (actor: Actor, ms: number) => void;
  /** What else is to happen before the write that the fault names is sent on. */
  readonly atWrite: (actor: Actor) => Promise<void>;
  /** Told of every write, by its label, before it is sent on. */
  readonly onWrite?: (label: string, actor: Actor) => void;
}

/** Longer than the lease by as much as the other needs to take it and to get to work. */
const PAUSE_MS = 4000;

interface Asked {
  readonly resource: string;
  readonly name: string;
  readonly namespace: string;
  readonly verb: string;
  readonly isWrite: boolean;
  readonly version: bigint;
  /** The page after another one. */
  readonly continues: boolean;
  /** A list of what bears one record's name. */
  readonly ofOne: boolean;
  readonly fieldSelector: string;
}

/** A watch that is open now. */
interface OpenWatch {
  readonly resource: string;
  readonly namespace: string;
  /** Of the last line. */
  version: bigint;
  write(lines: string): void;
  /** Ends it as the API server does when the history is gone. */
  expire(): void;
}

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

const GAP_MS = 400;
/** Each is two events: five thousand a second. */
const GHOSTS_AT_ONCE = 25;
const MS_BETWEEN_GHOSTS = 10;

const authority = makeAuthority('fault proxy');
const serving = authority.serving('127.0.0.1', ['127.0.0.1']);

export function emptyTrace(): Trace {
  return {
    writes: [],
    refused: [],
    eventLists: [],
    requests: 0,
    lists: 0,
    watches: 0,
    leases: 0,
    events: 0,
    lastWriteAt: 0,
    renewedAt: 0,
    holders: [],
    withoutLease: [],
    fired: false,
    firedAt: undefined,
  };
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const { fault } = options;
  const upstream = new URL(options.server);
  const agent = new Agent({ keepAlive: true, ca: options.ca, maxSockets: 256 });
  const trace = emptyTrace();
  const seen = new Map<string, number>();
  const events = new Map<string, number>();
  /** Of a resource: the version up to which its history is gone, as after a compaction. */
  const compacted = new Map<string, bigint>();
  const sockets = new Set<Socket>();
  const watching = new Set<ServerResponse>();
  let lagging: URL | undefined;
  const watches = new Set<OpenWatch>();
  /** The watch has ended with 410; the next list is the one to tamper with. */
  let listIsNext = false;
  let deniedAt: number | undefined;
  /** Of `watch-gap`: nothing is swallowed any more. */
  let isGapOver = false;
  let isOutageOver = false;
  /** When the last line of any watch came. */
  let toldAt = -Infinity;
  let phase = '';
  let firstToken: string | undefined;
  let isFirstTokenRefused = false;
  let isRoleBindingGone = false;
  let isCut = false;
  const entered = new Map<string, number>();

  function forward(request: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { host: _, ...headers } = request.headers;
      const { verb } = classify(request);
      const { hostname: host, port } = lagging !== undefined && READS.has(verb) ? lagging : upstream;
      const path = lagging !== undefined && verb === 'list' ? fromMemory(request.url) : request.url;
      const outgoing = httpsRequest({ host, port, agent, method: request.method, path, headers }, resolve);
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  async function forwardWhole(request: IncomingMessage, body: Buffer): Promise<Answer> {
    const response = await forward(request, body);
    return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
  }

  function count({ resource, verb }: Asked): void {
    if (resource === 'leases') trace.leases += 1;
    else if (verb === 'watch') trace.watches += 1;
    else if (verb === 'list') trace.lists += 1;
    else trace.requests += 1;
  }

  async function handle(actor: Actor, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = classify(request);
    const body = await buffer(request);
    firstToken ??= request.headers.authorization;
    if (isFirstTokenRefused && request.headers.authorization === firstToken) {
      trace.fired = true;
      return refuse(response, 401, 'Unauthorized');
    }
    count(asked);
    if (asked.resource === 'leases' && !READS.has(asked.verb)) return lease(actor, request, body, response);
    if (isRoleBindingGone && !WITHOUT_ROLE_BINDING.has(asked.resource)) {
      trace.fired = true;
      return refuse(response, 403, 'Forbidden');
    }
    if (asked.verb === 'watch') return watch(asked, request, response);
    if (fault.kind === 'slow') await sleep(fault.ms ?? 150);
    if (fault.kind === 'outage' && isOut(fault)) {
      trace.fired = true;
      if (asked.isWrite && asked.resource !== 'events')
        trace.refused.push({ what: nameOfWrite(actor, asked, body), at: performance.now() });
      return refuse(response, fault.status, 'InternalError');
    }
    if (asked.isWrite) return write(actor, asked, request, body, response);
    if (asked.verb === 'list') return list(asked, request, response);
    answer(response, await forwardWhole(request, body));
  }

  /** An outage that is over stays over. */
  function isOut({ phase: of, ms = 1500, quietMs = 0 }: Extract<Fault, { readonly kind: 'outage' }>): boolean {
    const outAt = entered.get(of);
    if (outAt === undefined || isOutageOver) return false;
    const now = performance.now();
    isOutageOver = now - outAt >= ms && now - toldAt >= quietMs;
    return !isOutageOver;
  }

  /** Lists that were cut after the first one. */
  let cutAgain = 0;

  async function list(asked: Asked, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const again = fault.kind === 'relist-empty' ? (fault.times ?? 1) - 1 : 0;
    const isMeant = 'resource' in fault && fault.resource === asked.resource && (!trace.fired || cutAgain < again);
    const isGone = fault.kind === 'list-410' || (fault.kind === 'relist-410' && listIsNext && asked.continues);
    if (isMeant && isGone) {
      trace.fired = true;
      return refuse(response, 410, 'Expired');
    }
    if (asked.resource === 'events') {
      trace.eventLists.push({ of: asked.fieldSelector, at: performance.now() });
      if (fault.kind === 'events-refused') {
        trace.fired = true;
        return refuse(response, 500, 'InternalError');
      }
    }
    const answered = await forwardWhole(request, Buffer.alloc(0));
    if (isUnseen(asked) && answered.status === 200)
      return answer(response, { ...answered, body: cutList(answered.body, 'relist-empty') });
    const isCut = fault.kind === 'relist-short' || fault.kind === 'relist-empty';
    if (!isMeant || !isCut || !listIsNext || answered.status !== 200) return answer(response, answered);
    if (trace.fired) cutAgain += 1;
    trace.fired = true;
    answer(response, { ...answered, body: cutList(answered.body, fault.kind) });
  }

  /** To caches, not to who asks for one record. */
  function isUnseen({ resource, ofOne }: Asked): boolean {
    if (fault.kind !== 'blind-takeover' || trace.firedAt === undefined || ofOne) return false;
    return fault.resources.includes(resource) && performance.now() - trace.firedAt < (fault.ms ?? 3000);
  }

  /** What a cache has not seen by then it finds in a new list. */
  function endBlindness(resources: readonly string[]): void {
    for (const watch of watches) if (resources.includes(watch.resource)) watch.expire();
  }

  let lastTerm: string | undefined;
  async function lease(actor: Actor, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const arrived = performance.now();
    if (leaseIsBlocked(actor, arrived)) {
      trace.fired = true;
      return refuse(response, 503, 'ServiceUnavailable');
    }
    const answered = await forwardWhole(...elsewhere(request, body));
    if (request.method !== 'GET' && answered.status < 300) {
      trace.renewedAt = arrived;
      const term = termIn(body);
      if (term !== undefined && term !== lastTerm) {
        lastTerm = term;
        trace.holders.push({ actor, at: arrived });
      }
    }
    answer(response, answered);
  }

  /** The answer names the other namespace, which the process then uses itself. */
  function elsewhere(request: IncomingMessage, body: Buffer): [IncomingMessage, Buffer] {
    const { leaseNamespace } = options;
    if (leaseNamespace === undefined) return [request, body];
    request.url = request.url?.replace(`/namespaces/${DAVIT_NAMESPACE}/`, `/namespaces/${leaseNamespace}/`);
    if (body.length === 0) return [request, body];
    const text = body.toString().replace(`"namespace":"${DAVIT_NAMESPACE}"`, `"namespace":"${leaseNamespace}"`);
    const moved = Buffer.from(text);
    if (request.headers['content-length'] !== undefined) request.headers['content-length'] = String(moved.length);
    return [request, moved];
  }

  function leaseIsBlocked(actor: Actor, arrived: number): boolean {
    if (fault.kind !== 'leases-blocked' && fault.kind !== 'leader-cut') return false;
    const from = entered.get(fault.phase);
    if (from === undefined || arrived - from >= (fault.ms ?? 4000)) return false;
    return fault.kind === 'leases-blocked' || actor === 'a';
  }

  function nameOfWrite(actor: Actor, asked: Asked, body: Buffer): string {
    const who = actor === 'facade' ? 'facade ' : '';
    return `${phase}/${who}${asked.verb} ${asked.resource} ${asked.name || nameIn(body)}`
      .replaceAll(/\bbuild-[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, 'build-ID')
      .replaceAll(/--[0-9a-f]{8}\b/g, '--REV')
      .replaceAll(/--vars-[0-9a-z]+/g, '--vars-X')
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, 'ID')
      .replaceAll(/\bdavit-lsn-[0-9a-f]{8}/g, 'davit-lsn-X');
  }

  async function write(
    actor: Actor,
    asked: Asked,
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    trace.lastWriteAt = performance.now();
    if (asked.resource === 'events') {
      trace.events += 1;
      if (fault.kind === 'events-refused') {
        trace.fired = true;
        return refuse(response, 500, 'InternalError');
      }
      return answer(response, await forwardWhole(request, body));
    }
    const what = nameOfWrite(actor, asked, body);
    const count = (seen.get(what) ?? 0) + 1;
    seen.set(what, count);
    const traced: TracedWrite = {
      label: `${what}#${count}`,
      actor,
      resource: asked.resource,
      verb: asked.verb,
      at: trace.lastWriteAt,
      body: parsed(body),
      status: 0,
    };
    trace.writes.push(traced);
    options.onWrite?.(traced.label, actor);
    // After so long another could hold it.
    const mayWrite = actor === 'facade' || trace.holders.at(-1)?.actor === actor;
    const silentMs = trace.lastWriteAt - trace.renewedAt - longestStall();
    if (!mayWrite || (actor !== 'facade' && silentMs > options.leaseMs))
      trace.withoutLease.push(`${traced.label} (${actor})`);
    if (fault.kind === 'denied' && isDenied(asked)) {
      trace.fired = true;
      traced.status = fault.status;
      return send(response, fault.status, deniedStatus(asked.resource, asked.name || nameIn(body), fault.status));
    }
    const hit = 'at' in fault && fault.at === traced.label && (!trace.fired || fault.kind === 'refused');
    if (!hit) return finish(traced, response, await forwardWhole(request, body));
    trace.fired = true;
    trace.firedAt = trace.lastWriteAt;
    const crash = (): void => options.kill(actor, 'SIGKILL');
    switch (fault.kind) {
      case 'crash-before':
        crash();
        return void response.destroy();
      case 'crash-lost':
        traced.status = (await forwardWhole(request, body)).status;
        crash();
        return void response.destroy();
      case 'crash-after':
        finish(traced, response, await forwardWhole(request, body));
        return void setTimeout(crash, 3);
      case 'leader-killed':
        finish(traced, response, await forwardWhole(request, body));
        return void setTimeout(crash, 3);
      case 'blind-takeover':
        finish(traced, response, await forwardWhole(request, body));
        setTimeout(endBlindness, fault.ms ?? 3000, fault.resources);
        return void setTimeout(crash, 3);
      case 'leader-stopped':
        finish(traced, response, await forwardWhole(request, body));
        return options.kill(actor, 'SIGTERM');
      case 'namespace-deleted':
      case 'stale-server':
        await options.atWrite(actor);
        return finish(traced, response, await forwardWhole(request, body));
      case 'leader-paused':
        // Its answer is the first thing that it finds when it wakes up.
        options.pause(actor, fault.ms ?? PAUSE_MS);
        return finish(traced, response, await forwardWhole(request, body));
      case 'lost':
        traced.status = (await forwardWhole(request, body)).status;
        return void response.destroy();
      case 'lost-blind':
        traced.status = (await forwardWhole(request, body)).status;
        return void response.destroy();
      case 'refused':
        return refuse(response, fault.status ?? 500, fault.status === 409 ? 'Conflict' : 'InternalError');
      case 'refused-committed':
        traced.status = (await forwardWhole(request, body)).status;
        return refuse(response, fault.status ?? 500, 'InternalError');
      case 'throttled':
        return refuse(response, 429, 'TooManyRequests', { 'retry-after': '1' });
      case 'raced':
        await options.race?.();
        return finish(traced, response, await forwardWhole(request, body));
      case 'throttled-long':
        return refuse(response, 429, 'TooManyRequests', { 'retry-after': '6' });
    }
  }

  function isDenied({ resource, verb }: Asked): boolean {
    if (fault.kind !== 'denied' || fault.resource !== resource || verb === 'delete') return false;
    deniedAt ??= performance.now();
    return performance.now() - deniedAt < (fault.ms ?? 1500);
  }

  function finish(traced: TracedWrite, response: ServerResponse, answered: Answer): void {
    traced.status = answered.status;
    answer(response, answered);
  }

  async function watch(asked: Asked, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { resource } = asked;
    if (fault.kind === 'connect-410' && fault.resource === resource && !trace.fired) {
      trace.fired = true;
      return refuse(response, 410, 'Expired');
    }
    if (asked.version < (compacted.get(resource) ?? 0n)) return refuse(response, 410, 'Expired');
    const source = await forward(request, Buffer.alloc(0));
    watching.add(response);
    response.once('close', () => {
      watching.delete(response);
      source.destroy();
    });
    response.writeHead(source.statusCode ?? 502, { 'content-type': source.headers['content-type'] ?? '' });
    response.flushHeaders();
    const gone = `${JSON.stringify({ type: 'ERROR', object: statusObject(410, 'Expired') })}\n`;
    const open: OpenWatch = {
      resource,
      namespace: asked.namespace,
      version: asked.version,
      write: (lines) => {
        if (!response.writableEnded) response.write(lines);
      },
      expire: () => {
        if (!response.writableEnded) response.end(gone);
      },
    };
    watches.add(open);
    response.once('close', () => watches.delete(open));
    let rest = '';
    let silent = false;
    /** Lines that were late are written one after another, and the end after the last of them. */
    let written = Promise.resolve();
    source.setEncoding('utf8');
    for await (const chunk of source as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (silent || line === '') continue;
        open.version = BigInt(versionIn(line));
        const what = deed(resource, line);
        if (what === 'swallow') continue;
        if (what === 'silence') silent = true;
        else if (what === 'gone') return open.expire();
        else if (what === 'cut') {
          response.write(line.slice(0, line.length / 2));
          response.destroy();
          return;
        } else
          written = writeLate(written, lateness(resource, what), () => {
            if (!response.writableEnded) response.write(`${line}\n`);
          });
      }
    }
    await written;
    if (!response.writableEnded) response.end();
  }

  /** How late a line is: by so much after the one before it, or, of shuffled kinds, after its own arrival. */
  function lateness(
    resource: string,
    what: 'pass' | 'delay',
  ): { readonly ms: number; readonly since: 'before' | 'now' } {
    if (what === 'delay') return { ms: fault.ms ?? 1000, since: 'before' };
    if (fault.kind !== 'shuffled' || phase === '') return { ms: 0, since: 'now' };
    trace.fired = true;
    return { ms: delayOfLine(fault.seed, resource, events.get(resource) ?? 0), since: 'now' };
  }

  /** After a time and not a number of lines: there may be no more of them, and a gap that nothing tells of is none of these. */
  function endGap(resource: string): void {
    isGapOver = true;
    for (const watch of watches) if (watch.resource === resource) watch.expire();
  }

  /** What becomes of one line of a watch. */
  function deed(resource: string, line: string): 'pass' | 'silence' | 'gone' | 'cut' | 'delay' | 'swallow' {
    const count = (events.get(resource) ?? 0) + 1;
    events.set(resource, count);
    toldAt = performance.now();
    if (fault.kind === 'lost-blind') {
      const blind = trace.fired && fault.at.includes(` ${resource.replace('/status', '')} `);
      return blind ? 'delay' : 'pass';
    }
    if (!('resource' in fault) || fault.resource !== resource || fault.kind === 'denied') return 'pass';
    if (fault.kind === 'watch-delay') {
      trace.fired = true;
      return 'delay';
    }
    if (phase === '' || count < (fault.event ?? 1) || (trace.fired && fault.kind !== 'watch-gap')) return 'pass';
    switch (fault.kind) {
      case 'watch-410':
        trace.fired = true;
        return 'gone';
      case 'relist-short':
      case 'relist-empty':
      case 'relist-410':
        if (listIsNext) return 'pass';
        listIsNext = true;
        return 'gone';
      case 'watch-cut':
        trace.fired = true;
        return 'cut';
      case 'watch-half-open':
        trace.fired = true;
        return 'silence';
      case 'watch-gap': {
        // Some events are never seen, and their history is gone: only a list can tell what happened.
        if (isGapOver) return 'pass';
        if (!trace.fired) setTimeout(endGap, GAP_MS, resource);
        trace.fired = true;
        compacted.set(resource, BigInt(versionIn(line)));
        return 'swallow';
      }
      default:
        return 'pass';
    }
  }

  /** What lasts from the beginning of a phase on. */
  async function begin(): Promise<void> {
    if (fault.kind === 'compactions') {
      for (let time = 0; time < fault.times; time += 1) {
        await sleep(fault.every);
        trace.fired = true;
        for (const watch of watches) watch.expire();
      }
    }
    if (fault.kind === 'event-storm') {
      const end = performance.now() + (fault.ms ?? 2000);
      for (let serial = 0; performance.now() < end; serial += GHOSTS_AT_ONCE) {
        await sleep(MS_BETWEEN_GHOSTS);
        for (const { resource, namespace, version, write: send } of watches) {
          if (resource !== 'pods') continue;
          trace.fired = true;
          for (let one = 0; one < GHOSTS_AT_ONCE; one += 1) send(ghost(namespace, String(version), serial + one));
        }
      }
    }
  }

  async function serve(actor: Actor): Promise<Server> {
    const server = createServer({ key: serving.key, cert: serving.certificate }, (request, response) => {
      handle(actor, request, response).catch(() => response.destroy());
    });
    server.on('secureConnection', (socket) => {
      if (isCut) socket.destroy();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return server;
  }
  const servers = new Map(await Promise.all(options.actors.map(async (actor) => [actor, await serve(actor)] as const)));
  return {
    urlFor(actor) {
      const address = servers.get(actor)?.address() as AddressInfo;
      return `https://127.0.0.1:${address.port}`;
    },
    ca: authority.certificate,
    trace,
    enter(name) {
      phase = name;
      entered.set(name, performance.now());
      if ('phase' in fault && fault.phase === name) void begin();
    },
    refuseOldToken() {
      isFirstTokenRefused = true;
    },
    rotateAuthority() {
      trace.fired = true;
      const next = makeAuthority('fault proxy, rotated');
      const { key, certificate: cert } = next.serving('127.0.0.1', ['127.0.0.1']);
      for (const server of servers.values()) server.setSecureContext({ key, cert });
      for (const socket of sockets) socket.destroy();
      return next.certificate;
    },
    takeRoleBinding() {
      isRoleBindingGone = true;
    },
    cutLink() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mendLink() {
      isCut = false;
    },
    turnTo(other) {
      lagging = other === undefined ? undefined : new URL(other);
      for (const response of watching) response.destroy();
    },
    close() {
      for (const server of servers.values()) server.close();
      for (const socket of sockets) socket.destroy();
      agent.destroy();
    },
  };
}

const READS: ReadonlySet<string> = new Set(['list', 'watch']);

/** The same list, of whatever version the server has at hand; what Davit asks for is the newest. */
function fromMemory(path: string | undefined): string {
  const url = new URL(path ?? '/', 'https://x');
  url.searchParams.set('resourceVersion', '0');
  url.searchParams.delete('limit');
  return `${url.pathname}${url.search}`;
}

/** `/apis/apps/v1/namespaces/x/deployments/shop/status` and the like. */
function classify(request: IncomingMessage): Asked {
  const url = new URL(request.url ?? '/', 'https://x');
  const parts = url.pathname.split('/').filter((part) => part !== '');
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const isInNamespace = rest[0] === 'namespaces' && rest.length > 2;
  const inNamespace = isInNamespace ? rest.slice(2) : rest;
  const [plural = '', name = '', subresource] = inNamespace;
  const method = request.method ?? 'GET';
  const watching = url.searchParams.get('watch') !== null;
  const patch = request.headers['content-type']?.includes('apply') === true ? 'apply' : 'patch';
  // What leaves nothing behind is no write: nothing can be lost between it and its answer.
  const isDryRun = url.searchParams.get('dryRun') !== null;
  const verbs: Record<string, string> = { POST: 'create', PUT: 'update', DELETE: 'delete', PATCH: patch };
  return {
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    name,
    namespace: isInNamespace ? (rest[1] ?? '') : '',
    continues: url.searchParams.get('continue') !== null,
    fieldSelector: url.searchParams.get('fieldSelector') ?? '',
    ofOne: url.searchParams.get('labelSelector')?.includes('=') === true,
    verb: isDryRun ? 'try' : (verbs[method] ?? (watching ? 'watch' : name === '' ? 'list' : 'get')),
    // A review asks a question and writes nothing.
    isWrite: method !== 'GET' && !isDryRun && !plural.endsWith('reviews'),
    version: BigInt(url.searchParams.get('resourceVersion') || '0'),
  };
}

function parsed(body: Buffer): Record<string, unknown> {
  return body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
}

/** One leadership: its holder and when it began. A process that comes back under its name has another one. Undefined for a lease given back. */
function termIn(body: Buffer): string | undefined {
  const { holderIdentity = '', acquireTime = '' } = (parsed(body)['spec'] ?? {}) as Record<string, string>;
  return holderIdentity === '' ? undefined : `${holderIdentity} ${acquireTime}`;
}

function nameIn(body: Buffer): string {
  return (parsed(body)['metadata'] as { name?: string } | undefined)?.name ?? '';
}

function versionIn(line: string): string {
  const event = JSON.parse(line) as { object?: { metadata?: { resourceVersion?: string } } };
  return event.object?.metadata?.resourceVersion ?? '0';
}

function answer(response: ServerResponse, { status, headers, body }: Answer): void {
  const { 'transfer-encoding': _, connection: __, ...rest } = headers;
  response.writeHead(status, { ...rest, 'content-length': body.length });
  response.end(body);
}

function refuse(response: ServerResponse, code: number, reason: string, headers: Record<string, string> = {}): void {
  send(response, code, statusObject(code, reason), headers);
}

function send(response: ServerResponse, code: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function writeLate(
  before: Promise<void>,
  { ms, since }: { readonly ms: number; readonly since: 'before' | 'now' },
  write: () => void,
): Promise<void> {
  await (since === 'before' || ms === 0 ? before : Promise.all([before, sleep(ms)]));
  if (since === 'before') await sleep(ms);
  write();
}

function statusObject(code: number, reason: string): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `the fault proxy says ${reason}`,
  };
}
