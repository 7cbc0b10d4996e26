// Aliases of published clients for names of this API. Requests may use either. Answers use the API's names.

import type { FastifyRequest } from 'fastify';
import { isObject } from '../../runtime/json-value.ts';

const SOURCES: Readonly<Record<string, string>> = { github: 'codehost' };
const REVISION_FIELDS: Readonly<Record<string, string>> = { langgraph_config_path: 'workflow_config_path' };

/** preValidation of every request with a deployment. If both names are present, the API's takes precedence. */
export function readAliases({ body }: FastifyRequest, _reply: unknown, done: () => void): void {
  if (isObject(body)) {
    for (const field of ['source', 'revision_source'])
      if (typeof body[field] === 'string') body[field] = aliased(SOURCES, body[field]);
    const revision = body['source_revision_config'];
    if (isObject(revision))
      for (const [alias, field] of Object.entries(REVISION_FIELDS))
        if (Object.hasOwn(revision, alias)) {
          revision[field] ??= revision[alias];
          delete revision[alias];
        }
  }
  done();
}

function aliased(aliases: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(aliases, word) ? (aliases[word] ?? word) : word;
}
