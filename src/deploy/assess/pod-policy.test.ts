import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../test/support/builders.ts';
import type { PodPolicy } from '../../kinds/pod-policy.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import { breachesOf } from './policy.ts';

function breaches(resourceSpec: ResourceSpec, policy: PodPolicy = 'baseline'): string[] {
  return breachesOf(aSpec({ sourceConfig: { resourceSpec } }), policy);
}

function sidecar(securityContext: Record<string, unknown>): ResourceSpec {
  return { sidecars: [{ name: 'proxy', image: 'p:1', securityContext }] };
}

describe('breachesOf', () => {
  it.each<{ name: string; given: ResourceSpec; want: string[] }>([
    {
      name: 'nothing special',
      given: {
        sidecars: [
          {
            name: 'proxy',
            image: 'p:1',
            securityContext: { privileged: false, capabilities: { drop: ['ALL'], add: [] } },
          },
        ],
        labels: { team: 'a', 'example.com/tier': 'b' },
        annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true', 'my.davit.dev/x': 'y' },
      },
      want: [],
    },
    {
      name: 'a privileged sidecar',
      given: sidecar({ privileged: true }),
      want: ['sidecars.0.securityContext.privileged: privileged is refused by the pod policy'],
    },
    {
      name: 'an added capability',
      given: sidecar({ capabilities: { add: ['CHOWN'] } }),
      want: ['sidecars.0.securityContext.capabilities: an added capability is refused by the pod policy'],
    },
    {
      name: 'an unmasked /proc',
      given: sidecar({ procMount: 'Unmasked' }),
      want: ['sidecars.0.securityContext.procMount: a procMount other than Default is refused by the pod policy'],
    },
    {
      name: 'seccomp off',
      given: sidecar({ seccompProfile: { type: 'Unconfined' } }),
      want: ['sidecars.0.securityContext.seccompProfile: seccomp profile Unconfined is refused by the pod policy'],
    },
    {
      name: 'AppArmor off',
      given: sidecar({ appArmorProfile: { type: 'Unconfined' } }),
      want: ['sidecars.0.securityContext.appArmorProfile: AppArmor profile Unconfined is refused by the pod policy'],
    },
    {
      name: 'a chosen SELinux type',
      given: sidecar({ seLinuxOptions: { type: 'spc_t' } }),
      want: [
        'sidecars.0.securityContext.seLinuxOptions: an SELinux user, role or type of its own is refused by the pod policy',
      ],
    },
    {
      name: 'an SELinux type of containers, and a level',
      given: sidecar({ seLinuxOptions: { type: 'container_init_t', level: 's0' } }),
      want: [],
    },
    {
      name: 'a host process',
      given: sidecar({ windowsOptions: { hostProcess: true } }),
      want: ['sidecars.0.securityContext.windowsOptions: a host process is refused by the pod policy'],
    },
    {
      name: 'bidirectional propagation',
      given: {
        volumes: [{ name: 'v', emptyDir: {} }],
        volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
      },
      want: [
        'volumeMounts.0.mountPropagation: Bidirectional is refused by the pod policy: such a mount affects the node',
      ],
    },
    {
      name: 'a mount of no volume',
      given: { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      want: ['volumeMounts.0.name: no volume has the name of this mount: add one to volumes'],
    },
    {
      name: 'reserved metadata',
      given: {
        labels: { 'davit.dev/deployment': 'x', 'k8s.io/x': 'y' },
        annotations: { 'container.apparmor.security.beta.kubernetes.io/server': 'unconfined' },
      },
      want: [
        'labels.davit.dev/deployment: keys with these prefixes are reserved for Davit and Kubernetes: davit.dev/, tag.davit.dev/, app.kubernetes.io/, kubernetes.io/, k8s.io/',
        'labels.k8s.io/x: keys with these prefixes are reserved for Davit and Kubernetes: davit.dev/, tag.davit.dev/, app.kubernetes.io/, kubernetes.io/, k8s.io/',
        'annotations.container.apparmor.security.beta.kubernetes.io/server: keys with these prefixes are reserved for Davit and Kubernetes: davit.dev/, tag.davit.dev/, app.kubernetes.io/, kubernetes.io/, k8s.io/, container.apparmor.security.beta.kubernetes.io/, seccomp.security.alpha.kubernetes.io/',
      ],
    },
    {
      name: 'a name of ours',
      given: { sidecars: [{ name: 'server', image: 'p:1' }] },
      want: [
        'sidecars.0.name: these container names are reserved for Davit: server, queue, orchestrator, executor, wait-for-database, wait-for-redis',
      ],
    },
    {
      name: 'one name twice',
      given: { initContainers: [{ name: 'a', image: 'p:1' }], sidecars: [{ name: 'a', image: 'p:1' }] },
      want: ['sidecars.0.name: an init container and a sidecar must not have the same name'],
    },
  ])('$name', ({ given, want }) => {
    expect(breaches(given)).toEqual(want);
  });
});

describe('the restricted policy', () => {
  it.each<{ name: string; given: ResourceSpec; want: string[] }>([
    { name: 'what is left open', given: { sidecars: [{ name: 'a', image: 'a' }] }, want: [] },
    {
      name: 'what it asks for',
      given: sidecar({
        allowPrivilegeEscalation: false,
        runAsNonRoot: true,
        runAsUser: 1000,
        capabilities: { drop: ['ALL'] },
      }),
      want: [],
    },
    {
      name: 'privilege escalation',
      given: sidecar({ allowPrivilegeEscalation: true }),
      want: [
        'sidecars.0.securityContext.allowPrivilegeEscalation: privilege escalation is refused by the restricted pod policy',
      ],
    },
    {
      name: 'root by wish',
      given: sidecar({ runAsNonRoot: false }),
      want: ['sidecars.0.securityContext.runAsNonRoot: runAsNonRoot: false is refused by the restricted pod policy'],
    },
    {
      name: 'root by number',
      given: sidecar({ runAsUser: 0 }),
      want: ['sidecars.0.securityContext.runAsUser: user 0 is refused by the restricted pod policy'],
    },
    {
      name: 'some capabilities dropped',
      given: sidecar({ capabilities: { drop: ['NET_RAW'] } }),
      want: [
        'sidecars.0.securityContext.capabilities: capabilities other than a drop of ALL are refused by the restricted pod policy',
      ],
    },
    {
      name: 'NFS',
      given: { volumes: [{ name: 'v', nfs: { server: 'a', path: '/' } }] },
      want: ['volumes.0.nfs: nfs is refused by the restricted pod policy'],
    },
  ])('$name', ({ given, want }) => {
    expect(breaches(given, 'restricted')).toEqual(want);
    expect(breaches(given)).toEqual([]);
  });

  it('refuses all that baseline refuses', () => {
    expect(breaches(sidecar({ privileged: true }), 'restricted')).toEqual(breaches(sidecar({ privileged: true })));
  });
});
