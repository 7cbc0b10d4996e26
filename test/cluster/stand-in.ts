// The stand-in where real pods are impossible: a node that does not exist, and a loop that writes the status which a
// kubelet would. No process runs, no image is looked at, no probe is sent. What it shows is objects, not behaviour.
//
// An image whose name contains `missing` is never found, so that tests see ImagePullBackOff; a pod with one that contains
// `unmounted` never begins, as where a volume cannot be mounted. With one that contains `played` it is left to somebody else
// to say what becomes of the pod. What runs once of one that contains `failing` fails. A pod that loads a backup is refused if
// the name of the backup ends with `dead`, and never ends if it ends with `beef`.
import { REFUSED } from '../../src/kinds/meta.ts';
import { type ApiClient, type ApiObject, patient } from './api-client.ts';

export const standInNode = 'davit-stand-in';

const missingImage = /missing/;
const unmountedImage = /unmounted/;
const playedImage = /played/;
const failingImage = /failing/;
const heartbeatMs = 3000;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly resources?: object;
  readonly args?: readonly string[];
}

/** Exit code of what fails. */
const FAILED = 3;

/** Annotation of a pod that ends: what its containers say at their end. */
const SAYS = 'stand-in/says';

interface Pod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly image: string;
      readonly ready?: boolean;
      readonly resources?: object;
    }[];
  };
}

