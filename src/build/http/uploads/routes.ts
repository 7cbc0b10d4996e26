// Uploads of sources: returns an address for an upload, and streams the upload to the registry.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { failures } from '../../../api/openapi.ts';
import { time } from '../../../api/payload-fields.ts';
import type { App } from '../../../api/validation.ts';
import { DeploymentPath } from '../../../deploy/http/payloads.ts';
import { uploadTag } from '../../../deploy/record/registry-names.ts';
import { makeFairLimiter } from '../../../runtime/controller/fair-limiter.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { allowSlowBody } from '../../../runtime/http/slow-bodies.ts';
import { type BuildContext, type BuildPlatform, changeableOf, type Place, placeOf } from '../registry/platform.ts';

const MEBIBYTE = 1024 * 1024;
/** Time limit for the start of an upload, and again for its duration. */
const UPLOAD_SECONDS = 300;
const CONTENT_TYPE = 'application/gzip';
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip';
const ARTIFACT_TYPE = 'application/vnd.davit.source.v1';
/** Concurrent uploads, grouped by tenant. Each holds at most a megabyte in memory. */
const SLOTS = { most: 8, mostOfGroup: 3, always: 0, mostWaiting: 16, mostWaitingOfGroup: 4 };

/** RFC 1952: the magic bytes of gzip, and its only compression method. */
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);

const UploadUrlRequest = z
  .object({ supports_upload_headers: z.boolean().nullish().describe('Whether upload_headers will be sent.') })
  .meta({ id: 'UploadUrlRequest', examples: [{ supports_upload_headers: true }] });

const UploadUrl = z
  .object({
    upload_url: z
      .string()
      .describe('PUT the archive (.tar.gz) there, once, with Content-Type: application/gzip and no token.'),
    object_path: z.string().describe('For source_revision_config.source_tarball_path, after the upload.'),
    upload_headers: z.record(z.string(), z.string()).describe('Headers of the upload.'),
    expires_at: time.describe('Time by which the upload must begin.'),
    max_bytes: z.int().describe('Largest upload that is accepted (setting builds.uploadMaxMb).'),
  })
  .meta({
    id: 'UploadUrl',
  });

