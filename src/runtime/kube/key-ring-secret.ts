// A key ring in a Secret of Davit's own namespace. The process that needs it first creates it, and whoever reads it rotates it when
// a key is due.

import { AlreadyExists, Conflict, undefinedIfNotFound } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { SECRETS } from './api-resources.ts';
import type { KubeClient, SecretObject, WriteOptions } from './client.ts';

export interface KeyRingSecret<Ring> {
  readonly kube: KubeClient;
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly log: Logger;
  /** What the keys are, as the beginning of a sentence. */
  readonly what: string;
  /** Field of the Secret that has the whole ring. */
  readonly field: string;
  /** The ring with a new key if one is due, otherwise the very same; a new ring for undefined. */
  readonly rotated: (ring: Ring | undefined) => Ring;
  /** The fields of the Secret as text. */
  readonly fieldsOf: (ring: Ring) => Readonly<Record<string, string>>;
  /** Parses the text of `field`. Throws an Error whose message has no part of a key. */
  readonly parse: (text: string) => Ring;
  readonly writing?: WriteOptions;
}

/** Returns the ring. A rotation that fails is logged, and the next read tries it again. Throws what `parse` throws. */
export async function readKeyRing<Ring>(options: KeyRingSecret<Ring>): Promise<Ring> {
  const { kube, ref, log, what, field, rotated, fieldsOf, parse, writing } = options;
  const ringIn = ({ data }: SecretObject): Ring => parse(Buffer.from(data?.[field] ?? '', 'base64').toString('utf8'));
  const secret = await readOrCreateSecret(kube, ref, () => ({ data: encoded(fieldsOf(rotated(undefined))) }));
  const ring = ringIn(secret);
  const wanted = rotated(ring);
  if (wanted === ring) return ring;
  try {
    const { uid, resourceVersion } = secret.metadata;
    const patch = { metadata: { uid, resourceVersion }, data: encoded(fieldsOf(wanted)) };
    return ringIn(await kube.mergePatch<SecretObject>(SECRETS, ref, patch, writing));
  } catch (err) {
    // After a Conflict, another replica has rotated the keys. The next read has the new one.
    if (!(err instanceof Conflict)) log.warn({ secret: ref.name, err }, `${what} were not rotated`);
    return ring;
  }
}

/** The Secret that is there; else one with what `make` returns, or what another process created in the same moment. */
export async function readOrCreateSecret(
  kube: KubeClient,
  ref: { readonly namespace: string; readonly name: string },
  make: () => Pick<SecretObject, 'immutable' | 'data'>,
): Promise<SecretObject> {
  const found = await kube.get<SecretObject>(SECRETS, ref).catch(undefinedIfNotFound);
  if (found) return found;
  const metadata = { ...ref, labels: { 'app.kubernetes.io/part-of': 'davit' } };
  try {
    return await kube.create<SecretObject>(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'Opaque',
      ...make(),
    });
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    return kube.get<SecretObject>(SECRETS, ref);
  }
}

function encoded(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}
