// Davit's own controller, and the agent of a listener's cluster, as the image has them: bundled, and with the settings that the
// chart gives them.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DAVIT_NAMESPACE } from '../../../support/platform.ts';
import { type ArmProcess, startArm } from '../contender-process.ts';
import { entryPoint } from '../entry-point.ts';
import type { Arm, Bench, BenchServer, Running } from '../measure.ts';
import { builtOnce } from '../once.ts';
import { mountServiceAccount } from '../service-account.ts';

/** Over all arms: two may run on one server. */
let starts = 0;

const root = join(import.meta.dirname, '../../../..');

const LEADS = '"msg":"Caches listed, reconciling"';
const STANDS_BY = '"msg":"Started"';
const CONNECTED = '"msg":"Connected to the hub"';

/** The sources run as they are too, but a process that takes types out of them is larger and slower to start. */
const build = builtOnce(async (say) => {
  say('Bundling Davit');
  await promisify(execFile)('npm', ['run', '--silent', 'bundle'], { cwd: root });
});

export interface DavitOptions extends Pick<Bench, 'workers' | 'profileInto'> {
  readonly env?: Readonly<Record<string, string>>;
  /** Ready is then who waits for another to let go of the lease; told when it has begun to act itself. */
  readonly onLeading?: () => void;
}

export function davit({ workers, profileInto, env = {}, onLeading }: DavitOptions): Arm {
  const start = (server: BenchServer): Promise<Running> =>
    startPart('controller', server, {
      profileInto,
      env: { DAVIT_WORKERS: String(workers), ...env },
      isReady: (line) => line.includes(onLeading === undefined ? LEADS : STANDS_BY),
      onLine: (line) => line.includes(LEADS) && onLeading?.(),
    });
  return { name: 'davit', prepare: build, start };
}

/** Ready when the hub has answered and its caches are filled. Secret davit-listener-hub is there. */
export function listenerAgent(
  namespaces: readonly string[],
  { profileInto }: Pick<Bench, 'profileInto'>,
): Pick<Arm, 'start'> {
  return {
    start: (server) =>
      startPart('listener', server, {
        profileInto,
        env: { DAVIT_LISTENER_NAMESPACES: namespaces.join() },
        isReady: (line) => line.includes(CONNECTED),
      }),
  };
}

interface PartOptions extends Pick<ArmProcess, 'env' | 'isReady' | 'onLine'> {
  readonly profileInto: string | undefined;
}

async function startPart(
  part: 'controller' | 'listener',
  { cluster, documents }: BenchServer,
  { profileInto, env, ...told }: PartOptions,
): Promise<Running> {
  await build(() => undefined);
  starts += 1;
  const directory = join(cluster.runDir, `davit-${starts}`);
  await mkdir(directory);
  await Promise.all(Object.entries(documents).map(([name, text]) => writeFile(join(directory, name), text)));
  return startArm({
    command: process.execPath,
    args: await entryPoint(part, profileInto),
    env: {
      ...(await mountServiceAccount(cluster, `davit-${part}`, directory)),
      DAVIT_SETTINGS: join(directory, 'settings.yaml'),
      DAVIT_REQUIREMENTS: join(directory, 'requirements.yaml'),
      DAVIT_NAMESPACE,
      DAVIT_HEALTH_PORT: '0',
      ...env,
    },
    log: join(cluster.logsDir, `davit-${starts}.log`),
    ...told,
  });
}
