// What a registry answers: read within limits, or told as an error.

import { RegistryFailed } from '../../../runtime/errors.ts';
import { asFailure, type RegistryTransport } from '../../../runtime/outbound/registry-transport.ts';

export type Answer = Awaited<ReturnType<RegistryTransport['request']>>;

/**
 * Bytes. A registry should accept manifests of at least this size (OCI Distribution Specification 1.1, Pushing
 * Manifests).
 */
export const LARGEST_MANIFEST = 4 * 1024 * 1024;
const LARGEST_ERROR = 64 * 1024;

export async function* piecesOf(answer: Answer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of answer.body as AsyncIterable<Buffer>) yield piece;
  } catch (error) {
    throw asFailure(error, signal);
  }
}

export async function textOf(answer: Answer, most: number, signal: AbortSignal): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(answer, signal)) {
    size += piece.length;
    if (size > most) throw new RegistryFailed('malformed', `The registry's answer is larger than ${most} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export async function discard(answer: Answer): Promise<void> {
  await answer.body.dump({ limit: LARGEST_ERROR });
}

export async function need(answer: Answer, status: number): Promise<void> {
  if (answer.statusCode !== status) throw await registryFailure(answer);
  await discard(answer);
}

/** Converts an unsuccessful response to an error. The registry's error text is evaluated, but not passed on. */
export async function registryFailure(answer: Answer): Promise<RegistryFailed> {
  const { statusCode: status } = answer;
  const words = await textOf(answer, LARGEST_ERROR, AbortSignal.timeout(5000)).catch(() => '');
  if (status === 401 || status === 403)
    return new RegistryFailed(
      'refused',
      "The registry refused Davit's credentials. Ask the platform team to correct them.",
    );
  if (status === 405 || /\bread-?only\b/i.test(words))
    return new RegistryFailed('readOnly', 'The registry is read-only while it is being cleaned up. Try again later.');
  if (status === 507 || status === 413 || /no space left|disk quota exceeded|"Err":28\b/i.test(words))
    return new RegistryFailed('full', 'The registry has no free storage. Ask the platform team to add storage.');
  if (status === 429 || status >= 500)
    return new RegistryFailed('unreachable', `The registry failed: it answered ${status}. Try again later.`);
  return new RegistryFailed('malformed', `The registry answered with the unexpected status ${status}.`);
}
