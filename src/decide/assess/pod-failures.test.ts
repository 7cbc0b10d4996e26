import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { ContainerState, Pod } from '../observed.ts';
import { podFailure } from './pod-failures.ts';

const REVISION = aRevision(aRecord());

function server(state: ContainerState): Pod {
  return aPod('server', REVISION, { main: [{ name: 'server', image: 'registry.example/shop:1', state }] });
}

function unscheduled(message: string): Pod {
  return aPod('server', REVISION, {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  });
}

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
    says: 'The pod fits on no node: 0/3 nodes are available: 3 Insufficient cpu. Lower the requests',
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

it('has nothing to say of pods that begin, run, or are on their way out', () => {
  const going = { ...unscheduled('no room'), metadata: { ...server({}).metadata, deletionTimestamp: 'now' } };
  expect(podFailure([server({ waiting: { reason: 'ContainerCreating' } }), server({ running: {} }), going])).toBe(
    undefined,
  );
});
