// The platform's registry as the settings configure it: its client, with Davit's authorization, and its keys.

import type { BuildSettings, ProxySettings } from '../../kinds/settings.ts';
import { NotFound, RegistryFailed } from '../../runtime/errors.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { SecretObject } from '../../runtime/kube/client.ts';
import { makeRegistryTransport } from '../../runtime/outbound/registry-transport.ts';
import { type Authorize, authorizeByKeys, authorizeByPassword } from './authorization.ts';
import { makeRegistryClient, type RegistryClient } from './client.ts';
import { DOCKER_CONFIG_KEY, loginIn, type RegistryLogin } from './docker-config.ts';
import { makeRegistryKeys, type RegistryKeys, type RegistryKeysOptions } from './keys.ts';

export interface PlatformRegistry extends RegistryKeys {
  readonly client: RegistryClient;
  close(): Promise<void>;
}

export interface PlatformRegistryOptions extends RegistryKeysOptions {
  readonly builds: BuildSettings;
  readonly proxies: ProxySettings;
  readonly randomId: () => string;
}

/** Returns undefined if the settings configure no registry. */
export function makePlatformRegistry(options: PlatformRegistryOptions): PlatformRegistry | undefined {
  const { builds, kube, now, randomId } = options;
  const { registry } = builds;
  if (registry === undefined) return undefined;
  const origin = `${registry.insecure ? 'http' : 'https'}://${registry.host}`;
  const transport = makeRegistryTransport({ origin, ca: registry.ca, proxies: options.proxies });
  const keys = makeRegistryKeys(options);

  async function credential(): Promise<RegistryLogin | undefined> {
    const { pushSecret: name } = registry ?? {};
    if (name === undefined) return undefined;
    try {
      const secret = await kube.get<SecretObject>(SECRETS, { namespace: builds.namespace, name });
      return credentialIn(secret, registry?.host ?? '');
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      const message = `Secret ${name} of namespace ${builds.namespace}, which holds the registry's credential, does not exist.`;
      throw new RegistryFailed('refused', message);
    }
  }

  const authorize: Authorize = registry.tokens
    ? authorizeByKeys(keys.keyRing, { now, randomId })
    : authorizeByPassword(credential, transport);
  const client = makeRegistryClient({ origin, transport, authorize });
  return { ...keys, client, close: transport.close };
}

function credentialIn({ metadata, data }: SecretObject, host: string): RegistryLogin {
  const config = Buffer.from(data?.[DOCKER_CONFIG_KEY] ?? '', 'base64').toString();
  const login = loginIn(config, host);
  if (login) return login;
  const message = `Secret ${metadata.name} of namespace ${metadata.namespace} has no user name and password for ${host}.`;
  throw new RegistryFailed('refused', message);
}
