import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { ContainerState, Pod } from './observed.ts';
import { podFailure } from './pod-failures.ts';
import { howToRelease } from './terminating-pods.ts';

const REVISION = aRevision(aRecord());

function server(state: ContainerState): Pod {
  return aPod('server', REVISION, { main: [{ name: 'server', image: 'registry.example/shop:1', state }] });
}

function unscheduled(message: string): Pod {
  return aPod('server', REVISION, {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  });
}

it('the last output names the error of the traceback, without the colours of a terminal', () => {
  const noise = Array.from(
    { length: 12 },
    (_, n) => `\u001B[2m2026-11-29\u001B[0m [\u001B[34muvicorn\u001B[0m] line ${n} of the shutdown`,
  );
  const traceback = [
    'Traceback (most recent call last):',
    '  File "/app/graph.py", line 3',
    "app.LoadError: No module named 'slugify'",
  ];
  const message = [...traceback, ...noise, '\u001B[1mApplication startup failed. Exiting.\u001B[0m'].join('\n');
  const said = podFailure([server({ terminated: { exitCode: 3, reason: 'Error', message } })])?.message ?? '';
  expect(said).toMatch(
    /exit code 3\): app\.LoadError: No module named 'slugify' … .*Application startup failed\. Exiting\./,
  );
  expect(said).not.toMatch(/[\u001B\uFFFD]|\[\d+m/);
  expect(said.length).toBeLessThan(700);
});

it('the last output names the error above the stack of Node', () => {
  const stack = Array.from(
    { length: 12 },
    (_, n) => `    at defaultResolveImpl${n} (node:internal/modules/cjs/loader:1048:19)`,
  );
  const end = ["  code: 'MODULE_NOT_FOUND',", '  requireStack: []', '}', 'Node.js v24.21.0'];
  const message = ['  throw err;', '  ^', "Error: Cannot find module '/app/mian.ts'", ...stack, ...end].join('\n');
  expect(podFailure([server({ terminated: { exitCode: 1, reason: 'Error', message } })])?.message).toContain(
    "exited (Error, exit code 1): Error: Cannot find module '/app/mian.ts' … ",
  );
});

it('the last words of PostgreSQL are its messages, without the data that it adds to them', () => {
  const message = `ERROR:  duplicate key\nDETAIL:  Key (email)=(ada@private.example) already exists.\nFATAL:  disk full\n`;
  const state = { terminated: { exitCode: 1, reason: 'Error', message } };
  const pod = aPod('postgres', REVISION, { main: [{ name: 'postgres', image: 'postgres:18', state }] });
  expect(podFailure([pod])?.message).toContain('exited (Error, exit code 1): ERROR: duplicate key FATAL: disk full.');
});

it.each([
  ['davit-fetch', 1, undefined, 'The fetch of the backup failed (Error, exit code 1): it is away.'],
  [
    'davit-fetch',
    137,
    'OOMKilled',
    'The fetch of the backup failed (OOMKilled, exit code 137): it is away. It reached its memory limit.',
  ],
  ['davit-dump', 255, 'StartError', 'The dump of the database failed (StartError, exit code 255): it is away.'],
  ['postgres', 1, undefined, 'Container postgres exited (Error, exit code 1): it is away. Read its log.'],
  ['redis', 1, undefined, 'Container redis exited (Error, exit code 1): it is away. Read its log.'],
  [
    'davit-migration',
    1,
    undefined,
    'The command of the migration failed (Error, exit code 1): it is away. Read its log, and deploy a corrected revision.',
  ],
  [
    'server',
    1,
    undefined,
    'Container server exited (Error, exit code 1): it is away. Read its log, and deploy a corrected revision.',
  ],
])('the end of %s (%i, %s) is in words of a person, with advice that helps', (name, exitCode, reason, message) => {
  const state = { terminated: { exitCode, ...(reason !== undefined && { reason }), message: 'it is away' } };
  const pod = aPod('restore', REVISION, { main: [{ name, image: 'x:1', state }] });
  expect(podFailure([pod])).toEqual({ reason: 'ContainerCrashed', message });
});

