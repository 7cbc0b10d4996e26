// What a pod of a role runs before its main container, in which order. There is no ordering between workloads: each
// pod waits for what it needs.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { Resolved } from '../api/app-revision.ts';
import { EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE, WAIT_FOR_DATABASE, WAIT_FOR_REDIS } from '../api/meta.ts';
import type { PodPolicy } from '../api/pod-policy.ts';
import type { Container } from '../api/resource-spec.ts';
import { externalReference } from '../record/resolve.ts';
import { RESTRICTED } from './containers.ts';
import type { PodParts } from './contracts/contract.ts';
import { fromSecret, postgresUri, redisUri } from './env.ts';
import type { Inputs } from './inputs.ts';

/**
 * Own PostgreSQL and Redis are waited for first. Then the sidecars start, because an external database may be reached
 * only through one of them (a proxy on localhost), and external ones are waited for. The record's init containers
 * come last: they may use everything.
 */
export function initContainersFor(inputs: Inputs, scripts: PodParts['waitScripts']): IContainer[] {
  const { requested, resolved } = inputs.revision.spec;
  const { sidecars = [], initContainers = [] } = requested.resourceSpec ?? {};
  const waits = [
    {
      container: waitForDatabase(inputs, scripts.database),
      external: externalReference(requested, EXTERNAL_POSTGRES_VARIABLE) !== undefined,
    },
    {
      container: waitForRedis(inputs, scripts.redis),
      external: externalReference(requested, EXTERNAL_REDIS_VARIABLE) !== undefined,
    },
  ];
  return [
    ...waits.filter(({ external }) => !external).map(({ container }) => container),
    ...sidecars.map((sidecar) => ({ ...ownContainer(sidecar, resolved.podPolicy), restartPolicy: 'Always' })),
    ...waits.filter(({ external }) => external).map(({ container }) => container),
    ...initContainers.map((container) => ownContainer(container, resolved.podPolicy)),
  ];
}

function waitForDatabase({ record, revision }: Inputs, script: string): IContainer {
  const { resolved, requested } = revision.spec;
  return {
    ...waitContainer(resolved, WAIT_FOR_DATABASE, script),
    image: resolved.waitImages.postgres,
    env: [fromSecret('POSTGRES_URI', postgresUri(record.metadata.name, requested))],
  };
}

function waitForRedis({ record, revision }: Inputs, script: string): IContainer {
  const { resolved, requested } = revision.spec;
  return {
    ...waitContainer(resolved, WAIT_FOR_REDIS, script),
    image: resolved.waitImages.redis,
    env: [fromSecret('REDIS_URI', redisUri(record.metadata.name, requested))],
  };
}

/** What both have in common. */
function waitContainer({ pullPolicy }: Resolved, name: string, script: string): IContainer {
  return {
    name,
    imagePullPolicy: pullPolicy,
    command: ['sh', '-c', script],
    resources: WAIT_RESOURCES,
    securityContext: RESTRICTED,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/** Small, and not more than the main container asks for: they add nothing to what a pod needs on its node. */
const WAIT_RESOURCES: NonNullable<IContainer['resources']> = {
  requests: { cpu: '10m', memory: '32Mi' },
  limits: { cpu: '500m', memory: '64Mi' },
};

/**
 * A container of the record, as it is; its last words are kept for the condition that reports its failure. Under the
 * restricted policy what it leaves open is as the policy wants it; what it asks for against it was refused.
 */
function ownContainer(container: Container, policy: PodPolicy | undefined): IContainer {
  const { securityContext, ...rest } = container;
  const security = policy === 'restricted' ? restricted(securityContext) : securityContext;
  // What the schema lets through is checked by the API server, when the workload is applied.
  return {
    ...rest,
    ...(security && { securityContext: security }),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  } as IContainer;
}

function restricted(given: Container['securityContext']): NonNullable<Container['securityContext']> {
  return { allowPrivilegeEscalation: false, ...given, capabilities: { drop: ['ALL'], ...given?.capabilities } };
}
