// The facade as the image has it, the bare server that it is held against, and the loads that both are put under.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { DAVIT_NAMESPACE } from '../../support/platform.ts';
import { startArm } from './contender-process.ts';
import { entryPoint } from './entry-point.ts';
import type { Load, Loaded } from './http-load.ts';
import { kubeconfigFor } from './log-source.ts';
import type { Bench, BenchServer, Running } from './measure.ts';
import { mountServiceAccount } from './service-account.ts';

const LISTED_WITHIN_MS = 120_000;
/** Far more than is asked, so that requests are counted as they always are and none is refused. */
const REQUESTS_PER_MINUTE = 1_000_000;

export interface Serving extends Running {
  readonly url: string;
}

/**
 * Bundled before (`davit().prepare`); resolves when all its caches are listed. `through`: what stands before the API
 * server, by plain HTTP.
 */
export async function startFacade(
  { profileInto }: Bench,
  { cluster, documents }: BenchServer,
  through?: string,
): Promise<Serving> {
  const directory = join(cluster.runDir, `facade-${Date.now()}`);
  await mkdir(directory);
  const settings = parseYaml(documents['settings.yaml'] ?? '') as { http?: object } | null;
  const http = { ...settings?.http, requestsPerMinute: REQUESTS_PER_MINUTE };
  await writeFile(join(directory, 'settings.yaml'), JSON.stringify({ ...settings, http }));
  let url = '';
  const running = await startArm({
    command: process.execPath,
    args: await entryPoint('api', profileInto),
    env: {
      ...(through === undefined
        ? await mountServiceAccount(cluster, 'davit-api', directory)
        : {
            DAVIT_KUBECONFIG: await kubeconfigFor(
              through,
              await cluster.tokenFor(DAVIT_NAMESPACE, 'davit-api'),
              directory,
            ),
          }),
      DAVIT_SETTINGS: join(directory, 'settings.yaml'),
      DAVIT_NAMESPACE,
      DAVIT_HTTP_PORT: '0',
      DAVIT_HEALTH_PORT: '0',
    },
    log: join(cluster.logsDir, 'facade.log'),
    isReady: (line) => {
      url ||= /"url":"([^"]+)"/.exec(line)?.[1] ?? '';
      return line.includes('"msg":"Started"');
    },
  });
  const patience = performance.now() + LISTED_WITHIN_MS;
  while ((await fetch(`${url}/readyz`)).status !== 200) {
    if (performance.now() > patience) throw new Error('the facade has not listed its caches');
    await sleep(50);
  }
  return { ...running, url };
}

/** Fastify alone, with these bodies by path. */
export async function startBare({ cluster }: BenchServer, bodies: Readonly<Record<string, string>>): Promise<Serving> {
  const file = join(cluster.runDir, 'bare.json');
  await writeFile(file, JSON.stringify(bodies));
  let url = '';
  const running = await startArm({
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-server.ts'), file],
    env: {},
    log: join(cluster.logsDir, 'bare.log'),
    isReady: (line) => {
      url = line;
      return line.startsWith('http://');
    },
  });
  return { ...running, url };
}

/** Puts a server under load from a process of its own. Throws when an answer is no success. */
export async function putUnder(load: Load): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'http-load.ts'),
    JSON.stringify(load),
  ]);
  const loaded = JSON.parse(stdout) as Loaded;
  const failed = Object.entries(loaded.statuses).filter(([status]) => !status.startsWith('2'));
  if (failed.length > 0 || loaded.turns === 0)
    throw new Error(`${load.url}: answers by status: ${JSON.stringify(loaded.statuses)}`);
  return loaded;
}

/** Runs both, one after the other, each of them first every other time: what a machine does by the way then favours neither. */
export async function inTurns(
  repeat: number,
  ours: () => Promise<Loaded>,
  theirs: () => Promise<Loaded>,
): Promise<readonly [ours: Loaded, theirs: Loaded]> {
  if (repeat % 2 === 0) return [await ours(), await theirs()];
  const second = await theirs();
  return [await ours(), second];
}