export async function startStandIn(api: ApiClient, signal: AbortSignal): Promise<void> {
  await api.ensure('/api/v1/nodes', node(new Date()));
  const stopHeartbeat = await keepAlive(api);
  signal.addEventListener('abort', stopHeartbeat, { once: true });
  const addresses = countAddresses();
  // No event would call a second time for what was lost while the server was away.
  const waiting = patient(api);
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${standInNode}`;
  void api.follow<Pod>(path, signal, (pod, gone) => {
    if (gone) return;
    // A conflict or a pod that has gone meanwhile: the next event brings the newer state.
    obey(waiting, pod, addresses).catch(() => undefined);
  });
}

async function obey(api: ApiClient, pod: Pod, addresses: () => string): Promise<void> {
  const { namespace, name } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  if (pod.metadata.deletionTimestamp !== undefined) {
    await api.call('DELETE', path, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
    return;
  }
  if (pod.spec.containers.some(({ image }) => playedImage.test(image)) || backupOf(pod)?.endsWith('beef') === true)
    return;
  // Said already; again only when an image has been corrected in place, lest each answer call for the next.
  const said = pod.status?.containerStatuses?.map((container) => container.image);
  const isSaid = said?.join() === pod.spec.containers.map((container) => container.image).join();
  const status = isSaid ? (resizedStatus(pod) ?? readyAgain(pod, new Date())) : statusFor(pod, addresses(), new Date());
  if (!status) return;
  await api.call(
    'PATCH',
    `${path}/status`,
    { metadata: { uid: pod.metadata.uid }, status },
    'application/strategic-merge-patch+json',
  );
}

/** The sizes in force of a pod that has been resized, as a kubelet with room for them says at once; exported for its test. */
export function resizedStatus({ spec, status }: Pod): Record<string, unknown> | undefined {
  const containerStatuses = (status?.containerStatuses ?? []).flatMap(({ name, resources }) => {
    const wanted = spec.containers.find((container) => container.name === name)?.resources;
    return resources === undefined || JSON.stringify(wanted) === JSON.stringify(resources)
      ? []
      : [{ name, resources: wanted }];
  });
  return containerStatuses.length > 0 ? { containerStatuses } : undefined;
}

/**
 * Pods of a node whose lease has lapsed, as in an outage of the API server for more than 40 s, are marked as not ready once. A
 * kubelet takes that back. Exported for its test.
 */
export function readyAgain({ status }: Pod, now: Date): Record<string, unknown> | undefined {
  const isMarked = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'False') === true;
  const isReady = status?.containerStatuses?.every(({ ready }) => ready === true) === true;
  if (!isMarked || !isReady) return undefined;
  return { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now.toISOString() }] };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime: string;
  readonly reason?: string;
}

/** The whole status that a kubelet reports in the end; exported for its test. */
export function statusFor(pod: Pod, podIP: string, now: Date): Record<string, unknown> {
  const time = now.toISOString();
  const init = pod.spec.initContainers ?? [];
  const all = [...init, ...pod.spec.containers];
  if (all.some(({ image }) => unmountedImage.test(image))) return unmountedStatus(pod, time);
  const found = !all.some((container) => missingImage.test(container.image));
  const runsOnce = (pod.spec.restartPolicy ?? 'Always') !== 'Always';
  const isRefused = backupOf(pod)?.endsWith('dead') === true;
  const fails = isRefused || (runsOnce && pod.spec.containers.some(({ image }) => failingImage.test(image)));
  const phase = found ? (runsOnce ? (fails ? 'Failed' : 'Succeeded') : 'Running') : 'Pending';
  const ready = phase === 'Running';
  const condition = (type: string, isTrue: boolean, reason?: string): Condition => ({
    type,
    status: isTrue ? 'True' : 'False',
    lastTransitionTime: time,
    ...(reason !== undefined && !isTrue && { reason }),
  });
  const completed = phase === 'Succeeded' ? 'PodCompleted' : 'ContainersNotReady';

  // Init containers run one after another: the first that cannot start keeps all after it waiting.
  const blocked = init.findIndex((container) => missingImage.test(container.image));
  return {
    phase,
    ...(found && { podIP, podIPs: [{ ip: podIP }], hostIP: '192.0.2.1', hostIPs: [{ ip: '192.0.2.1' }] }),
    startTime: time,
    conditions: [
      condition('PodReadyToStartContainers', true),
      condition('Initialized', blocked === -1, 'ContainersNotInitialized'),
      condition('ContainersReady', ready, completed),
      condition('Ready', ready, completed),
    ],
    initContainerStatuses: init.map((container, index) =>
      containerStatus(
        container,
        blocked !== -1 && index > blocked ? 'waiting' : container.restartPolicy === 'Always' ? 'running' : 'completed',
        time,
      ),
    ),
    containerStatuses: pod.spec.containers.map((container) =>
      containerStatus(
        container,
        blocked !== -1 ? 'waiting' : fails ? 'failed' : runsOnce ? 'ended' : 'running',
        time,
        isRefused ? 'The backup is damaged.' : lastWords(pod, container),
        isRefused ? REFUSED : FAILED,
      ),
    ),
  };
}

/** Value of an option of an init container of a pod that loads a backup. */
function optionOf({ spec }: Pod, option: string): string | undefined {
  const args = (spec.initContainers ?? []).flatMap((container) => container.args ?? []);
  return args.find((arg) => arg.startsWith(`--${option}=`))?.slice(option.length + 3);
}

/** The backup that a pod loads. Undefined if it loads none, or the newest one. */
function backupOf(pod: Pod): string | undefined {
  return pod.spec.containers.some(({ name }) => name === 'davit-restore') ? optionOf(pod, 'backup') : undefined;
}

/** Of the container that loads a backup: which one its pod was asked for. */
function lastWords(pod: Pod, { name }: Container): string | undefined {
  if (name !== 'davit-restore') return pod.metadata.annotations?.[SAYS];
  const from = optionOf(pod, 'deployment');
  const takenAt = '2026-02-02T02:00:00Z';
  return JSON.stringify({ from, name: '20260202T020000Z-0000000a', takenAt, sizeBytes: 1024 });
}

function unmountedStatus({ spec }: Pod, time: string): Record<string, unknown> {
  const waits = (container: Container): Record<string, unknown> => containerStatus(container, 'waiting', time);
  return {
    phase: 'Pending',
    startTime: time,
    conditions: [{ type: 'PodReadyToStartContainers', status: 'False', lastTransitionTime: time }],
    initContainerStatuses: (spec.initContainers ?? []).map(waits),
    containerStatuses: spec.containers.map(waits),
  };
}

/** `completed` is an init container's end, which counts as ready; `ended` and `failed` any other's. */
type ContainerState = 'running' | 'completed' | 'ended' | 'failed' | 'waiting';

function containerStatus(
  container: Container,
  state: ContainerState,
  time: string,
  says?: string,
  exitCode = FAILED,
): Record<string, unknown> {
  const { name, image } = container;
  const common = { name, image, restartCount: 0 };
  const absent = { imageID: '', ready: false, started: false };
  if (state === 'waiting') return { ...common, ...absent, state: { waiting: { reason: 'PodInitializing' } } };
  if (missingImage.test(image)) {
    const message = `Back-off pulling image "${image}": there is no such image in the stand-in`;
    return { ...common, ...absent, state: { waiting: { reason: 'ImagePullBackOff', message } } };
  }
  const present = {
    imageID: image,
    containerID: `stand-in://${name}`,
    ...(container.resources && { resources: container.resources }),
  };
  if (state === 'running') {
    return { ...common, ...present, ready: true, started: true, state: { running: { startedAt: time } } };
  }
  const terminated = {
    ...(state === 'failed'
      ? { exitCode, reason: 'Error', message: exitCode === REFUSED ? says : 'It fails in the stand-in.' }
      : { exitCode: 0, reason: 'Completed', ...(state === 'ended' && says !== undefined && { message: says }) }),
    startedAt: time,
    finishedAt: time,
    containerID: present.containerID,
  };
  return { ...common, ...present, ready: state === 'completed', started: false, state: { terminated } };
}

