// The Secrets of the namespace of tokens, accessed with the facade's own account. What is sealed in one is opened with the
// provider for which it was given.

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { asOurs, throwAsOurs } from '../../api/organization-secrets.ts';
import {
  FACADE_FIELD_MANAGER,
  OAUTH_ENTRY_ANNOTATION,
  OAUTH_KIND_LABEL,
  OAUTH_OWNER_LABEL,
  OAUTH_TENANT_LABEL,
} from '../../kinds/meta.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { AlreadyExists, Conflict, NotFound } from '../../runtime/errors.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, SecretObject } from '../../runtime/kube/client.ts';
import type { ReadKeys } from './keys.ts';
import { type EntryKind, entryName, ownerLabel, type Subject } from './names.ts';
import { boundTo, open, seal } from './sealing.ts';

const Annotation = z.object({
  subject: z.object({
    tenant: z.string(),
    tenantId: z.string(),
    provider: z.string(),
    user: z.string(),
    slot: z.string(),
  }),
  about: z.record(z.string(), z.unknown()),
});

/** One Secret. `about` is readable; `sealed` is not. */
export interface Entry<About = unknown> {
  readonly kind: EntryKind;
  readonly id: string;
  readonly subject: Subject;
  readonly about: About;
  readonly sealed?: string | undefined;
  /** The version that was read; absent for a new object. */
  readonly version?: { readonly uid: string; readonly resourceVersion: string } | undefined;
}

/** Schema of an entry's `about`. */
export type AboutOf<About> = z.ZodType<About>;

export interface Vault {
  /** Undefined if there is none, or it is malformed. */
  read<About>(kind: EntryKind, id: string, about: AboutOf<About>): Promise<Entry<About> | undefined>;
  /** Throws AlreadyExists. */
  create<About>(entry: Entry<About>): Promise<Entry<About>>;
  /** Throws Conflict if the object has changed since it was read, NotFound if it is gone. */
  replace<About>(entry: Entry<About>): Promise<Entry<About>>;
  /** Deletes exactly the version that was read. False if the object has changed since, or is gone. */
  take(entry: Entry): Promise<boolean>;
  /** The entries of an owner, or of a tenant, without what is sealed. */
  list<About>(kind: EntryKind, whose: Whose, about: AboutOf<About>): Promise<readonly Entry<About>[]>;
  /** All entries of a kind, without what is sealed. */
  listAll<About>(kind: EntryKind, about: AboutOf<About>): Promise<readonly Entry<About>[]>;
  seal(entry: Omit<Entry, 'sealed'>, provider: OAuthProvider, text: string): Promise<string>;
  /** Undefined if the seal is of another provider, client or address, or of a lost key. */
  open(
    entry: Entry,
    provider: OAuthProvider,
  ): Promise<{ readonly text: string; readonly isNewest: boolean } | undefined>;
}

export type Whose = { readonly owner: Omit<Subject, 'provider' | 'slot'> } | { readonly tenant: string };

export interface VaultOptions {
  readonly kube: KubeClient;
  readonly namespace: string;
  readonly keys: ReadKeys;
}

const SEALED = 'sealed';
const WRITING = { fieldManager: FACADE_FIELD_MANAGER };

