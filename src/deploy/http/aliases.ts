// Names that published clients have for names of this API. Requests may use either. Answers use the API's, and under /api-host those
// with which the deployment was created: such clients compare an answer with what they sent.

import type { FastifyRequest } from 'fastify';
import { isOfPublishedClient } from '../../api/published-urls.ts';
import { JsonText } from '../../api/validation.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { WORDS_ANNOTATION } from '../../kinds/meta.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { asObject, isObject } from '../../runtime/json-value.ts';

const WORDS: Readonly<Record<string, string>> = { github: 'codehost', dev_zero: 'dev', dev_free_zero: 'dev_free' };
const [CONFIG_PATH, CONFIG_PATH_ALIAS] = ['workflow_config_path', 'langgraph_config_path'];

const NO_AGENT = 'is not supported: send name, the name of one deployment';

const used = new WeakMap<FastifyRequest, string>();

/** The words of a request for which answers have others, separated by spaces. */
export function wordsOf(request: FastifyRequest): string {
  return used.get(request) ?? '';
}

/** preValidation of every request with a deployment. If both names are present, the API's takes precedence. */
export function readAliases(request: FastifyRequest, _reply: unknown, done: (error?: HttpError) => void): void {
  const { body } = request;
  if (!isObject(body)) return done();
  if (isObject(body['agent']) && body['name'] === undefined)
    return done(new HttpError(422, [{ loc: ['body', 'agent'], msg: NO_AGENT, type: 'value_error' }]));
  const { source_config: config, source_revision_config: revision } = body;
  const words = [
    ...['source', 'revision_source'].map((field) => read(body, field)),
    isObject(config) ? read(config, 'deployment_type') : undefined,
  ];
  used.set(request, words.filter((word) => word !== undefined).join(' '));
  if (isObject(revision) && Object.hasOwn(revision, CONFIG_PATH_ALIAS)) {
    revision[CONFIG_PATH] ??= revision[CONFIG_PATH_ALIAS];
    delete revision[CONFIG_PATH_ALIAS];
  }
  done();
}

/** Replaces the word of a field. Returns the word; undefined for any other value. */
function read(object: Record<string, unknown>, field: string): string | undefined {
  const word = object[field];
  if (typeof word !== 'string' || !Object.hasOwn(WORDS, word)) return undefined;
  object[field] = WORDS[word];
  return word;
}

type Done = (error: null, payload?: unknown) => void;

/** preSerialization of answers with deployments and revisions. */
export function answerInWords(
  recordOf: (id: string) => AppDeployment | undefined,
): (request: FastifyRequest, reply: unknown, payload: unknown, done: Done) => void {
  return (request, _reply, payload, done) => {
    if (!isOfPublishedClient(request)) return done(null, payload);
    const answer: unknown = payload instanceof JsonText ? JSON.parse(payload.text.toString()) : payload;
    const { deployment_id: id } = request.params as { readonly deployment_id?: string };
    const inWords = (one: unknown): unknown => {
      if (!isObject(one) || !isObject(one['source_revision_config'])) return one;
      // A revision has no source_config.
      return withWords(one, recordOf(isObject(one['source_config']) ? String(one['id']) : (id?.toLowerCase() ?? '')));
    };
    const resources = isObject(answer) && Array.isArray(answer['resources']) && answer['resources'].map(inWords);
    done(null, resources ? { ...(answer as object), resources } : inWords(answer));
  };
}

function withWords(one: Readonly<Record<string, unknown>>, record: AppDeployment | undefined): object {
  const words = record?.metadata.annotations?.[WORDS_ANNOTATION]?.split(' ') ?? [];
  const said = (value: unknown): unknown => words.find((word) => WORDS[word] === value) ?? value;
  const config = asObject(one['source_config']);
  const revision = asObject(one['source_revision_config']);
  return {
    ...one,
    source: said(one['source']),
    ...('source_config' in one && {
      source_config: { ...config, deployment_type: said(config['deployment_type']) },
    }),
    source_revision_config: { ...revision, [CONFIG_PATH_ALIAS]: revision[CONFIG_PATH] },
  };
}
