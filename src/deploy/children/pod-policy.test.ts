// The pods of a record against the "restricted" Pod Security Standard, field by field. Source: Kubernetes, "Pod Security
// Standards". That a real API server thinks so too is in test/suites/integration/pod-security.test.ts.

import { describe, expect, it } from 'vitest';
import { aRecord, TENANT } from '../../../test/support/builders.ts';
import type { PodPolicy } from '../../kinds/pod-policy.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import { Settings } from '../../kinds/settings.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';

interface Context {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly allowPrivilegeEscalation?: boolean;
  readonly privileged?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type?: string };
}
interface Container {
  readonly name: string;
  readonly securityContext?: Context;
}
interface PodSpec {
  readonly securityContext?: Context;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

function podsOf(policy: PodPolicy, resourceSpec: ResourceSpec): PodSpec[] {
  const settings = Settings.parse({ pods: { policy } });
  const record = aRecord({ sourceConfig: { resourceSpec } });
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = makeRevision(record, wanted.create);
  return desiredChildren({ record, revision, tenantId: TENANT, settings })
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map((child) => (child as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec);
}

/** Names of the containers that are not within the standard. */
function outside(pod: PodSpec): string[] {
  return [...(pod.initContainers ?? []), ...pod.containers].flatMap(({ name, securityContext = {} }) => {
    const isWithin =
      securityContext.allowPrivilegeEscalation === false &&
      securityContext.privileged !== true &&
      securityContext.capabilities?.drop?.includes('ALL') === true &&
      (securityContext.capabilities.add ?? []).length === 0 &&
      (securityContext.runAsNonRoot ?? pod.securityContext?.runAsNonRoot) === true &&
      (securityContext.runAsUser ?? pod.securityContext?.runAsUser) !== 0 &&
      (securityContext.seccompProfile ?? pod.securityContext?.seccompProfile)?.type === 'RuntimeDefault';
    return isWithin ? [] : [name];
  });
}

const everyPart: ResourceSpec = {
  queueMinScale: 1,
  orchestratorMinScale: 1,
  executorCpu: 1,
  initContainers: [{ name: 'migrate', image: 'a' }],
  sidecars: [{ name: 'proxy', image: 'a', securityContext: { readOnlyRootFilesystem: true, runAsUser: 1000 } }],
};

describe('pods', () => {
  it('restricted: every container is within the standard, and keeps what else it asked for', () => {
    const pods = podsOf('restricted', everyPart);
    expect(pods).toHaveLength(6);
    expect(pods.flatMap(outside)).toEqual([]);
    const proxy = pods.flatMap(({ initContainers = [] }) => initContainers).find(({ name }) => name === 'proxy');
    expect(proxy?.securityContext).toMatchObject({ readOnlyRootFilesystem: true, runAsUser: 1000 });
  });

  // kubectl stores a null in a field that the CRD passes through.
  it.each([
    { allowPrivilegeEscalation: null },
    { runAsNonRoot: null, runAsUser: null },
    { capabilities: { drop: null } },
    { capabilities: { drop: null, add: null } },
    { capabilities: null },
    { capabilities: {} },
    { seccompProfile: null },
    { privileged: null, procMount: null, readOnlyRootFilesystem: null },
    null,
  ])('restricted: securityContext %j takes nothing off', (securityContext) => {
    const containers = [{ name: 'proxy', image: 'a', securityContext }];
    for (const list of ['sidecars', 'initContainers'])
      expect(podsOf('restricted', { [list]: containers } as ResourceSpec).flatMap(outside)).toEqual([]);
  });

  it('baseline: ours are within it all the same, the record decides on its own', () => {
    const names = podsOf('baseline', everyPart).flatMap(outside);
    expect([...new Set(names)].toSorted()).toEqual(['executor', 'migrate', 'orchestrator', 'proxy', 'queue', 'server']);
    const proxy = podsOf('baseline', everyPart)
      .flatMap(({ initContainers = [] }) => initContainers)
      .find(({ name }) => name === 'proxy');
    expect(proxy?.securityContext).toEqual(everyPart.sidecars?.[0]?.securityContext);
  });

  it('ours have a root that cannot be written to', () => {
    const ours = podsOf('baseline', {})
      .flatMap(({ containers, initContainers = [] }) => [...containers, ...initContainers])
      .filter(({ name }) => name !== 'server');
    expect(ours.map(({ name }) => name).toSorted()).toEqual([
      'postgres',
      'redis',
      'wait-for-database',
      'wait-for-redis',
    ]);
    expect(ours.every(({ securityContext }) => securityContext?.readOnlyRootFilesystem)).toBe(true);
  });
});
