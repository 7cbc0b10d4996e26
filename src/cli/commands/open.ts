// Prints the address of a deployment, or forwards a local port to it: to one of its pods, and to another one when that pod ends.

import { createServer } from 'node:net';
import type { Pod } from '../../deploy/assess/observed.ts';
import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { API_FLAGS, type Clock, type Command, type Context, DEPLOYMENT, OUTPUT, print } from '../line/command.ts';
import { EXIT_CODES } from '../transport/exit-codes.ts';
import {
  Failure,
  type Forwarded,
  type ForwardTarget,
  forward,
  ignoreFailure,
  type Kubectl,
} from '../transport/kubectl.ts';
import { listOf, readyPods } from '../transport/records.ts';
import { needDeployment } from './build-log.ts';
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

const MOST_PORT = 65_535;

export const openCommand: Command = {
  name: 'open',
  purpose: 'forward a local port to it until Ctrl-C, and print the URL',
  words: [DEPLOYMENT],
  flags: [
    { name: 'port', value: 'PORT', help: 'local port; any free one by default', isNumber: true, most: MOST_PORT },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `When the pod behind the port ends, as in a rollout, another pod replaces it on the same local port. kubectl forwards the port.
With --server or DAVIT_SERVER and without --port, the command prints the address of the deployment, and ends.`,
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      cluster,
      warn,
      clock,
    } = context;
    const address = await ownAddress(context, name);
    if (address !== null) {
      print(context, { name, url: address }, () => [address]);
      return 0;
    }
    const localPort = flags.number('port') ?? 0;
    await needFreePort(localPort);
    return forwarding(
      {
        kubectl,
        clock,
        warn,
        forward: (target) => forward(cluster, target),
        onOpen(port) {
          const url = `http://${ADDRESS}:${port}`;
          print(context, { name, url }, () => [url]);
          warn('Ctrl-C ends it.');
        },
      },
      name,
      localPort,
    );
  },
};

/** Null where a port is forwarded. */
async function ownAddress({ api, flags, server, warn }: Context, name: string): Promise<string | null> {
  if (server === undefined || flags.has('port')) return null;
  const { custom_url: address } = (await needDeployment(await api(), name)).source_config;
  if (address === null) warn(`${name} has no address outside the cluster, so kubectl forwards a local port.`);
  return address;
}

const ADDRESS = '127.0.0.1';
const WHY_NOT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens on it',
  EACCES: 'you may not listen on it',
};

/** Asked before anything else. 0 is any free port. Throws Failure. */
async function needFreePort(port: number): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve).listen(port, ADDRESS, () => server.close(() => resolve(undefined)));
  });
  if (error === undefined) return;
  const why = WHY_NOT[error.code ?? ''] ?? error.message;
  throw new Failure(
    `Port ${port} of ${ADDRESS} cannot be used: ${why}. Choose another with --port, or leave out --port to use any free one.`,
  );
}

export interface Forwarding {
  readonly kubectl: Kubectl;
  readonly clock: Clock;
  readonly warn: (line: string) => void;
  forward(target: ForwardTarget): Promise<Forwarded>;
  /** Called once, with the local port. */
  onOpen(port: number): void;
}

/** Forwards until kubectl is ended from outside, and resolves to its exit code. Throws Failure if no pod can be reached any more. */
export async function forwarding(tools: Forwarding, name: string, localPort: number): Promise<number> {
  const { kubectl, clock, warn, onOpen } = tools;
  await needReadyPod(kubectl, name);
  let port = localPort;
  let brief = 0;
  let before = '';
  for (;;) {
    const pod = await readyPod(tools, name, before);
    const beganAt = clock.now();
    const forwarded = await tools.forward({ target: `pod/${pod}`, port: CONTAINER_PORT, localPort: port });
    if (before === '') onOpen(forwarded.port);
    else if (before !== pod) warn(`The port now leads to pod ${pod}.`);
    before = pod;
    ({ port } = forwarded);
    const end = await endOf(tools, name, { pod, forwarded });
    if (end?.code === 0 || end?.code === EXIT_CODES.interrupted.code) return end.code;
    if (end === undefined) continue;
    brief = clock.now() - beganAt < BRIEF_MS ? brief + 1 : 0;
    if (brief >= MOST_BRIEF) throw new Failure(end.message);
    await clock.sleep(EVERY_MS);
  }
}

/** Resolves when it ends, or, to nothing, when it was closed because its pod goes and another one is ready. */
async function endOf(
  { kubectl, clock }: Forwarding,
  name: string,
  { pod, forwarded }: { readonly pod: string; readonly forwarded: Forwarded },
): Promise<Awaited<Forwarded['ended']> | undefined> {
  for (;;) {
    const end = await Promise.race([forwarded.ended, clock.sleep(EVERY_MS).then(() => undefined)]);
    if (end) return end;
    // A connection that works is not given up because a look has failed.
    const ready = await readyServers(kubectl, name).catch(ignoreFailure);
    if (ready === undefined || ready.length === 0 || ready.includes(pod)) continue;
    forwarded.close();
    // Its local port is free then.
    await forwarded.ended;
    return undefined;
  }
}

/** A pod that can answer, not that of `before` where there is another one. Waits for one, and throws Failure if none comes. */
async function readyPod({ kubectl, clock, warn }: Forwarding, name: string, before: string): Promise<string> {
  const end = clock.now() + ANOTHER_POD_MS;
  for (let isFirst = true; ; isFirst = false) {
    const ready = await readyServers(kubectl, name);
    const chosen = ready.find((one) => one !== before) ?? ready[0];
    if (chosen !== undefined) return chosen;
    if (clock.now() >= end) await needReadyPod(kubectl, name);
    if (isFirst) warn(`Pod ${before} has ended, and no other pod is ready. Waiting for one.`);
    await clock.sleep(EVERY_MS);
  }
}

/** The names of those of the main service, newest first. */
async function readyServers(kubectl: Kubectl, name: string): Promise<string[]> {
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: 'server' });
  return readyPods(pods).map(({ metadata }) => metadata.name);
}
