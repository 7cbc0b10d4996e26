// `davit registry-password`: prints a password for the base images of the registry. Whoever may run a command in a pod of Davit
// may run it: it reads the key that signs passwords with that pod's service account.

import { parseArgs } from 'node:util';
import { makeRegistryKeys, type RegistryKeys } from '../build/registry/keys.ts';
import { registryPassword } from '../build/registry/registry-grant.ts';
import { BASE_REPOSITORIES } from '../build/registry/tokens.ts';
import { makeKubeClient } from '../runtime/kube/http-client.ts';
import { makeLogger } from '../runtime/logger.ts';
import { accessFor } from './cluster-access.ts';
import { loadConfig } from './config.ts';
import { messageOf } from './termination-message.ts';

const USAGE = `Usage: davit registry-password [--hours N]

Prints a password that may pull and push the repositories below ${BASE_REPOSITORIES} of the platform's registry, for base images.
The user name is davit.

  --hours N   hours until the password expires, 1 to 24; 1 if absent
`;

/** The password. Throws an Error if `hours` is no integer from 1 to 24. */
export async function basePassword(
  { passwordKey }: Pick<RegistryKeys, 'passwordKey'>,
  hours: string,
  now: Date,
): Promise<string> {
  if (!/^([1-9]|1[0-9]|2[0-4])$/.test(hours)) throw new Error('--hours must be a whole number from 1 to 24');
  const expires = Math.floor(now.getTime() / 1000) + Number(hours) * 3600;
  return registryPassword(await passwordKey(), {
    repository: `${BASE_REPOSITORIES}*`,
    actions: ['pull', 'push'],
    expires,
  });
}

/** Returns the exit code. */
export async function registryPasswordCommand(args: readonly string[]): Promise<number> {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { hours: { type: 'string' }, help: { type: 'boolean' } },
    });
    if (values.help === true) {
      process.stdout.write(USAGE);
      return 0;
    }
    const config = loadConfig();
    if (config.settings.builds.registry?.tokens !== true)
      throw new Error(
        'the registry of this platform does not accept passwords from Davit (settings.builds.registry.tokens)',
      );
    const kube = makeKubeClient({ access: await accessFor(config), userAgent: 'davit-registry-password' });
    const now = (): Date => new Date();
    const keys = makeRegistryKeys({ kube, namespace: config.namespace, now, log: makeLogger('silent') });
    process.stdout.write(`${await basePassword(keys, values.hours ?? '1', now())}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`davit registry-password: ${messageOf(error)}\n`);
    return 1;
  }
}
