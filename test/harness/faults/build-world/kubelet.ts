// Somebody who plays the kubelet for the pods that build, since the node of these clusters does not exist: what each
// container fetches, plans and pushes, and what its status then says.

import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUILD_LABEL } from '../../../../src/kinds/meta.ts';
import type { ApiClient, ApiObject } from '../../../cluster/api-client.ts';
import { type BuildOutcome, type Credentials, endOf, statusOf } from '../build-pod-status.ts';
import { basic } from './code-host.ts';
import { digestOf, type MadeImage, REGISTRY_HOST } from './registry.ts';
import type { Sources } from './sources.ts';

/** Where the pods build, and with what. */
export interface Workshop {
  readonly api: ApiClient;
  readonly namespace: string;
  readonly sources: Sources;
  readonly registryUrl: string;
  /** What was pushed is put there. */
  readonly made: MadeImage[];
  /** Resolves when builds that are held may go on. */
  held(): Promise<void>;
  readonly over: AbortSignal;
}

interface BuildingPod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly initContainers: readonly Container[];
    readonly containers: readonly Container[];
  };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** Plays every pod of the namespace, until it is over. */
export function playPods(workshop: Workshop): void {
  const { api, namespace, over } = workshop;
  const playing = new Set<string>();
  void api.follow<BuildingPod>(`/api/v1/namespaces/${namespace}/pods`, over, (pod, gone) => {
    const { uid = '', deletionTimestamp } = pod.metadata;
    if (gone || deletionTimestamp !== undefined || pod.spec.nodeName === undefined || playing.has(uid)) return;
    playing.add(uid);
    // One that was deleted meanwhile is nobody's any more.
    play(workshop, pod).catch(() => undefined);
  });
}

/** The kubelet's part: Secrets first, then one container after the other. */
async function play(workshop: Workshop, pod: BuildingPod): Promise<void> {
  const { api, namespace, sources, over } = workshop;
  const { name, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  const show = (...outcomes: readonly BuildOutcome[]): Promise<unknown> =>
    api.call('PATCH', path, { metadata: { uid }, status: statusOf(pod, outcomes) }, 'application/merge-patch+json');
  const secrets = await mounted(api, namespace, pod, over);
  if (!secrets) return;
  await show();
  const fetch = await fetched(workshop, pod, secrets);
  await show(fetch);
  if (fetch.exitCode !== 0) return;
  const plan = sources.scriptOf(fetch.source) === 'plan fails' ? endOf.plan() : { exitCode: 0, message: '' };
  await show(fetch, plan);
  if (plan.exitCode !== 0) return;
  await show(fetch, plan, await built(workshop, pod, fetch.source, secrets));
}

async function fetched(
  { sources, registryUrl }: Workshop,
  pod: BuildingPod,
  credentials: Credentials,
): Promise<BuildOutcome & { source: string }> {
  const env = environmentOf(pod, 'fetch');
  const { URL: url, REF: ref = '', REPOSITORY: repository, TAG: tag = '' } = env;
  if (url === undefined) {
    const headers = { authorization: basic(credentials.source['username'], credentials.source['password']) };
    const status = await ask(`${registryUrl}/v2/${repository}/manifests/${tag}`, { headers }).catch(() => 0);
    const source = tag.replace('upload-', 'uploads/');
    return { ...endOf.upload(status), source };
  }
  const headers = { authorization: basic('x-access-token', credentials.source['token']) };
  const status = await ask(`${url}?sha=${ref}`, { headers, ca: credentials.source['ca.crt'] ?? '' }).catch(() => 0);
  const source = sources.scriptOf(ref) ? ref : (sources.headOf(new URL(url).pathname.slice(1)) ?? '');
  return { ...endOf.fetch(status, url, source), source };
}

async function built(
  { sources, made, registryUrl, held, over }: Workshop,
  pod: BuildingPod,
  source: string,
  credentials: Credentials,
): Promise<BuildOutcome> {
  const script = sources.scriptOf(source);
  if (script === 'never ends') await sleep(600_000, undefined, { signal: over, ref: false });
  if (script === 'is held, then fails') await held();
  if (script === 'step fails' || script === 'is held, then fails') return endOf.step();
  const [, repository = '', tag = ''] = /name=[^/,]+\/([^:,]+):([^,"]+),push=true/.exec(JSON.stringify(pod.spec)) ?? [];
  const headers = { authorization: basic(credentials.push['username'], credentials.push['password']) };
  const put = { method: 'PUT', headers, body: source };
  const status = await ask(`${registryUrl}/v2/${repository}/manifests/${tag}`, put).catch(() => 0);
  if (status !== 201) return endOf.push(status, `${REGISTRY_HOST}/${repository}:${tag}`);
  const digest = digestOf(repository.split('/').at(-1) ?? '', source);
  made.push({ revision: pod.metadata.labels?.[BUILD_LABEL] ?? '', repository, source, digest });
  return { exitCode: 0, message: digest };
}

function environmentOf({ spec }: BuildingPod, name: string): Readonly<Record<string, string | undefined>> {
  const container = spec.initContainers.find((one) => one.name === name);
  return Object.fromEntries((container?.env ?? []).map((variable) => [variable.name, variable.value]));
}

/** The status of the answer. */
function ask(
  address: string,
  options: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly ca?: string;
  },
): Promise<number> {
  const { method = 'GET', headers, body = '', ca } = options;
  const send = address.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(address, { method, headers, agent: false, ...(ca !== undefined && { ca }) }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** No container starts before both Secrets are there; undefined where the pod will have none any more. */
async function mounted(
  api: ApiClient,
  namespace: string,
  pod: BuildingPod,
  signal: AbortSignal,
): Promise<Credentials | undefined> {
  const build = `build-${pod.metadata.labels?.[BUILD_LABEL]}`;
  const read = async (part: 'source' | 'push'): Promise<Record<string, string>> => {
    const { data = {} } = await api.call<ApiObject & { readonly data?: Readonly<Record<string, string>> }>(
      'GET',
      `/api/v1/namespaces/${namespace}/secrets/${build}-${part}`,
    );
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };
  while (!signal.aborted) {
    try {
      const [source, push] = await Promise.all([read('source'), read('push')]);
      return { source, push };
    } catch {
      await sleep(50);
    }
    const { items } = await api.call<{ items: readonly ApiObject[] }>('GET', `/api/v1/namespaces/${namespace}/pods`);
    if (!items.some(({ metadata }) => metadata.uid === pod.metadata.uid)) return undefined;
  }
  return undefined;
}
