// A cluster with real pods, and Davit on it as anybody installs it: by Helm, with the built image.

import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import type { Cluster } from '../../../cluster/cluster.ts';
import type { Image } from '../../../cluster/images/build.ts';
import { realPods } from '../../../cluster/machine.ts';
import { ensureDavitImage } from '../../../image/davit-image.ts';
import { type SampleImages, startSampleCluster } from '../../../support/sample-cluster.ts';
import { landedSource } from '../../../support/upgrade/landed.ts';

export const NAMESPACE = 'davit-system';
export const chart = join(import.meta.dirname, '../../../../charts/davit');

const began = Date.now();

/** A line of the transcript. */
export function say(line: string): void {
  process.stderr.write(`${`${((Date.now() - began) / 1000).toFixed(1)} s`.padStart(9)}  ${line}\n`);
}

/** Why there are no real pods here; undefined where there are. */
export async function whyNoPods(): Promise<string | undefined> {
  if (process.env['DAVIT_PODS'] === 'off') return 'DAVIT_PODS is off';
  const machine = await realPods(say);
  return machine.ok ? undefined : `${machine.reason}. ${machine.install}`;
}

/** Each step of the file stands on the one before: those after one that failed are skipped. */
export function stepByStep(): void {
  let hasFailed = false;
  beforeEach((context) => context.skip(hasFailed, 'an earlier step has failed'));
  afterEach(({ task }) => {
    hasFailed ||= task.result?.state === 'fail';
  });
}

export interface Ground {
  readonly cluster: Cluster;
  readonly image: Image;
  readonly images: SampleImages;
  /** `--set` arguments that make the chart use the images that are here. */
  readonly values: readonly string[];
  /** The chart as a release before this one: packaged under another version. */
  readonly previousChart: string;
  /** The chart and the image of the state that landed last, where that was asked for. */
  readonly landed: { readonly chart: string; readonly image: Image } | undefined;
  stop(): Promise<void>;
}

export async function prepareGround({ withLanded = false } = {}): Promise<Ground> {
  const image = await ensureDavitImage(say);
  const landed = withLanded ? await landedRelease() : undefined;
  const { cluster, images } = await startSampleCluster({
    pods: 'auto',
    progress: say,
    more: async () => [image, ...(landed ? [landed.image] : [])],
  });
  const packages = await mkdtemp(join(tmpdir(), 'davit-chart-'));
  const version = '0.0.9';
  await cluster.helm(['package', chart, '--version', version, '--destination', packages]);
  const [repository = '', tag = ''] = image.name.split(':');
  const set = {
    'image.repository': repository,
    'image.tag': tag,
    'settings.images.postgres': images.postgres,
    'settings.images.redis': images.redis,
    'settings.address.kind': 'ingress',
    'settings.address.baseDomain': 'apps.example.com',
  };
  return {
    cluster,
    image,
    images,
    values: Object.entries(set).flatMap(([path, value]) => ['--set-string', `${path}=${value}`]),
    previousChart: join(packages, `davit-${version}.tgz`),
    landed,
    stop: async () => {
      await cluster.stop();
      await rm(packages, { recursive: true, force: true });
    },
  };
}

async function landedRelease(): Promise<NonNullable<Ground['landed']>> {
  const folder = await landedSource();
  const image = await ensureDavitImage(say, { folder, suffix: '-landed' });
  return { chart: join(folder, 'charts/davit'), image };
}

/** Asks until the answer satisfies, and answers how long it took, in seconds. */
export async function until<T>(
  what: string,
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
  withinMs = 90_000,
): Promise<T> {
  let last: unknown;
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(200)) {
    try {
      const answer = await ask();
      if (isEnough(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
    }
  }
  throw new Error(`waited ${withinMs / 1000} s for ${what}; last seen: ${JSON.stringify(last)?.slice(0, 2000)}`);
}

export interface Api {
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  call(method: string, path: string, body?: object): Promise<{ status: number; body: any }>;
  close(): void;
}

/** The API at its Service, over TLS, with the certificate that the chart has made checked against its name. */
export async function connectApi(cluster: Cluster, token: string, tenant: string): Promise<Api> {
  const read = (kind: string, name: string, path: string): Promise<string> =>
    cluster.kubectl(['get', kind, name, '-n', NAMESPACE, '-o', `jsonpath=${path}`]);
  const host = await read('service', 'davit-api', '{.spec.clusterIP}');
  const ca = Buffer.from(await read('secret', 'davit-api-tls', '{.data.tls\\.crt}'), 'base64');
  const agent = new Agent({ ca, servername: `davit-api.${NAMESPACE}.svc`, keepAlive: false });
  return {
    close: () => agent.destroy(),
    call: (method, path, body) =>
      new Promise((resolve, reject) => {
        const headers = {
          'x-api-key': token,
          'x-tenant-id': tenant,
          ...(body && { 'content-type': 'application/json' }),
        };
        const asked = request({ host, port: 443, method, path, headers, agent }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: text === '' ? undefined : JSON.parse(text) }),
          );
        });
        asked.setTimeout(20_000, () => asked.destroy(new Error(`${method} ${path}: no answer in 20 s`)));
        asked.on('error', reject);
        asked.end(body && JSON.stringify(body));
      }),
  };
}

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status: {
    readonly podIP?: string;
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly restartCount: number;
      readonly ready: boolean;
      readonly state: { readonly running?: { readonly startedAt: string } };
    }[];
  };
}

export async function podsOf(cluster: Cluster, namespace: string, selector: string): Promise<readonly Pod[]> {
  const list = await cluster.kubectl(['get', 'pods', '-n', namespace, '-l', selector, '-o', 'json']);
  return (JSON.parse(list) as { items: Pod[] }).items;
}

export function restartsOf(pods: readonly Pod[]): number {
  return pods.flatMap(({ status }) => status.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0);
}
