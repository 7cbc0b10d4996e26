import { describe, expect, it } from 'vitest';
import { readyAgain, resizedStatus, statusFor } from './stand-in.ts';

interface Row {
  readonly name: string;
  readonly reason: string;
  readonly given: {
    readonly restartPolicy?: string;
    readonly init?: readonly { readonly name: string; readonly image: string; readonly restartPolicy?: string }[];
    readonly image: string;
  };
  readonly want: { readonly phase: string; readonly init: readonly string[]; readonly main: string };
}

const rows: readonly Row[] = [
  {
    name: 'a server',
    reason: 'what a Deployment waits for',
    given: { image: 'a:1' },
    want: { phase: 'Running', init: [], main: 'running ready' },
  },
  {
    name: 'init containers and a sidecar',
    reason: 'an init container has ended, a native sidecar goes on',
    given: {
      image: 'a:1',
      init: [
        { name: 'i', image: 'i:1' },
        { name: 's', image: 's:1', restartPolicy: 'Always' },
      ],
    },
    want: { phase: 'Running', init: ['Completed ready', 'running ready'], main: 'running ready' },
  },
  {
    name: 'a volume that is not mounted',
    reason: 'no container begins',
    given: { image: 'a:unmounted', init: [{ name: 'i', image: 'i:1' }] },
    want: { phase: 'Pending', init: ['PodInitializing'], main: 'PodInitializing' },
  },
  {
    name: 'a job',
    reason: 'it would never complete otherwise',
    given: { image: 'a:1', restartPolicy: 'Never' },
    want: { phase: 'Succeeded', init: [], main: 'Completed' },
  },
  {
    name: 'an image that is not there',
    reason: 'tests need a pull that fails',
    given: { image: 'registry.example/missing:1' },
    want: { phase: 'Pending', init: [], main: 'ImagePullBackOff' },
  },
  {
    name: 'an init image that is not there',
    reason: 'nothing after it may start',
    given: {
      image: 'a:1',
      init: [
        { name: 'i', image: 'i:1' },
        { name: 'm', image: 'missing:1' },
        { name: 'n', image: 'n:1' },
      ],
    },
    want: {
      phase: 'Pending',
      init: ['Completed ready', 'ImagePullBackOff', 'PodInitializing'],
      main: 'PodInitializing',
    },
  },
];

interface Shown {
  readonly phase: string;
  readonly initContainerStatuses: readonly ContainerShown[];
  readonly containerStatuses: readonly ContainerShown[];
}

interface ContainerShown {
  readonly ready: boolean;
  readonly state: Readonly<Record<string, { readonly reason?: string }>>;
}

function inWords({ ready, state }: ContainerShown): string {
  const [kind = '', details] = Object.entries(state)[0] ?? [];
  return [details?.reason ?? kind, ...(ready ? ['ready'] : [])].join(' ');
}

describe('stand-in', () => {
  it.each(rows)('$name: $reason', ({ given, want }) => {
    const pod = {
      metadata: { name: 'p' },
      spec: {
        ...(given.restartPolicy !== undefined && { restartPolicy: given.restartPolicy }),
        ...(given.init !== undefined && { initContainers: given.init }),
        containers: [{ name: 'main', image: given.image }],
      },
    };
    const status = statusFor(pod, '198.18.0.1', new Date(0)) as unknown as Shown;
    expect({
      phase: status.phase,
      init: status.initContainerStatuses.map(inWords),
      main: status.containerStatuses.map(inWords).join(),
    }).toEqual(want);
  });

  it('reports the sizes of a resized pod, once, and none that a pod does not ask for', () => {
    const small = { requests: { cpu: '1' } };
    const large = { requests: { cpu: '2' } };
    const pod = (asked: object, inForce?: object): Parameters<typeof resizedStatus>[0] => ({
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'main', image: 'a:1', resources: asked }] },
      status: { containerStatuses: [{ name: 'main', image: 'a:1', ...(inForce && { resources: inForce }) }] },
    });
    expect(resizedStatus(pod(large, small))).toEqual({ containerStatuses: [{ name: 'main', resources: large }] });
    expect(resizedStatus(pod(large, large))).toBeUndefined();
    expect(resizedStatus(pod(large))).toBeUndefined();
  });

  it('says again that a pod is ready which was taken for lost, and not of one that never was', () => {
    const pod = (ready: string, isReady: boolean): Parameters<typeof readyAgain>[0] => ({
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'main', image: 'a:1' }] },
      status: {
        conditions: [{ type: 'Ready', status: ready }],
        containerStatuses: [{ name: 'main', image: 'a:1', ready: isReady }],
      },
    });
    const again = readyAgain(pod('False', true), new Date(0));
    expect(again).toEqual({
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '1970-01-01T00:00:00.000Z' }],
    });
    expect([readyAgain(pod('True', true), new Date(0)), readyAgain(pod('False', false), new Date(0))]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
