// Registry credentials for builds and pods. If the registry uses Davit's token server, Davit issues passwords.
// Otherwise it uses the platform's Secrets in the builds' namespace.

import type { RegistrySettings } from '../../deploy/record/registry-names.ts';
import type { BuildSettings } from '../../kinds/settings.ts';
import { makeKeySecret } from '../../runtime/controller/key-secret.ts';
import { undefinedIfNotFound } from '../../runtime/errors.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, SecretObject } from '../../runtime/kube/client.ts';
import { DOCKER_CONFIG_KEY, dockerConfig } from './docker-config.ts';
import { PASSWORD_KEY, REGISTRY_USER, type RegistryGrant, registryPassword } from './registry-grant.ts';

export interface RegistryAccess {
  /**
   * Returns a Docker configuration file (JSON) whose credential may pull from and push to `repository` for `seconds`.
   * Undefined if the Secret that the settings name does not exist.
   */
  push(repository: string, seconds: number): Promise<string | undefined>;
  /** Same as `push`, but the credential may only pull. Undefined also if the settings name no Secret. */
  pull(repository: string, seconds: number): Promise<string | undefined>;
}

const NO_CREDENTIAL = JSON.stringify({ auths: {} });

export function makeRegistryAccess(options: {
  readonly client: KubeClient;
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly registry: RegistrySettings;
  readonly builds: BuildSettings;
  readonly now: () => Date;
}): RegistryAccess {
  const { client, namespace, registry, builds, now } = options;
  const key = makeKeySecret({ client, namespace, ...PASSWORD_KEY });

  async function password(grant: Omit<RegistryGrant, 'expires'>, seconds: number): Promise<string> {
    const expires = Math.ceil(now().getTime() / 1000) + seconds;
    return dockerConfig(registry.host, {
      username: REGISTRY_USER,
      password: registryPassword(await key(), { ...grant, expires }),
    });
  }

  async function given(name: string | undefined): Promise<string | undefined> {
    if (name === undefined) return undefined;
    const ref = { namespace: builds.namespace, name };
    const secret = await client.get<SecretObject>(SECRETS, ref).catch(undefinedIfNotFound);
    const value = secret?.data?.[DOCKER_CONFIG_KEY];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
  }

  return {
    async push(repository, seconds) {
      if (registry.tokens) return password({ repository, actions: ['pull', 'push'] }, seconds);
      return registry.pushSecret === undefined ? NO_CREDENTIAL : given(registry.pushSecret);
    },
    async pull(repository, seconds) {
      if (registry.tokens) return password({ repository, actions: ['pull'] }, seconds);
      return given(registry.pullSecret);
    },
  };
}
