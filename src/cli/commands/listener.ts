// Enrolls the cluster of a Listener, and takes its credentials away.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from '../../kinds/listener.ts';
import { HUB_SECRET, LISTENER_AGENT, LISTENER_TOKEN } from '../../kinds/listener-names.ts';
import { type Command, type Done, Misuse, OUTPUT, print, tell } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';

export const listenerCommand: Command = {
  name: 'listener',
  purpose: 'print the Secret with which a cluster connects as this Listener, or revoke its credentials',
  words: [
    { word: 'ACTION', names: 'action', choices: ['join', 'revoke'] },
    { word: 'NAME', names: 'listener' },
  ],
  flags: [
    {
      name: 'hub',
      value: 'URL',
      help: 'join: address of this API server as the other cluster reaches it; by default that of the kubeconfig',
    },
    OUTPUT,
  ],
  about: `The Secret is valid for one hour; the agent replaces its token at its first contact.

  PROGRAM listener join edge > hub-secret.json
  PROGRAM listener revoke edge`,
  changes: {
    nothing: 'Nothing was changed.',
    by: ['create', 'delete'],
    sent: ([action, name]) => `The command did not finish. Run it again: ${PROGRAM} listener ${action} ${name}`,
  },
  async run(context) {
    const {
      kubectl,
      words: [action, name = ''],
      flags,
      warn,
    } = context;
    if (action === 'revoke') {
      if (flags.has('hub')) throw new Misuse('--hub is for join.');
      tell(context, await revoke(kubectl, name));
      return 0;
    }
    const { manifest, instructions } = await join(kubectl, name, flags.text('hub'), (ms) => {
      warn(`Creating credentials takes ${ms / 1000} seconds.`);
      return sleep(ms);
    });
    print(context, JSON.parse(manifest), () => [manifest]);
    warn(instructions);
    return 0;
  },
};

/** Validity of the printed token. The agent replaces it at its first contact. */
const DURATION = '1h';

/**
 * An API server accepts a token for up to ten seconds after the deletion of the Secret to which it is bound. If a Secret of
 * the same name existed during that time, the token could create its own successor.
 */
const REVOKED_MS = 15_000;

export interface Joining {
  /** Manifest of the Secret for the other cluster, as JSON. */
  readonly manifest: string;
  /** What to do with it. */
  readonly instructions: string;
}

interface KubeconfigView {
  readonly clusters?: readonly {
    readonly cluster?: { readonly server?: string; readonly 'certificate-authority-data'?: string };
  }[];
}

/**
 * `hub`: address of this API server as the other cluster reaches it; by default that of the kubeconfig. `wait`: called with
 * milliseconds before new credentials are created. Throws Failure.
 */
export async function join(
  kubectl: Kubectl,
  name: string,
  hub: string | undefined,
  wait: (ms: number) => Promise<void>,
): Promise<Joining> {
  const listener = await readListener(kubectl, name);
  const namespace = hubNamespaceOf(listener);
  if ((listener.spec.namespaces ?? []).length === 0)
    throw new Failure(
      `Listener ${name} lists no namespace of its cluster. List those that its deployments may use: kubectl patch listener ${name} --type=merge -p '{"spec":{"namespaces":["NAMESPACE"]}}'`,
    );
  const view = JSON.parse(
    await kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json']),
  ) as KubeconfigView;
  const cluster = view.clusters?.[0]?.cluster;
  const server = hub ?? cluster?.server;
  if (server === undefined)
    throw new Failure('The kubeconfig has no server. Set the address of this API server: --hub URL.');
  await ensureTokenSecret(kubectl, listener, wait);
  const bound = [`--bound-object-kind=Secret`, `--bound-object-name=${LISTENER_TOKEN}`];
  const token = await kubectl([
    'create',
    'token',
    LISTENER_AGENT,
    `--namespace=${namespace}`,
    `--duration=${DURATION}`,
    ...bound,
  ]);
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const ca = cluster?.['certificate-authority-data'];
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: HUB_SECRET, namespace: 'davit-system' },
    type: 'Opaque',
    data: {
      server: encoded(server),
      namespace: encoded(namespace),
      token: encoded(token.trim()),
      ...(ca !== undefined && { ca }),
    },
  };
  return { manifest: JSON.stringify(secret, null, 2), instructions: instructionsFor(listener, server) };
}

async function ensureTokenSecret(
  kubectl: Kubectl,
  listener: Listener,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  const namespace = `--namespace=${hubNamespaceOf(listener)}`;
  const there = await kubectl(['get', 'secret', LISTENER_TOKEN, namespace, '--ignore-not-found', '-o', 'name']);
  if (there.trim() !== '') return;
  // It may have been deleted a moment ago.
  await wait(REVOKED_MS);
  await kubectl(['create', 'secret', 'generic', LISTENER_TOKEN, namespace]);
}

function instructionsFor({ metadata, spec }: Listener, server: string): string {
  const namespaces = spec.namespaces ?? [];
  return [
    `In the other cluster, which must reach ${server}, run these commands within one hour. Skip the namespaces that exist. If Davit is not installed there, give helm a values file (-f) that sets image.repository:`,
    `  kubectl create namespace davit-system`,
    `  kubectl apply -f FILE   # this output`,
    ...namespaces.flatMap((name) => [
      `  kubectl create namespace ${name}`,
      `  kubectl label namespace ${name} davit.dev/tenant=true davit.dev/listener=${metadata.uid}`,
    ]),
    `  helm upgrade --install davit charts/davit -n davit-system --reset-then-reuse-values --set listener.enabled=true,listener.namespaces='{${namespaces.join(',')}}'`,
    `Then: kubectl get listener ${metadata.name} -n ${metadata.namespace}`,
  ].join('\n');
}

/** Ends all tokens of the Listener's cluster. */
export async function revoke(kubectl: Kubectl, name: string): Promise<Done> {
  const namespace = hubNamespaceOf(await readListener(kubectl, name));
  await kubectl(['delete', 'secret', LISTENER_TOKEN, `--namespace=${namespace}`, '--ignore-not-found']);
  return {
    says: `The credentials of listener ${name} become invalid within 15 seconds. Its deployments continue to run. To enroll a cluster: ${PROGRAM} listener join ${name}`,
    result: { name, revoked: true },
  };
}

async function readListener(kubectl: Kubectl, name: string): Promise<Listener> {
  return JSON.parse(await kubectl(['get', 'listeners.davit.dev', name, '-o', 'json'])) as Listener;
}

function hubNamespaceOf({ metadata, status }: Listener): string {
  if (status?.namespace === undefined)
    throw new Failure(
      `Davit has not created a namespace for listener ${metadata.name} yet. Check that settings.listeners.enabled is true and that the controller is running.`,
    );
  return status.namespace;
}
