// Webhooks of code hosts: a sender that knows the integration's secret reports that a repository was pushed to. The controller then
// reads the commits from the code host, so a repeated, late or forged delivery cannot cause a wrong state.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FacadeContext } from '../../../api/collection.ts';
import { textOf, throwAsOurs } from '../../../api/organization-secrets.ts';
import { whenOver } from '../../../api/when-over.ts';
import { repositoryOfUrl } from '../../../deploy/record/code-host.ts';
import {
  CODE_HOST_INTEGRATIONS,
  type CodeHostIntegration,
  WEBHOOK_SECRET_KEY,
} from '../../../kinds/code-host-integration.ts';
import { UUID_PATTERN } from '../../../kinds/primitives.ts';
import { makeFairLimiter } from '../../../runtime/controller/fair-limiter.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { stringAt } from '../../../runtime/http/json-scan.ts';
import { retryOnConflict } from '../../../runtime/http/merge-patch.ts';
import { type Turns, turns } from '../../../runtime/http/turns.ts';
import type { KubeClient } from '../../../runtime/kube/client.ts';
import { makeRemembered } from '../../../runtime/remembered.ts';

/** GitHub sends at most 25 MB. A push of two thousand commits needs one or two. */
const LARGEST_BODY = 10 * 1024 * 1024;
/** Bodies up to this size need no slot: a connection costs as much. Otherwise senders that never end could hold all slots of an address. */
const SMALL_BODY = 64 * 1024;
/** Concurrent larger bodies in memory. The group is the sender's address. */
const SLOTS = { most: 4, mostOfGroup: 2, always: 0, mostWaiting: 64, mostWaitingOfGroup: 32 };
/** How long a secret is cached: a flood of unsigned webhooks must not become one of requests to the API server. */
const REMEMBERED_MS = 10_000;
const FAILED_MS = 1000;
const MOST_PUSHES = 100;
const WEBHOOK_FIELD_MANAGER = 'davit-webhook';

const SENDER: unique symbol = Symbol('webhook sender');

interface Sender {
  readonly integration: CodeHostIntegration;
  readonly secret: string;
  readonly signature: Buffer;
}

declare module 'fastify' {
  interface FastifyRequest {
    [SENDER]: Sender | undefined;
  }
}

export function registerWebhooks(app: FastifyInstance, context: FacadeContext): void {
  // A separate scope without a JSON parser, because the signature covers the body's bytes.
  void app.register(async (scope) => registerPost(scope, context));
}

function registerPost(app: FastifyInstance, { kube, caches, secrets, now, count }: FacadeContext): void {
  const { integrations, records } = caches;
  const remembered = makeRemembered<string | undefined>({ now, forMs: REMEMBERED_MS, failedMs: FAILED_MS });
  const slots = makeFairLimiter(SLOTS);
  app.decorateRequest(SENDER, undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => body);

  function secretOf({ metadata, spec }: CodeHostIntegration): Promise<string | undefined> {
    const { name } = spec.credentialsRef;
    return remembered(
      `${metadata.uid} ${name}`,
      async () => textOf(await secrets.read(name), WEBHOOK_SECRET_KEY)?.trim() || undefined,
    );
  }

  /** The same error for every cause: it must not reveal which integrations exist, and which have a secret. */
  async function senderOf(request: FastifyRequest): Promise<Sender> {
    const { integration_id: id = '' } = request.params as Record<string, string>;
    const signature = signatureIn(request.headers);
    const integration = new RegExp(UUID_PATTERN).test(id) ? integrations.byUid(id.toLowerCase()) : undefined;
    if (signature === undefined || integration === undefined) return refuse(request);
    const secret = await secretOf(integration);
    if (secret === undefined) return refuse(request);
    return { integration, secret, signature };
  }

  /** Senders without a good signature share the limit of their address. Throws. */
  async function refuse(request: FastifyRequest): Promise<never> {
    await count(request);
    throw unsigned();
  }

  /** Waits for a slot, which is given back when the answer is over. Throws if the sender leaves before. */
  async function takeSlot({ ip }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const left = new AbortController();
    whenOver(reply, () => left.abort(new HttpError(503, 'The request was aborted.')));
    const giveBack = await (slots.take(ip, left.signal) ?? tooManyWebhooks());
    whenOver(reply, giveBack);
  }

  app.post('/v1/integrations/forge/codehost/:integration_id/webhook', {
    schema: { hide: true },
    bodyLimit: LARGEST_BODY,
    config: { countsLater: true },
    onRequest: async (request, reply) => {
      // Before the body is read.
      request[SENDER] = await senderOf(request);
      if (isSmall(request)) return;
      // The signature is checked only after up to 10 MiB were read and hashed.
      await count(request, `large webhooks ${request.ip}`);
      await takeSlot(request, reply);
    },
    handler: async (request, reply) => {
      const sender = request[SENDER];
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      if (sender === undefined || !(await isSignedBy(sender.secret, body, sender.signature, turns)))
        return refuse(request);
      await count(request, `webhook ${sender.integration.metadata.uid}`);
      const repository = isPush(request.headers) ? await repositoryPushed(body, turns) : undefined;
      if (repository === undefined || !isRepositoryBuilt(records, repository, sender.integration))
        return reply.code(204).send();
      await recordPush(kube, sender.integration, { repository, at: now().toISOString() });
      return reply.code(202).send({ repository });
    },
    errorHandler: (error, _request, reply) => {
      if ((error as { readonly statusCode?: number }).statusCode !== 413) throw error;
      void reply.code(413).send({
        detail: 'The webhook is larger than 10 MiB. Davit will find the push when it next polls the repository.',
      });
    },
  });
}

