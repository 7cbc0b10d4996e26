// Forwards a local port to a deployment: to one of its pods, and to another one when that pod ends.

import type { Pod } from '../deployments/assess/observed.ts';
import { isReadyPod } from '../deployments/assess/pod-failures.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { type Clock, type Command, DEPLOYMENT, OUTPUT, print } from './command.ts';
import { Failure, type Forwarded, type ForwardTarget, forward, type Kubectl } from './kubectl.ts';
import { listOf } from './records.ts';
import { needReadyPod } from './wait.ts';

/** The name of the port that Services lead to. */
const CONTAINER_PORT = 'http';
const EVERY_MS = 1000;
/** So long another pod may take to be ready when there is none. */
const ANOTHER_POD_MS = 60_000;
/** A forwarding that ends before this time has not worked, in milliseconds. */
const BRIEF_MS = 5000;
/** So many of them in a row are a failure. */
const MOST_BRIEF = 3;

export const openCommand: Command = {
  name: 'open',
  purpose: 'forward a local port to it until Ctrl-C, and print the URL',
  words: [DEPLOYMENT],
  flags: [{ name: 'port', value: 'PORT', help: 'local port; any free one by default', isNumber: true }, OUTPUT],
  about: 'When the pod that it leads to ends, as in a rollout, it leads to another one on the same local port.',
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      cluster,
      onEnd,
      warn,
      clock,
    } = context;
    const { code, close } = forwarding(
      {
        kubectl,
        clock,
        warn,
        forward: (target) => forward(cluster, target),
        onOpen(port) {
          const url = `http://127.0.0.1:${port}`;
          print(context, { name, url }, () => [url]);
          warn('Ctrl-C ends it.');
        },
      },
      name,
      flags.number('port') ?? 0,
    );
    process.once('SIGINT', close);
    onEnd(close);
    return code;
  },
};

export interface Forwarding {
  readonly kubectl: Kubectl;
  readonly clock: Clock;
  readonly warn: (line: string) => void;
  forward(target: ForwardTarget): Promise<Forwarded>;
  /** Called once, with the local port. */
  onOpen(port: number): void;
}

interface Ongoing {
  /** Resolves to the exit code when `close` was called. Throws Failure if no pod can be reached any more. */
  readonly code: Promise<number>;
  close(): void;
}

/** Forwards until it is closed. */
export function forwarding(tools: Forwarding, name: string, localPort: number): Ongoing {
  const { kubectl, clock, warn, onOpen } = tools;
  const open: { now?: Forwarded; isClosed: boolean } = { isClosed: false };

  async function follow(): Promise<number> {
    await needReadyPod(kubectl, name);
    let port = localPort;
    let brief = 0;
    let before = '';
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one pod after the other
      const pod = await readyPod(tools, name, before);
      const beganAt = clock.now();
      // oxlint-disable-next-line no-await-in-loop -- as above
      const forwarded = await tools.forward({ target: `pod/${pod}`, port: CONTAINER_PORT, localPort: port });
      open.now = forwarded;
      if (before === '') onOpen(forwarded.port);
      else if (before !== pod) warn(`It leads to pod ${pod} now.`);
      before = pod;
      ({ port } = forwarded);
      // oxlint-disable-next-line no-await-in-loop -- as above
      const end = await endOf(tools, name, { pod, forwarded });
      if (open.isClosed || end?.code === 0 || end?.code === 130) return end?.code ?? 130;
      if (end === undefined) continue;
      brief = clock.now() - beganAt < BRIEF_MS ? brief + 1 : 0;
      if (brief >= MOST_BRIEF) throw new Failure(end.message);
      // oxlint-disable-next-line no-await-in-loop -- the time between two attempts
      await clock.sleep(EVERY_MS);
    }
  }

  return {
    code: follow(),
    close() {
      open.isClosed = true;
      open.now?.close();
    },
  };
}

/** Resolves when it ends, or, to nothing, when it was closed because its pod goes and another one is ready. */
async function endOf(
  { kubectl, clock }: Forwarding,
  name: string,
  { pod, forwarded }: { readonly pod: string; readonly forwarded: Forwarded },
): Promise<Awaited<Forwarded['ended']> | undefined> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    const end = await Promise.race([forwarded.ended, clock.sleep(EVERY_MS).then(() => undefined)]);
    if (end) return end;
    // oxlint-disable-next-line no-await-in-loop -- as above
    const ready = await readyPods(kubectl, name).catch(ignored);
    if (ready === undefined || ready.length === 0 || ready.includes(pod)) continue;
    forwarded.close();
    // Its local port is free then.
    // oxlint-disable-next-line no-await-in-loop -- the last one
    await forwarded.ended;
    return undefined;
  }
}

/** A connection that works is not given up because a look has failed. */
function ignored(error: unknown): undefined {
  if (!(error instanceof Failure)) throw error;
}

/** A pod that can answer, not that of `before` where there is another one. Waits for one, and throws Failure if none comes. */
async function readyPod({ kubectl, clock, warn }: Forwarding, name: string, before: string): Promise<string> {
  const end = clock.now() + ANOTHER_POD_MS;
  for (let isFirst = true; ; isFirst = false) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    const ready = await readyPods(kubectl, name);
    const chosen = ready.find((one) => one !== before) ?? ready[0];
    if (chosen !== undefined) return chosen;
    // oxlint-disable-next-line no-await-in-loop -- the last look
    if (clock.now() >= end) await needReadyPod(kubectl, name);
    if (isFirst) warn(`Pod ${before} has ended, and no other one is ready. It is waited for.`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await clock.sleep(EVERY_MS);
  }
}

/** The names of those of the main service, newest first. */
async function readyPods(kubectl: Kubectl, name: string): Promise<string[]> {
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: 'server' });
  const madeAt = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && isReadyPod(pod))
    .toSorted((a, b) => (madeAt(a) < madeAt(b) ? 1 : -1))
    .map(({ metadata }) => metadata.name);
}
