// Pods of images whose name contains `played`, which the stand-in leaves alone: those that stay are said to be ready, and the containers of
// those that end are run on this machine, one after the other, by what the test gives.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import { statusFor } from '../cluster/stand-in.ts';

export interface PlayedContainer {
  readonly name: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** With the values of Secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Uid of the pod, whose containers share a folder. */
  readonly pod: string;
}

export interface Ended {
  readonly code: number;
  /** Termination message. */
  readonly message: string;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
  }[];
}
interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
  };
}

/** Resolves when it has stopped to what each container that ended has said. */
export function playPods(
  cluster: Cluster,
  namespace: string,
  run: (container: PlayedContainer) => Promise<Ended>,
): { stop(): Promise<readonly string[]> } {
  const ending = new AbortController();
  const seen = new Set<string>();
  const said: string[] = [];
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', namespace, ...args]);
  const secret = async (name: string, key: string): Promise<string> => {
    const { data } = JSON.parse(await kubectl('get', 'secret', name, '-o', 'json')) as { data: Record<string, string> };
    return Buffer.from(data[key] ?? '', 'base64').toString();
  };
  const write = (pod: Pod, status: object): Promise<string> =>
    kubectl(
      'patch',
      'pod',
      pod.metadata.name,
      '--subresource=status',
      '--type=strategic',
      '-p',
      JSON.stringify({ status }),
    );

  async function begin(container: Container, pod: Pod): Promise<Ended> {
    const env: Record<string, string> = {};
    for (const { name, value = '', valueFrom } of container.env ?? []) {
      const ref = valueFrom?.secretKeyRef;
      // oxlint-disable-next-line no-await-in-loop -- a few
      env[name] = ref ? await secret(ref.name, ref.key) : literal(value);
    }
    const words = (all: readonly string[] = []): string[] => all.map(literal);
    const ended = await run({
      name: container.name,
      command: words(container.command),
      args: words(container.args),
      env,
      pod: pod.metadata.uid,
    });
    said.push(`${container.name} ${ended.code} ${ended.message}`);
    return ended;
  }

  async function play(pod: Pod): Promise<void> {
    const { initContainers = [], containers, restartPolicy = 'Always' } = pod.spec;
    const now = new Date();
    if (restartPolicy === 'Always') return void (await write(pod, statusFor(pod, '192.0.2.9', now)));
    const ends: (Ended | undefined)[] = [];
    for (const container of [...initContainers, ...containers]) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      ends.push(ends.every((one) => one?.code === 0) ? await begin(container, pod) : undefined);
    }
    const time = new Date().toISOString();
    const statusOf = ({ name, image }: Container, ended: Ended | undefined): object => ({
      name,
      image,
      imageID: image,
      restartCount: 0,
      ready: ended?.code === 0,
      state: ended
        ? { terminated: { exitCode: ended.code, message: ended.message, startedAt: time, finishedAt: time } }
        : { waiting: { reason: 'PodInitializing' } },
    });
    await write(pod, {
      phase: ends.every((one) => one?.code === 0) ? 'Succeeded' : 'Failed',
      startTime: now.toISOString(),
      initContainerStatuses: initContainers.map((one, at) => statusOf(one, ends[at])),
      containerStatuses: containers.map((one, at) => statusOf(one, ends[initContainers.length + at])),
    });
  }

  async function follow(): Promise<readonly string[]> {
    while (!ending.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: Pod[] };
      for (const pod of items) {
        const { uid, deletionTimestamp } = pod.metadata;
        const isPlayed = pod.spec.containers.some(({ image }) => image.includes('played'));
        if (!isPlayed || seen.has(uid) || deletionTimestamp !== undefined || pod.spec.nodeName === undefined) continue;
        seen.add(uid);
        // oxlint-disable-next-line no-await-in-loop -- one pod after the other
        await play(pod).catch((error: unknown) => said.push(String(error)));
      }
      // oxlint-disable-next-line no-await-in-loop -- the time between two looks
      await sleep(300);
    }
    return said;
  }
  const following = follow();
  following.catch(() => undefined);
  return {
    stop() {
      ending.abort();
      return following;
    },
  };
}

/** As the kubelet reads it. No name of a variable is in it. */
function literal(text: string): string {
  return text.replaceAll('$$', () => '$');
}
