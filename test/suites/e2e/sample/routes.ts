// The sample's HTTP interface: which path means what, and what is answered. Knows nothing of sockets.
import { randomUUID } from 'node:crypto';
import type { Config, Environment } from './config.ts';
import { showEnvironment } from './environment.ts';
import { type Queue, QueueUnavailable } from './queue.ts';
import { type Store, StoreUnavailable } from './store.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Parts {
  readonly config: Config;
  readonly env: Environment;
  readonly store: Store;
  readonly queue: Queue;
  /** Both the database and Redis have answered, and the pod is not on its way out. */
  isReady(): boolean;
  exit(code: number, message: string): void;
}

export class BadRequest extends Error {}

type Handler = (request: Request, argument: string) => Promise<Answer> | Answer;

const maxTextLength = 100_000;

export function makeRoutes(parts: Parts): (request: Request) => Promise<Answer> {
  const { config, store, queue } = parts;
  const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
    '/': { GET: greet },
    '/ok': { GET: () => (parts.isReady() ? ok({ ok: true }) : answer(503, { ok: false })) },
    '/env': { GET: () => ok({ role: config.role, pod: config.pod, environment: showEnvironment(parts.env) }) },
    '/items': { GET: async () => ok(await store.listItems()), POST: addItem },
    '/items/:': { GET: getItem },
    '/jobs': { POST: addJob },
    '/jobs/:': { GET: getJob },
    '/exit': { POST: exit },
  };

  async function greet(): Promise<Answer> {
    const { deploymentName: name, revision, role } = config;
    return ok({ name, revision, role, items: await store.countItems() });
  }

  async function addItem({ body }: Request): Promise<Answer> {
    return answer(201, await store.addItem(parseText(body)));
  }

  async function getItem(_: Request, id: string): Promise<Answer> {
    const item = /^\d{1,15}$/.test(id) ? await store.getItem(Number(id)) : undefined;
    return item === undefined ? notFound(`no item ${id}`) : ok(item);
  }

  async function addJob({ body }: Request): Promise<Answer> {
    const job = { id: randomUUID(), text: parseText(body) };
    // First the row, so that whoever asks for a job finds it, then the queue; a job lost between is queued again.
    await store.addJob(job);
    await queue.push(job);
    return answer(202, { id: job.id });
  }

  async function getJob(_: Request, id: string): Promise<Answer> {
    const job = await store.getJob(id);
    return job === undefined ? notFound(`no job ${id}`) : ok(job);
  }

  function exit({ body }: Request): Answer {
    const { code, message } = parseExit(body);
    parts.exit(code, message);
    return answer(202, { code, message });
  }

  return async (request) => {
    const { pattern, argument } = patternOf(request.path);
    const methods = routes[pattern];
    if (methods === undefined) return notFound(`no such path ${request.path}`);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handler === undefined) {
      const allow = Object.keys(methods).join(', ');
      return answer(405, { error: `${request.method} is not one of ${allow}` }, { allow });
    }
    try {
      return await handler(request, argument);
    } catch (error) {
      if (error instanceof BadRequest) return answer(400, { error: error.message });
      if (error instanceof StoreUnavailable || error instanceof QueueUnavailable) {
        return answer(503, { error: error.message }, { 'retry-after': '1' });
      }
      throw error;
    }
  };
}

/** `/items/7` is the pattern `/items/:` with the argument `7`. */
export function patternOf(path: string): { pattern: string; argument: string } {
  const [, collection, argument] = /^(\/[a-z]+)\/([^/]+)$/.exec(path) ?? [];
  if (collection === undefined || argument === undefined) return { pattern: path, argument: '' };
  return { pattern: `${collection}/:`, argument };
}

export function parseText(body: string): string {
  const { text } = parseObject(body);
  if (typeof text !== 'string' || text === '') throw new BadRequest('"text" must be a string that is not empty');
  if (text.length > maxTextLength) throw new BadRequest(`"text" must not be longer than ${maxTextLength}`);
  // PostgreSQL's text holds every character but this one.
  if (text.includes('\0')) throw new BadRequest('"text" must not contain a NUL character');
  return text;
}

export function parseExit(body: string): { code: number; message: string } {
  const { code = 1, message = '' } = parseObject(body === '' ? '{}' : body);
  if (typeof code !== 'number' || !Number.isInteger(code) || code < 0 || code > 255) {
    throw new BadRequest('"code" must be a whole number from 0 to 255');
  }
  if (typeof message !== 'string') throw new BadRequest('"message" must be a string');
  return { code, message };
}

function parseObject(body: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new BadRequest('the body is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequest('the body must be a JSON object');
  }
  return value as Record<string, unknown>;
}

function answer(status: number, body: object, headers?: Readonly<Record<string, string>>): Answer {
  return { status, body, ...(headers !== undefined && { headers }) };
}

function ok(body: object): Answer {
  return answer(200, body);
}

function notFound(error: string): Answer {
  return answer(404, { error });
}
