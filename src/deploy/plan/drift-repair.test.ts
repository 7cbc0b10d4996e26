import { expect, it } from 'vitest';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { repairPatch } from './drift-repair.ts';

function object(spec: object, metadata: object = {}): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop', ...metadata }, spec } as KubeObject;
}
const SEEN = { uid: 'u-1', resourceVersion: '7' };

function pod(container: object, more: object = {}): object {
  return { template: { spec: { containers: [{ name: 'server', ...container }], ...more } } };
}

it.each([
  {
    name: 'a port that was given another number, beside one of somebody else',
    wanted: { ports: [{ name: 'http', port: 80 }] },
    actual: {
      ports: [
        { name: 'debug', port: 90 },
        { name: 'http', port: 81 },
      ],
      clusterIP: '10.0.0.1',
    },
    want: {
      ports: [
        { name: 'http', port: 80 },
        { name: 'debug', port: 90 },
      ],
    },
  },
  {
    name: "a container's port, variable and probe; what others added to the container stays",
    wanted: pod({
      ports: [{ name: 'http', containerPort: 8000 }],
      env: [{ name: 'A', value: '1' }],
      readinessProbe: { httpGet: { port: 'http' } },
    }),
    actual: pod({
      tty: true,
      ports: [{ name: 'http', containerPort: 8001 }],
      env: [
        { name: 'A', valueFrom: { fieldRef: {} } },
        { name: 'THEIRS', value: '2' },
      ],
      readinessProbe: { tcpSocket: { port: 'http' } },
    }),
    want: pod({
      tty: true,
      ports: [{ name: 'http', containerPort: 8000 }],
      env: [
        { name: 'A', value: '1' },
        { name: 'THEIRS', value: '2' },
      ],
      readinessProbe: { httpGet: { port: 'http' } },
    }),
  },
  {
    name: 'a volume of another kind; a container of others stays',
    wanted: pod({}, { volumes: [{ name: 'v', emptyDir: {} }] }),
    actual: {
      template: {
        spec: {
          containers: [{ name: 'mesh' }, { name: 'server', image: 'x' }],
          volumes: [{ name: 'v', configMap: { name: 'c' } }],
        },
      },
    },
    want: {
      template: {
        spec: {
          containers: [{ name: 'server', image: 'x' }, { name: 'mesh' }],
          volumes: [{ name: 'v', emptyDir: {} }],
        },
      },
    },
  },
  {
    name: 'a budget of the other kind',
    wanted: { maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } },
    actual: { minAvailable: 2, selector: { matchLabels: { a: 'b' } } },
    want: { minAvailable: null, maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } },
  },
  {
    name: 'a plain list is ours as a whole, an autoscaled number of pods is left',
    wanted: { ingress: [{ ports: [{ port: 5432 }] }] },
    actual: { ingress: [{}], replicas: 4 },
    want: { ingress: [{ ports: [{ port: 5432 }] }] },
  },
])('puts back: $name', ({ wanted, actual, want }) => {
  expect(repairPatch(object(wanted), object(actual, SEEN))).toEqual({ metadata: SEEN, spec: want });
});
