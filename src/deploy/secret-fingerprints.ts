// Keyed fingerprints of the contents of Secrets; values are never stored. The watch cache contains only metadata, and a Secret is
// read live only after it has changed, and once where the cache does not have it: the Secret that a record names is often written
// just before the record, and the two watches deliver in no order. plan/rotation.ts decides when pods roll.

import { refOf } from '../runtime/controller/keys.ts';
import { NotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, SecretObject } from '../runtime/kube/client.ts';
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
  /** More than MOST_KEYS, and asked for as a whole: of its values only those that are requested by name are known. */
  readonly isTooLarge: boolean;
}
type SeenValues = ReadonlyMap<string, SeenValue>;

/** The values of a Secret that somebody uses. */
export interface Wanted {
  readonly keys: ReadonlySet<string>;
  /** All of its keys, in addition. */
  readonly isWhole: boolean;
}

/** A Secret may have 55,000 keys, and what is known of a value needs more memory than a short value. */
export const MOST_KEYS = 1000;

export interface SecretFingerprints {
  /** Undefined if the Secret does not exist. The values have those that are wanted, as far as they exist, and perhaps more. */
  read(namespace: string, name: string, wanted: Wanted, signal?: AbortSignal): Promise<SeenSecret | undefined>;
  digestOf(versions: readonly SecretVersion[]): Promise<string>;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
}

interface Known extends Wanted {
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

  async function read(
    namespace: string,
    name: string,
    wanted: Wanted,
    signal?: AbortSignal,
  ): Promise<SeenSecret | undefined> {
    const at = `${namespace}/${name}`;
    const cached = caches.secrets.get({ namespace, name });
    if (cached) missing.delete(at);
    else if (missing.has(at)) return undefined;
    const before = known.get(at);
    if (cached && before?.version === versionOf(cached) && has(before, wanted)) return before.secret;
    try {
      const secret = await client.get<SecretObject>(SECRETS, { namespace, name }, signal && { signal });
      const key = await digestKey();
      const all = together(before, wanted);
      const isTooLarge = all.isWhole && Object.keys(secret.data ?? {}).length > MOST_KEYS;
      const values = seen(
        secret.data ?? {},
        isTooLarge ? { ...all, isWhole: false } : all,
        before,
        (secretKey, value) => fingerprint(key, { namespace, secretName: name, secretKey }, value),
      );
      const read = { values, isFixed: secret.type === 'Opaque' && secret.immutable === true, isTooLarge };
      known.set(at, { ...all, version: versionOf(secret), secret: read });
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
    { keys, isWhole }: Wanted,
    before: Known | undefined,
    fingerprintOf: (key: string, value: string) => string,
  ): SeenValues {
    const names = isWhole ? Object.keys(data) : [...keys].filter((key) => Object.hasOwn(data, key));
    return new Map(
      names.map((key) => {
        const print = fingerprintOf(key, data[key] ?? '');
        const old = before?.secret.values.get(key);
        if (old?.fingerprint === print) return [key, old];
        return [key, { fingerprint: print, ...(before && knows(before, key) && { changedAt: elapsed() }) }];
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

function knows({ keys, isWhole, secret }: Known, key: string): boolean {
  return keys.has(key) || (isWhole && !secret.isTooLarge);
}

function has(known: Known, { keys, isWhole }: Wanted): boolean {
  return (known.isWhole || !isWhole) && [...keys].every((key) => knows(known, key));
}

/** Several records may use other keys of the same Secret. Those that none uses any more are forgotten when there are many. */
function together(before: Wanted | undefined, wanted: Wanted): Wanted {
  if (before === undefined) return wanted;
  const keys = new Set([...before.keys, ...wanted.keys]);
  return keys.size > MOST_KEYS ? wanted : { keys, isWhole: before.isWhole || wanted.isWhole };
}

function versionOf({ metadata: { uid, resourceVersion } }: KubeObject): string {
  return `${uid}/${resourceVersion}`;
}