export function registerUploads(app: App, context: BuildContext, prefix: string): void {
  const { auth, deployments, platform, now, randomId } = context;

  app.post('/v2/deployments/:deployment_id/upload-url', {
    onRequest: auth.as('patch'),
    schema: {
      tags: ['builds'],
      operationId: 'createUploadUrl',
      summary: "Get an address to upload the deployment's source to (internal_source)",
      params: DeploymentPath,
      body: UploadUrlRequest.prefault({}),
      response: { 200: UploadUrl, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const only = { use: 'upload', what: 'Uploads' } as const;
      const record = await changeableOf(deployments, admitted, request.params.deployment_id, only);
      const { registry } = placeOf(platform, record, admitted.tenant.id);
      const expires = Math.floor(now().getTime() / 1000) + UPLOAD_SECONDS;
      const upload = { deployment: record.metadata.uid ?? '', id: randomId(), expires };
      const signature = uploadSignature(await registry.passwordKey(), upload);
      const path = `${prefix}/v1/uploads/${upload.deployment}/${upload.id}`;
      return {
        upload_url: `${originOf(request)}${path}?expires=${expires}&signature=${signature}`,
        object_path: `uploads/${upload.id}`,
        upload_headers: { 'Content-Type': CONTENT_TYPE },
        expires_at: new Date(expires * 1000).toISOString(),
        max_bytes: platform.settings.builds.uploadMaxMb * MEBIBYTE,
      };
    },
  });

  // A separate scope, because only this route accepts a body that is not JSON.
  void app.register(async (scope) => registerPut(scope, context));
}

/** The origin that the caller used. Only the caller receives it, so a forged header misleads only the caller. */
function originOf({ headers, protocol, host }: FastifyRequest): string {
  const forwarded = headers['x-forwarded-proto'];
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : protocol;
  return `${scheme}://${host}`;
}

const PATH = '/v1/uploads/:deployment_id/:upload_id';

interface Begun {
  readonly id: string;
  readonly tenant: string;
  readonly place: Place;
}

function registerPut(app: FastifyInstance, { caches, platform, now }: BuildContext): void {
  const { records, tenants } = caches;
  const slots = makeFairLimiter(SLOTS);
  const underWay = new Set<string>();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

  /** Checks the request before its body is read. */
  async function begin(request: FastifyRequest): Promise<Begun> {
    const upload = await signedUpload(request, platform);
    if (upload === undefined)
      throw new HttpError(403, 'This upload address is not signed by Davit. Get a new one with POST …/upload-url.');
    const { deployment, id, expires } = upload;
    if (now().getTime() > expires * 1000)
      throw new HttpError(403, 'This upload address has expired. Get another one with POST …/upload-url.');
    needHeaders(request, platform.settings.builds.uploadMaxMb);
    const record = records.byUid(deployment);
    const { namespace = '' } = record?.metadata ?? {};
    const tenantId = tenants.get({ name: namespace })?.metadata.uid;
    if (record === undefined || record.metadata.deletionTimestamp !== undefined || tenantId === undefined)
      throw new HttpError(
        404,
        'The deployment of this upload address no longer exists. Create it again and get another address.',
      );
    return { id, tenant: namespace, place: placeOf(platform, record, tenantId) };
  }

  async function receive(begun: Begun, request: FastifyRequest): Promise<{ size: number }> {
    if (underWay.has(begun.id)) throw usedAlready();
    underWay.add(begun.id);
    const over = new AbortController();
    const { signal } = over;
    const onClose = (): void =>
      over.abort(new HttpError(400, 'The connection was closed before the end of the upload. Upload again.'));
    const timer = setTimeout(() => over.abort(tookTooLong()), UPLOAD_SECONDS * 1000);
    request.raw.socket.once('close', onClose);
    const limitAgain = allowSlowBody(request.raw);
    try {
      const giveBack = await (slots.take(begun.tenant, signal) ?? tooManyUploads());
      try {
        return await store(begun, request.raw, signal);
      } finally {
        giveBack();
      }
    } finally {
      clearTimeout(timer);
      limitAgain();
      underWay.delete(begun.id);
      request.raw.socket.off('close', onClose);
    }
  }

  app.put(PATH, {
    schema: { hide: true },
    config: {
      timeLimitMs: (UPLOAD_SECONDS + 10) * 1000,
      async credentialOf(request) {
        const upload = await signedUpload(request, platform);
        return upload && `upload ${upload.deployment}`;
      },
    },
    handler: async (request, reply) => {
      try {
        const begun = await begin(request);
        const { size } = await receive(begun, request);
        reply.code(201);
        return { object_path: `uploads/${begun.id}`, size };
      } catch (error) {
        // A client that sends the whole body before it reads must still be able to read the error.
        if (!(error instanceof HttpError && error.headers['connection'] === 'close')) request.raw.resume();
        throw error;
      }
    },
  });
}

/** What the address names, if Davit has signed it. */
async function signedUpload(request: FastifyRequest, { registry }: BuildPlatform): Promise<Upload | undefined> {
  const { deployment_id: deployment = '', upload_id: id = '' } = request.params as Record<string, string>;
  const query = request.query as { readonly expires?: unknown; readonly signature?: unknown };
  if (registry === undefined || typeof query.signature !== 'string') return undefined;
  const upload = { deployment, id, expires: Number(query.expires) };
  return isSigned(await registry.passwordKey(), upload, query.signature) ? upload : undefined;
}

/** Throws HttpError 409 if something was stored under the address before. */
async function refuseUsed({ id, place }: Begun, signal: AbortSignal): Promise<void> {
  const tag = uploadTag(`uploads/${id}`);
  if ((await place.registry.client.digestOf(place.repository, tag, signal)) !== undefined) throw usedAlready();
}

async function store(begun: Begun, request: IncomingMessage, signal: AbortSignal): Promise<{ size: number }> {
  const { client } = begun.place.registry;
  const { repository } = begun.place;
  await refuseUsed(begun, signal);
  const blob = await client.uploadBlob(repository, gzipContent(request), signal);
  // Another replica may have received an upload to the same address meanwhile.
  await refuseUsed(begun, signal);
  const layer = { mediaType: LAYER_TYPE, ...blob };
  await client.tagArtifact(
    repository,
    uploadTag(`uploads/${begun.id}`),
    { artifactType: ARTIFACT_TYPE, layer },
    signal,
  );
  return { size: blob.size };
}

function needHeaders({ headers }: FastifyRequest, mostMb: number): void {
  const length = headers['content-length'];
  if (length === undefined || headers['transfer-encoding'] !== undefined)
    throw new HttpError(411, 'Send the size of the upload in the header Content-Length.', { connection: 'close' });
  if (Number(length) > mostMb * MEBIBYTE)
    throw new HttpError(413, `The upload is larger than ${mostMb} MiB. Leave out files that a build does not need.`, {
      connection: 'close',
    });
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== CONTENT_TYPE) throw new HttpError(415, `Send the upload with the header Content-Type: ${CONTENT_TYPE}.`);
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new HttpError(415, 'Send the archive without Content-Encoding.');
}

function usedAlready(): HttpError {
  return new HttpError(409, 'This upload address has already been used. Get another one with POST …/upload-url.');
}

function tookTooLong(): HttpError {
  return new HttpError(
    408,
    `The upload took longer than ${UPLOAD_SECONDS} s. Leave out files that a build does not need.`,
  );
}

function tooManyUploads(): never {
  throw new HttpError(429, 'Too many uploads are running. Try again in 5 s.', { 'retry-after': '5' });
}

/** The request's body. Throws 422 if it does not begin with a gzip header; the rest of the body then remains unread. */
async function* gzipContent(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  let begun = Buffer.alloc(0);
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (begun.length >= GZIP.length) {
      yield piece;
      continue;
    }
    begun = Buffer.concat([begun, piece]);
    if (!begun.subarray(0, GZIP.length).equals(GZIP.subarray(0, begun.length))) throw notGzip();
    if (begun.length >= GZIP.length) yield begun;
  }
  if (begun.length < GZIP.length) throw notGzip();
}

function notGzip(): HttpError {
  const msg = 'must be a tar archive compressed with gzip';
  return new HttpError(422, [{ loc: ['body'], msg, type: 'value_error' }]);
}

interface Upload {
  /** The deployment's id. */
  readonly deployment: string;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Seconds since 1970, at which the address expires. A running upload may continue. */
  readonly expires: number;
}

/** 43 characters. `key` is the registry's password key. A key of its own is derived from it, so a signature is never a registry password. */
export function uploadSignature(key: Uint8Array, { deployment, id, expires }: Upload): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'davit-upload-1', 32));
  return createHmac('sha256', own).update(`${deployment} ${id} ${expires}`).digest('base64url');
}

export function isSigned(key: Uint8Array, upload: Upload, signature: string): boolean {
  const [given, expected] = [Buffer.from(signature), Buffer.from(uploadSignature(key, upload))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