interface StandInNode extends ApiObject {
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly [field: string]: unknown;
  };
}

function node(now: Date): StandInNode {
  const amount = { cpu: '1000', memory: '4000Gi', pods: '20000', 'ephemeral-storage': '4000Gi' };
  const time = now.toISOString();
  const condition = (type: string, status: string): Condition & { lastHeartbeatTime: string } => ({
    type,
    status,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason: 'StandIn',
  });
  return {
    metadata: {
      name: standInNode,
      labels: { 'kubernetes.io/hostname': standInNode, 'kubernetes.io/os': 'linux' },
      annotations: { 'davit.dev/stand-in': 'No pod runs here: test/cluster/stand-in.ts writes their status.' },
    },
    status: {
      capacity: amount,
      allocatable: amount,
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
      conditions: [
        condition('Ready', 'True'),
        condition('MemoryPressure', 'False'),
        condition('DiskPressure', 'False'),
        condition('PIDPressure', 'False'),
      ],
      nodeInfo: {
        architecture: 'none',
        bootID: '',
        containerRuntimeVersion: 'stand-in://0',
        kernelVersion: '',
        kubeProxyVersion: '',
        kubeletVersion: 'stand-in',
        machineID: '',
        operatingSystem: 'linux',
        osImage: 'stand-in',
        systemUUID: '',
      },
    },
  };
}

/**
 * A node that stops renewing its lease is taken for dead: tainted, and its pods for lost. That it lives is said in its
 * status, as a kubelet does; nobody else would ever take that back after an outage of the control plane.
 */
async function keepAlive(api: ApiClient): Promise<() => void> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const spec = (): Record<string, unknown> => ({
    holderIdentity: standInNode,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  });
  await api.ensure(path, { metadata: { name: standInNode }, spec: spec() });
  const renew = async (): Promise<void> => {
    await api.call('PATCH', `${path}/${standInNode}`, { spec: spec() }, 'application/merge-patch+json');
    const { status } = await api.call<StandInNode>('GET', `/api/v1/nodes/${standInNode}`);
    if (status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return;
    const { conditions } = node(new Date()).status;
    const patch = { status: { conditions } };
    await api.call('PATCH', `/api/v1/nodes/${standInNode}/status`, patch, 'application/strategic-merge-patch+json');
  };
  const timer = setInterval(() => void renew().catch(() => undefined), heartbeatMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** From 198.18.0.0/15, which is set apart for benchmarks and leads nowhere. */
function countAddresses(): () => string {
  let next = 0;
  return () => {
    next = (next + 1) % (1 << 17);
    return `198.${18 + (next >> 16)}.${(next >> 8) & 0xff}.${next & 0xff}`;
  };
}