export function makeVault({ kube, namespace, keys }: VaultOptions): Vault {
  async function objectOf({ kind, id, subject, about, sealed, version }: Entry): Promise<SecretObject> {
    const labels = {
      [OAUTH_KIND_LABEL]: kind,
      [OAUTH_TENANT_LABEL]: subject.tenant,
      [OAUTH_OWNER_LABEL]: ownerLabel(await keys(), subject),
    };
    const annotations = { [OAUTH_ENTRY_ANNOTATION]: JSON.stringify({ subject, about }) };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: entryName(kind, id), namespace, labels, annotations, ...version },
      type: 'Opaque',
      data: sealed === undefined ? {} : { [SEALED]: Buffer.from(sealed).toString('base64') },
    };
  }

  const write = async <About>(
    entry: Entry<About>,
    send: (object: SecretObject) => Promise<SecretObject>,
  ): Promise<Entry<About>> => {
    const written = await objectOf(entry).then(send).catch(throwAsOurs);
    return { ...entry, version: versionOf(written) };
  };

  return {
    async read(kind, id, about) {
      try {
        const object = await kube.get<SecretObject>(SECRETS, { namespace, name: entryName(kind, id) });
        return entryOf(object, kind, about);
      } catch (error) {
        if (error instanceof NotFound) return undefined;
        throw asOurs(error);
      }
    },
    create: (entry) => write(entry, (object) => kube.create(SECRETS, object, WRITING)),
    replace: (entry) => write(entry, (object) => kube.replace(SECRETS, object, WRITING)),
    async take({ kind, id, version }) {
      if (version === undefined) throw new TypeError(`${kind} ${id} was not read`);
      try {
        await kube.remove(SECRETS, { namespace, name: entryName(kind, id) }, version);
        return true;
      } catch (error) {
        if (error instanceof NotFound || error instanceof Conflict) return false;
        throw asOurs(error);
      }
    },
    async list(kind, whose, about) {
      const [label, value] =
        'owner' in whose
          ? [OAUTH_OWNER_LABEL, ownerLabel(await keys(), whose.owner)]
          : [OAUTH_TENANT_LABEL, whose.tenant];
      return listed({ kube, namespace }, `${OAUTH_KIND_LABEL}=${kind},${label}=${value}`, kind, about);
    },
    listAll: (kind, about) => listed({ kube, namespace }, `${OAUTH_KIND_LABEL}=${kind}`, kind, about),
    async seal({ kind, id, subject }, provider, text) {
      return seal(await keys(), randomBytes(12), text, boundTo(kind, id, subject, provider));
    },
    async open({ kind, id, subject, sealed = '' }, provider) {
      const bound = boundTo(kind, id, subject, provider);
      const opened = open(await keys(), sealed, bound);
      // Another replica may have sealed it with a key that is newer than the cached ring.
      const again = opened === 'unknown key' ? open(await keys(true), sealed, bound) : opened;
      return typeof again === 'string' ? undefined : again;
    },
  };
}

async function listed<About>(
  { kube, namespace }: Pick<VaultOptions, 'kube' | 'namespace'>,
  labelSelector: string,
  kind: EntryKind,
  about: AboutOf<About>,
): Promise<readonly Entry<About>[]> {
  const listing = { namespace, labelSelector, metadataOnly: true };
  const { items } = await kube.listAll<KubeObject>(SECRETS, listing).catch(throwAsOurs);
  return items.flatMap((object) => entryOf(object, kind, about) ?? []);
}

/**
 * Creates an entry, or replaces what is under its name, whatever that is. `aboutOf` makes its `about` from the one before. Throws
 * Conflict if others write it all the time.
 */
export async function put<About>(
  vault: Vault,
  { about, ...entry }: Omit<Entry<About>, 'about'> & { readonly about?: About },
  aboutOf: (before: unknown) => About = () => about as About,
): Promise<Entry<About>> {
  for (let tries = 0; ; tries += 1) {
    try {
      const before = await vault.read(entry.kind, entry.id, z.unknown());
      const made = { ...entry, about: aboutOf(before?.about) };
      return await (before ? vault.replace({ ...made, version: before.version }) : vault.create(made));
    } catch (error) {
      const isRace = error instanceof Conflict || error instanceof AlreadyExists || error instanceof NotFound;
      if (!isRace || tries === 5) throw error;
    }
  }
}

/** Writes exactly this version. Undefined if the object has changed meanwhile, or is gone. */
export async function replaceIfSame<About>(vault: Vault, entry: Entry<About>): Promise<Entry<About> | undefined> {
  try {
    return await vault.replace(entry);
  } catch (error) {
    if (error instanceof Conflict || error instanceof NotFound) return undefined;
    throw error;
  }
}

function versionOf({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): NonNullable<Entry['version']> {
  return { uid, resourceVersion };
}

function entryOf<About>(object: SecretObject, kind: EntryKind, about: AboutOf<About>): Entry<About> | undefined {
  const { name, annotations } = object.metadata;
  const parsed = Annotation.safeParse(jsonOf(annotations?.[OAUTH_ENTRY_ANNOTATION]));
  const known = about.safeParse(parsed.data?.about);
  if (!parsed.success || !known.success) return undefined;
  const sealed = object.data?.[SEALED];
  return {
    kind,
    id: name.slice(kind.length + 1),
    subject: parsed.data.subject,
    about: known.data,
    ...(sealed !== undefined && { sealed: Buffer.from(sealed, 'base64').toString('utf8') }),
    version: versionOf(object),
  };
}
