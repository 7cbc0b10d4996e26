import { expect, it } from 'vitest';
import type { Listener } from '../../kinds/listener.ts';
import { listenerProblem } from './listener-assignment.ts';

const UID = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const listener: Listener = {
  apiVersion: 'davit.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'edge', namespace: 'team', uid: UID },
  spec: { namespaces: ['shops', 'tools'] },
};

it.each([
  { name: 'no listener', given: {}, want: undefined },
  { name: 'one that there is', given: { listenerId: UID, listenerConfig: { k8sNamespace: 'tools' } }, want: undefined },
  {
    name: 'in upper case',
    given: { listenerId: UID.toUpperCase(), listenerConfig: { k8sNamespace: 'shops' } },
    want: undefined,
  },
  {
    name: 'one that there is not',
    given: { listenerId: UID.replace('4', '5'), listenerConfig: { k8sNamespace: 'tools' } },
    want: { is: 'unknown' },
  },
  {
    name: 'a namespace that it does not list',
    given: { listenerId: UID, listenerConfig: { k8sNamespace: 'kube-system' } },
    want: { is: 'namespace not listed', listed: ['shops', 'tools'] },
  },
  {
    name: 'no namespace',
    given: { listenerId: UID, listenerConfig: {} },
    want: { is: 'namespace not listed', listed: ['shops', 'tools'] },
  },
])('$name', ({ given, want }) => {
  expect(listenerProblem(given, [listener])).toEqual(want);
});
