// What a request asks for, read from its path, its parameters and its body.

import type { IncomingMessage } from 'node:http';

export interface Asked {
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

/** Verbs that a lagging server may answer. */
export const READS: ReadonlySet<string> = new Set(['list', 'watch']);

/** `/apis/apps/v1/namespaces/x/deployments/shop/status` and the like. */
export function classify(request: IncomingMessage): Asked {
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

export function parsed(body: Buffer): Record<string, unknown> {
  return body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
}

export function nameIn(body: Buffer): string {
  return (parsed(body)['metadata'] as { name?: string } | undefined)?.name ?? '';
}
