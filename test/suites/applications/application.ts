// A platform with one example of docs/examples on it, deployed by its JSON file, and clients of it in pods of their own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Image } from '../../cluster/images/build.ts';
import { startPlatform, type Tenant } from '../../support/platform.ts';
import { type Attached, callsTo, eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';
import { ensureExampleImages, exampleFile } from './python-image.ts';

/** A step as the graph notes it. */
interface Step {
  readonly number: number;
  readonly worker: string;
  readonly version: string;
  readonly greeting: string;
}
interface Load {
  readonly runs: readonly { readonly status: string; readonly done: readonly Step[]; readonly again: number }[];
  /** Requests that had to be sent again. */
  readonly broken: number;
}
export interface LoadOptions {
  readonly runs: number;
  readonly steps: number;
  readonly seconds: number;
}
export interface Outcome {
  readonly lost: number;
  /** Runs that ended as `error`, and that the client began again on their thread. */
  readonly again: number;
  /** Runs that more than one worker had a part in. */
  readonly resumed: number;
  /** What the graph noted, of all runs. */
  readonly versions: readonly string[];
  readonly greetings: readonly string[];
}

export interface Application {
  readonly cluster: Cluster;
  readonly tenant: Tenant;
  /** References of both versions, by digest. */
  readonly images: readonly [string, string];
  call: Attached['call'];
  /** Changes the deployment by PATCH; answers with its latest revision. */
  change(body: object): Promise<string>;
  /** Waits until the revision is DEPLOYED. */
  deployed(revision: string): Promise<void>;
  /** The deployment's revisions, newest first. */
  revisions(): Promise<readonly { readonly id: string; readonly status: string }[]>;
  redeploy(revision: string): Promise<string>;
  /** Names of the ready pods of a part, without those that end. */
  pods(component: string): Promise<readonly string[]>;
  /** Streams a run of so many steps; the numbers of those that came and of those that the thread keeps. */
  stream(steps: number): Promise<{ readonly came: readonly number[]; readonly kept: readonly number[] }>;
  /** Runs that begin, then what `meanwhile` does, then how they ended. Says the figures. */
  underLoad(what: string, load: LoadOptions, meanwhile: () => Promise<void>): Promise<Outcome>;
  stop(): Promise<void>;
}

const NAMESPACE = 'team';
/** Time that a load has to end, counted from its beginning. */
const LOAD_SECONDS = 600;
const client = readFileSync(join(import.meta.dirname, 'client.py'), 'utf8');

function secondsSince(from: number): number {
  return Math.round((performance.now() - from) / 1000);
}

function byDigest({ name, digest }: Image): string {
  return `${name.slice(0, name.lastIndexOf(':'))}@${digest}`;
}

/** Starts cluster and platform, deploys the example `name`, and waits until it is Ready. */
export async function startApplication(name: string, progress: (line: string) => void): Promise<Application> {
  const versions = await ensureExampleImages(name, progress);
  const { cluster, images } = await startSampleCluster({
    pods: 'auto',
    more: async () => Object.values(versions),
    progress,
  });
  const platform = await startPlatform(cluster, {
    progress,
    values: { 'settings.images.postgres': images.postgres, 'settings.images.redis': images.redis },
  }).catch(async (error: unknown) => {
    await cluster.stop();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await platform.stop();
    await cluster.stop();
  };
  const { kubectl } = cluster;
  const call = callsTo(platform.apiUrl);
  const references = [byDigest(versions[1]), byDigest(versions[2])] as const;
  let clients = 0;

  async function begin(args: readonly (string | number)[]): Promise<string> {
    clients += 1;
    const pod = `client-${clients}`;
    const container = {
      name: 'client',
      image: references[0],
      command: ['python', '-c', client, `http://${name}.${NAMESPACE}.svc`, ...args.map(String)],
    };
    const spec = { restartPolicy: 'Never', containers: [container] };
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: pod, namespace: NAMESPACE }, spec };
    await kubectl(['create', '-f', '-'], { input: JSON.stringify(manifest) });
    return pod;
  }
  const logOf = (pod: string): Promise<string> => kubectl(['logs', pod, '-n', NAMESPACE]);
  async function resultOf<T>(pod: string): Promise<T> {
    const phase = await eventually(
      async () => {
        const found = await kubectl(['get', 'pod', pod, '-n', NAMESPACE, '-o', 'jsonpath={.status.phase}']);
        if (found !== 'Succeeded' && found !== 'Failed') throw new Error(`${pod} is ${found}`);
        return found;
      },
      LOAD_SECONDS * 1000,
      1000,
    );
    const log = await logOf(pod);
    if (phase === 'Failed') throw new Error(`${pod} failed: ${log.slice(-3000)}`);
    return JSON.parse(log.trim().split('\n').at(-1) ?? '') as T;
  }

  try {
    const tenant = await platform.makeTenant(NAMESPACE);
    await eventually(async () => expect((await call(tenant, 'GET', '/v2/deployments')).status).toBe(200));
    // The same for kubectl: the API server takes it, too.
    await kubectl(['create', '--dry-run=server', '-n', NAMESPACE, '-f', exampleFile(name, 'yaml')]);
    const example = JSON.parse(readFileSync(exampleFile(name, 'json'), 'utf8')) as object;
    const body = { ...example, source_revision_config: { image_uri: references[0] } };
    const from = performance.now();
    const created = await call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', body);
    expect([created.status, created.body.detail]).toEqual([201, undefined]);
    const path = `/v2/deployments/${created.body.id}`;
    const ready = ['wait', '--for=condition=Ready', `appd/${name}`, '-n', NAMESPACE, '--timeout=420s'];
    await kubectl(ready).catch(async (error: unknown) => {
      const pods = await kubectl(['get', 'pods', '-n', NAMESPACE]);
      const logs = await kubectl([
        'logs',
        '-n',
        NAMESPACE,
        '-l',
        `davit.dev/deployment=${name}`,
        '--tail=40',
        '--prefix',
      ]);
      throw new Error(`${name} is not Ready\n${pods}\n${logs}`, { cause: error });
    });
    progress(`${name}: READY after ${secondsSince(from)} s`);

    return {
      cluster,
      tenant,
      images: references,
      call,
      stop,
      async change(changes) {
        const answer = await call(tenant, 'PATCH', path, changes);
        expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
        return answer.body.latest_revision_id;
      },
      async deployed(revision) {
        await eventually(
          async () => {
            const { status, status_message: message } = (await call(tenant, 'GET', `${path}/revisions/${revision}`))
              .body;
            expect([status, message]).toEqual(['DEPLOYED', expect.anything()]);
          },
          240_000,
          1000,
        );
      },
      async revisions() {
        return (await call(tenant, 'GET', `${path}/revisions`)).body.resources;
      },
      async redeploy(revision) {
        const answer = await call(tenant, 'POST', `${path}/revisions/${revision}/redeploy`);
        expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
        return answer.body.latest_revision_id;
      },
      async pods(component) {
        const labels = `davit.dev/deployment=${name},davit.dev/component=${component}`;
        const listed = JSON.parse(await kubectl(['get', 'pods', '-n', NAMESPACE, '-l', labels, '-o', 'json'])) as {
          items: {
            metadata: { name: string; deletionTimestamp?: string };
            status: { conditions?: { type: string; status: string }[] };
          }[];
        };
        const isReady = ({ status }: (typeof listed.items)[number]): boolean =>
          status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
        return listed.items
          .filter((pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod))
          .map(({ metadata }) => metadata.name);
      },
      async stream(steps) {
        return resultOf(await begin(['stream', steps]));
      },
      async underLoad(what, { runs, steps, seconds }, meanwhile) {
        const pod = await begin(['load', runs, steps, seconds, LOAD_SECONDS]);
        await eventually(async () => expect(await logOf(pod)).toContain('begun'), 120_000, 1000);
        const since = performance.now();
        await meanwhile();
        const took = secondsSince(since);
        const { runs: ended, broken } = await resultOf<Load>(pod);
        const numbers = Array.from({ length: steps }, (_, index) => index).join();
        const isWhole = ({ status, done }: Load['runs'][number]): boolean =>
          status === 'success' && done.map(({ number }) => number).join() === numbers;
        const workersOf = ({ done }: Load['runs'][number]): number => new Set(done.map(({ worker }) => worker)).size;
        const lost = ended.filter((one) => !isWhole(one));
        const resumed = ended.filter((one) => workersOf(one) > 1).length;
        const again = ended.filter((one) => one.again > 0).length;
        progress(
          `${name}, ${what}: ${ended.length} runs, ${lost.length} lost, ${resumed} resumed, ${again} begun again, ${broken} requests again, ${took} s`,
        );
        for (const { status, done } of lost) progress(`  lost: ${status} after ${done.length} of ${steps} steps`);
        const noted = (field: 'version' | 'greeting'): string[] =>
          [...new Set(ended.flatMap(({ done }) => done.map((step) => step[field])))].toSorted();
        expect(ended).toHaveLength(runs);
        return { lost: lost.length, again, resumed, versions: noted('version'), greetings: noted('greeting') };
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