it('a program that ended without an error is no server, and the advice says what a platform can do', () => {
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  const lastState = { terminated: { exitCode: 0, reason: 'Completed' } };
  const pod = aPod('server', REVISION, { main: [{ name: 'server', image: 'x:1', state, lastState }] });
  expect(podFailure([pod])?.message).toMatch(
    /^Container server exited \(Completed, exit code 0\)\. The program ended without an error.* \(setting builds\.agentServer\)\.$/,
  );
});

it.each([
  [{}, 'Read its log.'],
  [{ 'davit.dev/task': 'clean' }, 'Read its log, and deploy a corrected revision.'],
])('the advice on a command that failed is for a task or for who typed it: %j', (labels, advice) => {
  const state = { terminated: { exitCode: 3, reason: 'Error', message: 'no table' } };
  const { metadata, ...pod } = aPod('task', REVISION, { main: [{ name: 'davit-task', image: 'x:1', state }] });
  const labeled = { ...pod, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
  expect(podFailure([labeled])?.message).toBe(`The command failed (Error, exit code 3): no table. ${advice}`);
});

it.each([
  [
    'server',
    '160Mi',
    'The server was killed: it used more than its memory limit of 160 MB. Raise memory_limit_mb in resource_spec, or reduce its memory use.',
  ],
  [
    'queue',
    '1Gi',
    'The queue was killed: it used more than its memory limit of 1024 MB. Raise queue_memory_limit_mb in resource_spec, or reduce its memory use.',
  ],
  [
    'proxy',
    '160Mi',
    'Container proxy was killed: it used more than its memory limit of 160 MB. Raise the limit, or reduce its memory use.',
  ],
  [
    'davit-task',
    undefined,
    'The command was killed: it used more than its memory limit. Raise memory_limit_mb in resource_spec, or reduce its memory use.',
  ],
])('%s with a limit of %s that needs more', (name, memory, message) => {
  const state = { terminated: { exitCode: 137, reason: 'OOMKilled', message: 'half a line' } };
  const pod = aPod('server', REVISION, { main: [{ name, image: 'x:1', state }] });
  const spec = { containers: [{ name, ...(memory !== undefined && { resources: { limits: { memory } } }) }] };
  expect(podFailure([{ ...pod, spec }])).toEqual({ reason: 'ContainerCrashed', message });
});

it.each([
  [
    'whole lines',
    `${'a'.repeat(400)}\n${'b'.repeat(200)}\n  Error: no licence`,
    `: ${'b'.repeat(200)} Error: no licence. Read`,
  ],
  ['the beginning of one that is too long', `first\nError: ${'c'.repeat(900)}`, ': Error: ccc'],
])('a quote has %s', (_what, message, says) => {
  const state = { terminated: { exitCode: 1, reason: 'Error', message } };
  expect(
    podFailure([aPod('server', REVISION, { main: [{ name: 'server', image: 'x:1', state }] })])?.message,
  ).toContain(says);
});

it.each(['postgres', 'redis', 'wait-for-database', 'wait-for-redis'])('%s has an image of the platform', (name) => {
  const state = { waiting: { reason: 'ErrImagePull', message: 'manifest unknown' } };
  const pod = aPod('postgres', REVISION, { main: [{ name, image: 'postgres:17.99-trixie', state }] });
  expect(podFailure([pod])?.message).toMatch(
    /^Image postgres:17\.99-trixie of .* cannot be pulled: manifest unknown\. Check its name and tag\. The platform team sets this image in the chart: settings\.images\.$/,
  );
});

it('an image of a step of a restore is said to be that of the step', () => {
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'not found' } };
  const pod = aPod('restore', REVISION, { main: [{ name: 'davit-fetch', image: 'davit:1', state }] });
  expect(podFailure([pod])?.message).toContain('Image davit:1 of the fetch of the backup cannot be pulled');
});

