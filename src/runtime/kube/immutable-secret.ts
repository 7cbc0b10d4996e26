// Copies of Secrets whose originals may be immutable.

import { Invalid, undefinedIfNotFound } from '../errors.ts';
import { SECRETS } from './api-resources.ts';
import type { KubeClient, KubeObject } from './client.ts';

/** Applies a Secret. An immutable one with other values is deleted and created, as its original was. */
export async function applyOrReplace(
  client: KubeClient,
  secret: KubeObject,
  applying: Parameters<KubeClient['apply']>[2],
): Promise<KubeObject> {
  const { namespace = '', name } = secret.metadata;
  const place = { namespace, name };
  try {
    return await client.apply(SECRETS, secret, applying);
  } catch (error) {
    if (!(error instanceof Invalid) || error.serverMessage?.includes('is immutable when') !== true) throw error;
  }
  const there = await client.get(SECRETS, place, { metadataOnly: true }).catch(undefinedIfNotFound);
  const { uid = '', resourceVersion = '' } = there?.metadata ?? {};
  if (there) await client.remove(SECRETS, place, { uid, resourceVersion }).catch(undefinedIfNotFound);
  const { uid: _before, ...metadata } = secret.metadata;
  return client.apply(SECRETS, { ...secret, metadata }, { ...applying, onlyCreate: true });
}
