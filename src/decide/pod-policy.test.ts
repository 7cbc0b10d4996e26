import { describe, expect, it } from 'vitest';
import { aSpec } from '../../test/builders.ts';
import type { ResourceSpec } from '../api/resource-spec.ts';
import { breachesOf } from './pod-policy.ts';

function breaches(resourceSpec: ResourceSpec): string[] {
  return breachesOf(aSpec({ sourceConfig: { resourceSpec } }));
}

function sidecar(securityContext: Record<string, unknown>): ResourceSpec {
  return { sidecars: [{ name: 'proxy', image: 'p:1', securityContext }] };
}

describe('breachesOf', () => {
  it.each<{ name: string; given: ResourceSpec; want: string[] }>([
    {
      name: 'nothing special',
      given: { sidecars: [{ name: 'proxy', image: 'p:1' }], labels: { team: 'a', 'example.com/tier': 'b' } },
      want: [],
    },
    { name: 'a privileged sidecar', given: sidecar({ privileged: true }), want: ['container proxy is privileged'] },
    {
      name: 'an added capability',
      given: sidecar({ capabilities: { add: ['CHOWN', 'SYS_ADMIN'] } }),
      want: ['container proxy adds capability SYS_ADMIN'],
    },
    {
      name: 'an unmasked /proc',
      given: sidecar({ procMount: 'Unmasked' }),
      want: ['container proxy asks for an unmasked /proc'],
    },
    {
      name: 'seccomp off',
      given: sidecar({ seccompProfile: { type: 'Unconfined' } }),
      want: ['container proxy turns seccomp off'],
    },
    {
      name: 'AppArmor off',
      given: sidecar({ appArmorProfile: { type: 'Unconfined' } }),
      want: ['container proxy turns AppArmor off'],
    },
    {
      name: 'a chosen SELinux type',
      given: sidecar({ seLinuxOptions: { type: 'spc_t' } }),
      want: ['container proxy chooses its own SELinux user, role or type'],
    },
    {
      name: 'a host process',
      given: sidecar({ windowsOptions: { hostProcess: true } }),
      want: ['container proxy is a host process'],
    },
    {
      name: 'bidirectional propagation',
      given: {
        volumes: [{ name: 'v', emptyDir: {} }],
        volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
      },
      want: ['mount /v asks for Bidirectional propagation'],
    },
    {
      name: 'a mount of no volume',
      given: { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      want: ['mount /v names volume v, which is not among the volumes'],
    },
    {
      name: 'reserved metadata',
      given: {
        labels: { 'davit.dev/deployment': 'x' },
        annotations: { 'container.apparmor.security.beta.kubernetes.io/server': 'unconfined' },
      },
      want: [
        'label davit.dev/deployment is reserved',
        'annotation container.apparmor.security.beta.kubernetes.io/server is reserved',
      ],
    },
    {
      name: 'a name of ours',
      given: { sidecars: [{ name: 'server', image: 'p:1' }] },
      want: ['container name server is taken'],
    },
    {
      name: 'one name twice',
      given: { initContainers: [{ name: 'a', image: 'p:1' }], sidecars: [{ name: 'a', image: 'p:1' }] },
      want: ['container name a is taken'],
    },
  ])('$name', ({ given, want }) => {
    expect(breaches(given)).toEqual(want);
  });
});
