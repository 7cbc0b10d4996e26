// Answers of an API server: objects, and the lines of a watch.

import { Unavailable } from '../errors.ts';
import { apiVersionOf } from './api-resources.ts';
import type { KubeObject, Resource, WatchEvent } from './client.ts';
import { errorFromStatus } from './errors.ts';

/** The lines of a body. An incomplete last line is an error: the connection was closed in the middle of it. */
export async function* lines(
  doing: string,
  body: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of body) {
    onBytes();
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      const line = parts.join('');
      parts = [];
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < text.length) parts.push(text.slice(start));
  }
  if (parts.join('').trim() !== '')
    throw new Unavailable(`${doing}: the connection was closed in the middle of a line`);
}

export function watchEvent<T extends KubeObject>(doing: string, resource: Resource, line: string): WatchEvent<T> {
  const event = parse(doing, line) as { readonly type?: unknown; readonly object?: unknown };
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type: event.type, object: typed<T>(resource, event.object) };
    case 'ERROR':
      throw errorFromStatus(doing, event.object);
    default:
      throw new Unavailable(`${doing}: a line is not a watch event`);
  }
}

/** The object with its resource's kind: list items have none, and metadata has kind PartialObjectMetadata. */
export function typed<T extends KubeObject>(resource: Resource, value: unknown): T {
  const object = value as { apiVersion: string; kind: string };
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  return object as T;
}

/** Some resources answer a delete with the deleted object; it still exists only if finalizers or a grace period hold it. */
export function stillThere(resource: Resource, answer: unknown): KubeObject | undefined {
  const object = answer as KubeObject & { readonly metadata?: { readonly deletionGracePeriodSeconds?: number } };
  if (object.kind === 'Status' || object.metadata?.deletionTimestamp === undefined) return undefined;
  const held = (object.metadata.finalizers?.length ?? 0) > 0 || (object.metadata.deletionGracePeriodSeconds ?? 0) > 0;
  return held ? typed(resource, object) : undefined;
}

export function parse(doing: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Unavailable(`${doing}: the answer is not valid JSON`, { cause });
  }
  if (typeof value !== 'object' || value === null) throw new Unavailable(`${doing}: the answer is not an object`);
  return value;
}