/** Whether a record builds pushes to this repository of the integration. */
function isRepositoryBuilt(
  records: FacadeContext['caches']['records'],
  repository: string,
  { metadata }: CodeHostIntegration,
): boolean {
  return records.list().some(({ spec }) => {
    const { integrationId, repoUrl = '', buildOnPush } = spec.sourceConfig;
    const isOurs = buildOnPush === true && integrationId?.toLowerCase() === metadata.uid;
    return isOurs && repositoryOfUrl(repoUrl) === repository;
  });
}

/** Writes the push into the integration's status, which the controller reads. */
async function recordPush(
  kube: KubeClient,
  integration: CodeHostIntegration,
  push: { readonly repository: string; readonly at: string },
): Promise<void> {
  const { namespace = '', name } = integration.metadata;
  const attempt = async ({ metadata, status }: CodeHostIntegration): Promise<void> => {
    const others = (status?.pushes ?? []).filter((one) => one.repository !== push.repository);
    const newest = [push, ...others].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, MOST_PUSHES);
    const { uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion }, status: { pushes: newest } };
    await kube.mergePatch(CODE_HOST_INTEGRATIONS, { namespace, name }, patch, {
      fieldManager: WEBHOOK_FIELD_MANAGER,
      subresource: 'status',
    });
  };
  await retryOnConflict(integration, attempt, () =>
    kube.get<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, { namespace, name }),
  ).catch(throwAsOurs);
}

function isSmall({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? Infinity) <= SMALL_BODY;
}

function unsigned(): HttpError {
  return new HttpError(
    401,
    "The webhook is not signed with the integration's secret. Set the same secret in both (X-Hub-Signature-256 or X-Gitea-Signature).",
  );
}

function tooManyWebhooks(): never {
  throw new HttpError(429, 'Too many webhooks at once. Send it again in 1 s.', { 'retry-after': '1' });
}

/** Headers with a hexadecimal signature. Gitea and Forgejo send GitHub's too. GitHub's older header uses SHA-1 and is not accepted. */
const SIGNATURES = { 'x-hub-signature-256': 'sha256=', 'x-gitea-signature': '', 'x-forgejo-signature': '' } as const;
const EVENTS = ['x-github-event', 'x-gitea-event', 'x-forgejo-event'] as const;

/** The signature of a request: 32 bytes. Undefined if there is none of valid form. */
function signatureIn(headers: IncomingHttpHeaders): Buffer | undefined {
  for (const [name, prefix] of Object.entries(SIGNATURES)) {
    const value = headers[name];
    if (typeof value !== 'string' || !value.startsWith(prefix)) continue;
    const digits = value.slice(prefix.length);
    if (/^[0-9a-f]{64}$/i.test(digits)) return Buffer.from(digits, 'hex');
  }
  return undefined;
}

/** Bytes that are looked at between two questions whether the turn is over. */
const STEP = 256 * 1024;

/** HMAC-SHA-256 of the body's bytes. */
async function isSignedBy(secret: string, body: Uint8Array, signature: Uint8Array, turns: Turns): Promise<boolean> {
  const hmac = createHmac('sha256', secret);
  for (let at = 0; at < body.length; at += STEP) {
    const over = turns.over();
    if (over !== undefined) await over;
    hmac.update(body.subarray(at, at + STEP));
  }
  const expected = hmac.digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

function isPush(headers: IncomingHttpHeaders): boolean {
  return EVENTS.some((name) => headers[name] === 'push');
}

const LONGEST_NAME = 512;

/**
 * OWNER/NAME in lower case. Undefined if the event is not a push. Nothing else of the body is used: the commits are read from the
 * code host.
 */
async function repositoryPushed(body: Uint8Array, turns: Turns): Promise<string | undefined> {
  for (const name of stringAt(body, ['repository', 'full_name'], STEP)) {
    if (name !== undefined) return name.length > 0 && name.length <= LONGEST_NAME ? name.toLowerCase() : undefined;
    const over = turns.over();
    if (over !== undefined) await over;
  }
  return undefined;
}
