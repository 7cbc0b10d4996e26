// Keyed fingerprints of the contents of Secrets; values are never stored. The watch cache contains only metadata, and a Secret is
// read live only after it has changed, and once where the cache does not have it: the Secret that a record names is often written
// just before the record, and the two watches deliver in no order.

import { refOf } from '../lib/controller/keys.ts';
import { NotFound } from '../lib/errors.ts';
import { SECRETS } from '../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject, SecretObject } from '../lib/kube/client.ts';
import { type DigestKey, fingerprint, type SecretVersion, secretsDigest } from './children/secret-digest.ts';
import type { Caches } from './cluster/caches.ts';

export interface SeenValue {
  readonly fingerprint: string;
  /** When this value was first seen instead of another one, by `elapsed`; undefined for the first value. */
  readonly changedAt?: number;
}

export interface SeenSecret {
  /** By key. */
  readonly values: SeenValues;
  /** Opaque and immutable, so that it contains only what its author wrote. */
  readonly isFixed: boolean;
}
type SeenValues = ReadonlyMap<string, SeenValue>;

export interface SecretFingerprints {
  /** Undefined if the Secret does not exist. */
  read(namespace: string, name: string, signal?: AbortSignal): Promise<SeenSecret | undefined>;
  digestOf(versions: readonly SecretVersion[]): Promise<string>;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
}

interface Known {
  readonly version: string;
  readonly secret: SeenSecret;
}

export interface SecretFingerprintsOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'secrets'>;
  readonly digestKey: () => Promise<DigestKey>;
  readonly elapsed: () => number;
}

/** Entries of deleted Secrets are removed after this many further Secrets. */
const FORGET_EVERY = 1000;

export function makeSecretFingerprints({
  client,
  caches,
  digestKey,
  elapsed,
}: SecretFingerprintsOptions): SecretFingerprints {
  const known = new Map<string, Known>();
  /** Found missing by a live read, and so missing until the cache has them. */
  const missing = new Set<string>();
  let forgetAt = FORGET_EVERY;

  async function read(namespace: string, name: string, signal?: AbortSignal): Promise<SeenSecret | undefined> {
    const at = `${namespace}/${name}`;
    const cached = caches.secrets.get({ namespace, name });
    if (cached) missing.delete(at);
    else if (missing.has(at)) return undefined;
    const before = known.get(at);
    if (cached && before?.version === versionOf(cached)) return before.secret;
    try {
      const secret = await client.get<SecretObject>(SECRETS, { namespace, name }, signal && { signal });
      const key = await digestKey();
      const values = seen(secret.data ?? {}, before?.secret.values, (secretKey, value) =>
        fingerprint(key, { namespace, secretName: name, secretKey }, value),
      );
      const read = { values, isFixed: secret.type === 'Opaque' && secret.immutable === true };
      known.set(at, { version: versionOf(secret), secret: read });
      forgetWhatIsGone();
      return read;
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      known.delete(at);
      // What the cache still has is about to leave it.
      if (!cached) missing.add(at);
      forgetWhatIsGone();
      return undefined;
    }
  }

  function seen(
    data: Readonly<Record<string, string>>,
    before: SeenValues | undefined,
    fingerprintOf: (key: string, value: string) => string,
  ): SeenValues {
    return new Map(
      Object.entries(data).map(([key, value]) => {
        const print = fingerprintOf(key, value);
        const old = before?.get(key);
        if (old?.fingerprint === print) return [key, old];
        return [key, { fingerprint: print, ...(before && { changedAt: elapsed() }) }];
      }),
    );
  }

  function forgetWhatIsGone(): void {
    if (known.size + missing.size < forgetAt) return;
    missing.clear();
    for (const at of known.keys()) {
      if (!caches.secrets.get(refOf(at))) known.delete(at);
    }
    forgetAt = known.size + FORGET_EVERY;
  }

  return { read, elapsed, digestOf: async (versions) => secretsDigest(await digestKey(), versions) };
}

function versionOf({ metadata: { uid, resourceVersion } }: KubeObject): string {
  return `${uid}/${resourceVersion}`;
}
