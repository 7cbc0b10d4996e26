// Docker's configuration file, as Secrets of the type kubernetes.io/dockerconfigjson hold it.

import { z } from 'zod';
import { jsonOf } from '../../runtime/json-value.ts';

export const DOCKER_CONFIG_KEY = '.dockerconfigjson';

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

const DockerConfig = z.object({
  auths: z.record(
    z.string(),
    z.object({ username: z.string().optional(), password: z.string().optional(), auth: z.string().optional() }),
  ),
});

/** The file with one registry. */
export function dockerConfig(host: string, { username, password }: RegistryLogin): string {
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  return JSON.stringify({ auths: { [host]: { username, password, auth } } });
}

/**
 * The login for `host` in a configuration file that a person wrote. Its entry may be named with a scheme or a path.
 * Undefined where the file is not valid or has no user and password for that registry.
 */
export function loginIn(config: string, host: string): RegistryLogin | undefined {
  // An error of the JSON would quote the file, which is a secret.
  const auths = DockerConfig.safeParse(jsonOf(config)).data?.auths ?? {};
  const named = (name: string): boolean => name.replace(/^https?:\/\//, '').split('/')[0] === host;
  const entry = Object.entries(auths).find(([name]) => named(name))?.[1];
  const [user = '', ...rest] = Buffer.from(entry?.auth ?? '', 'base64')
    .toString()
    .split(':');
  const login = { username: entry?.username ?? user, password: entry?.password ?? rest.join(':') };
  return login.username === '' || login.password === '' ? undefined : login;
}