it.each([
  {
    name: 'a ConfigMap of a variable is not there',
    pods: [server({ waiting: { reason: 'CreateContainerConfigError', message: 'configmap "settings" not found' } })],
    reason: 'ContainerConfigInvalid',
    says: 'configmap "settings" not found. Create the missing object, or correct what the container takes from it in resource_spec.',
  },
  {
    name: 'a ConfigMap of a volume is not there',
    pods: [{ ...server({}), failedMount: 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found' }],
    reason: 'VolumeNotMounted',
    says: 'configmap "settings" not found. Create the missing object',
  },
  {
    name: 'more than any node has',
    pods: [unscheduled('0/3 nodes are available: 3 Insufficient cpu.')],
    reason: 'Unschedulable',
    says: 'No node can run a pod of the server: 0/3 nodes are available: 3 Insufficient cpu. Lower the requests',
  },
  {
    name: 'a cordoned node',
    pods: [unscheduled('0/1 nodes are available: 1 node(s) were unschedulable.')],
    reason: 'Unschedulable',
    says: 'were unschedulable. A node is cordoned: kubectl uncordon NODE',
  },
  {
    name: 'a tainted node',
    pods: [unscheduled('0/1 nodes are available: 1 node(s) had untolerated taint {gpu: }.')],
    reason: 'Unschedulable',
    says: 'Remove the taint, tolerate it',
  },
  {
    name: 'a claim that is not bound',
    pods: [unscheduled('0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.')],
    reason: 'VolumePending',
    says: 'Check the storage class',
  },
  {
    name: 'a claim that resource_spec names and that is not there',
    pods: [unscheduled('0/3 nodes are available: persistentvolumeclaim "models" not found. not found')],
    reason: 'VolumeMissing',
    says: 'Create PersistentVolumeClaim models in namespace team',
  },
  {
    name: 'a claim whose volume has gone',
    pods: [unscheduled('persistentvolumeclaim "models" bound to non-existent persistentvolume "pv-1"')],
    reason: 'VolumeMissing',
    says: 'bound to non-existent persistentvolume "pv-1"',
  },
  {
    name: 'a volume that has gone, as a node says it',
    pods: [
      unscheduled(
        '0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).',
      ),
    ],
    reason: 'VolumeMissing',
    says: 'Restore the PersistentVolume',
  },
  {
    name: 'a volume that is still to be made',
    pods: [unscheduled('waiting for ephemeral volume controller to create the persistentvolumeclaim "a-scratch"')],
    reason: 'VolumePending',
    says: 'Check the storage class',
  },
  {
    name: 'what is graver comes first',
    pods: [unscheduled('no room'), server({ waiting: { reason: 'ErrImagePull' } })],
    reason: 'ImagePullFailed',
    says: 'registry.example/shop:1',
  },
])('says why a pod does not run: $name', ({ pods, reason, says }) => {
  expect(podFailure(pods)).toEqual({ reason, message: expect.stringContaining(says) as string });
});

const PULLS = [
  ['dial tcp 10.0.0.1:5000: connect: connection refused', "Check the registry's host and port"],
  ['unexpected status from HEAD request: 401 Unauthorized', 'Check the name, and the pull secrets'],
  ['registry.example/shop:1: not found', 'Check its name and tag.'],
  [
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    "Check the registry's certificate",
  ],
  // What a node refuses: Source: containerd's client, its unpacker and its registry resolver.
  [
    'failed to pull and unpack image "registry.example/shop:1": no match for platform in manifest: not found',
    "The image is built for another processor architecture than the node's: build it for",
  ],
  [
    'failed to pull and unpack image "registry.example/shop:1": failed to unpack image on snapshotter overlayfs: unexpected media type text/html for sha256:04a7: not found',
    'The node cannot use the image from the registry. Build and push it again.',
  ],
  [
    'failed to pull and unpack image "registry.example/shop:1": failed to extract layer sha256:04a7: invalid tar header',
    'The node cannot use the image from the registry. Build and push it again.',
  ],
  [
    'failed to pull and unpack image "registry.example/shop:1": failed commit on ref "layer-sha256:04a7": unexpected commit digest sha256:05, expected sha256:04a7: failed precondition',
    'The node cannot use the image from the registry. Build and push it again.',
  ],
  [
    'failed to extract layer sha256:04a7: write /var/lib/containerd/a: no space left on device',
    "The node's disk is full",
  ],
  [
    'unexpected status from HEAD request to https://registry.example/v2/shop/manifests/1: 429 Too Many Requests',
    'The registry refuses the pull for now. It is retried automatically.',
  ],
  [
    'unexpected status from HEAD request to https://registry.example/v2/shop/manifests/1: 503 Service Unavailable',
    'The registry refuses the pull for now. It is retried automatically.',
  ],
] as const;
it.each(PULLS)('says why an image cannot be pulled, and the same while the kubelet waits: %s', (cause, todo) => {
  const first = podFailure([server({ waiting: { reason: 'ErrImagePull', message: cause } })]);
  const message = `Back-off pulling image "registry.example/shop:1": ErrImagePull: ${cause}`;
  expect(podFailure([server({ waiting: { reason: 'ImagePullBackOff', message } })])).toEqual(first);
  expect(first?.message).toContain(`cannot be pulled: ${cause.replace(/\.$/, '')}. ${todo}`);
});

it.each([
  [
    'InvalidImageName',
    'Failed to apply default image name "Shop": couldn\'t parse image name',
    'Correct the name of the image.',
  ],
  [
    'ErrImageNeverPull',
    'Container image "shop:1" is not present with pull policy of Never',
    'image_pull_policy is Never',
  ],
  ['SignatureValidationFailed', 'SignatureValidationFailed: policy rejected', 'Sign the image'],
] as const)('an image that is refused before it is pulled: %s', (reason, message, todo) => {
  const trouble = podFailure([server({ waiting: { reason, message } })]);
  expect(trouble?.reason).toBe('ImagePullFailed');
  expect(trouble?.message).toContain(todo);
});

const NO_PROGRAM = 'exec: "serve": executable file not found in $PATH';
it('says the same of a container that cannot be started, whatever the kubelet shows at the moment', () => {
  const terminated = { exitCode: 128, reason: 'StartError', message: NO_PROGRAM };
  const waiting = (reason: string): ContainerState => ({ waiting: { reason, message: NO_PROGRAM } });
  const shown: readonly (readonly [ContainerState, ContainerState?])[] = [
    [waiting('RunContainerError')],
    [waiting('RunContainerError'), { terminated }],
    [waiting('CrashLoopBackOff'), { terminated }],
    [{ terminated }],
  ];
  const said = shown.map(([state, lastState]) =>
    podFailure([aPod('server', REVISION, { main: [{ name: 'server', state, ...(lastState && { lastState }) }] })]),
  );
  const message = `Container server exited (StartError, exit code 128): ${NO_PROGRAM}. Correct the command, or use an image that has this program.`;
  expect(said).toEqual(Array(4).fill({ reason: 'ContainerCrashed', message }));
});

it.each([
  [
    'a program that the image does not have',
    { waiting: { reason: 'RunContainerError', message: NO_PROGRAM } },
    'Correct the command',
  ],
  [
    'the same, while it waits',
    { terminated: { exitCode: 128, reason: 'StartError', message: NO_PROGRAM } },
    'Correct the command',
  ],
  [
    'a program for another processor',
    { terminated: { exitCode: 255, reason: 'Error', message: 'exec /usr/bin/serve: exec format error' } },
    "The image is built for another processor architecture than the node's: build it for",
  ],
] as const)('says what helps with %s', (_what, state, todo) => {
  expect(podFailure([server(state)])?.message).toContain(todo);
});

it('says the same of two tries that differ in ports and times', () => {
  const at = (port: number, minute: number): string =>
    `read tcp 10.0.0.9:${port}->10.0.0.1:443: x509: certificate has expired or is not yet valid: current time 2026-01-01T00:0${minute}:00Z is after 2025-01-01T00:00:00Z`;
  const [one, two] = [at(40_001, 1), at(40_002, 2)].map((message) =>
    podFailure([server({ waiting: { reason: 'ErrImagePull', message } })]),
  );
  expect(two).toEqual(one);
  expect(one?.message).toContain('is after 2025-01-01T00:00:00Z');
});

it('has nothing to say of pods that begin, run, or are on their way out', () => {
  const going = { ...unscheduled('no room'), metadata: { ...server({}).metadata, deletionTimestamp: 'now' } };
  expect(podFailure([server({ waiting: { reason: 'ContainerCreating' } }), server({ running: {} }), going])).toBe(
    undefined,
  );
});

it.each<[string, { type: string; status: string; reason?: string }[], string | undefined]>([
  [
    'has stopped reporting',
    [
      { type: 'Ready', status: 'False' },
      { type: 'ContainersReady', status: 'True' },
    ],
    'Node n1 has stopped reporting, so pod shop-server-0 on it counts as not ready. Check the node: kubectl describe node n1. If it does not return, Kubernetes replaces the pods of Deployments after about five minutes.',
  ],
  [
    'reports that a container is not ready',
    [
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
      { type: 'ContainersReady', status: 'False' },
    ],
    undefined,
  ],
  [
    'waits for a gate of the pod',
    [
      { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' },
      { type: 'ContainersReady', status: 'True' },
    ],
    undefined,
  ],
])('a node that %s', (_what, conditions, want) => {
  const pod = aPod('server', REVISION, { main: [{ name: 'server', ready: true, state: { running: {} } }], conditions });
  const failure = podFailure([{ ...pod, spec: { nodeName: 'n1' } }]);
  expect(failure).toEqual(want === undefined ? undefined : { reason: 'NodeNotReady', message: want });
});

it.each([['StatefulSet'], ['Job']])(
  'a node that has stopped reporting keeps the pod of a %s: what releases it is said',
  (kind) => {
    const conditions = [
      { type: 'Ready', status: 'False' },
      { type: 'ContainersReady', status: 'True' },
    ];
    const pod = aPod('scheduler', REVISION, { conditions });
    const [owner] = pod.metadata.ownerReferences ?? [];
    const metadata = { ...pod.metadata, ownerReferences: [{ ...owner, kind }] } as Pod['metadata'];
    // Kubernetes deletes it five minutes later, and it stays.
    const deleted = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } as Pod['metadata'];
    const spec = { nodeName: 'n1' };
    expect(podFailure([{ ...pod, metadata: deleted, spec }])).toEqual(podFailure([{ ...pod, metadata, spec }]));
    expect(podFailure([{ ...pod, metadata, spec: { nodeName: 'n1' } }])).toEqual({
      reason: 'NodeNotReady',
      message:
        'Node n1 has stopped reporting, so pod shop-scheduler-0 on it counts as not ready. Check the node: kubectl describe node n1. Kubernetes starts no other pod while this one may still run. If the node is shut down permanently, kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute releases its pods and volumes. For this pod only: kubectl delete pod shop-scheduler-0 -n team --force --grace-period=0. Do neither while the node may still run, because two such pods would run at the same time.',
    });
  },
);

it.each([
  // The Job lets go of a pod that may still run only at its own end, so a deletion would wait for that.
  [
    'Running',
    ['batch.kubernetes.io/job-tracking'],
    /node n1 has not confirmed it\. If .* kubectl taint nodes n1 (?!.*delete)/,
  ],
  [
    'Running',
    [],
    /node n1 has not confirmed it\. If .* kubectl taint nodes n1 .*kubectl delete pod shop-task-0 -n team --force/,
  ],
  ['Running', ['batch.kubernetes.io/job-tracking', 'example.com/a'], /finalizers hold it \(example\.com\/a\)/],
  ['Failed', ['batch.kubernetes.io/job-tracking'], /finalizers hold it \(batch\.kubernetes\.io\/job-tracking\)/],
])('what releases a pod of a Job: %s, %j', (phase, finalizers, says) => {
  const pod = aPod('task', REVISION, {});
  const metadata = { ...pod.metadata, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(howToRelease({ ...pod, metadata, spec: { nodeName: 'n1' }, status: { phase } })).toMatch(says);
});
