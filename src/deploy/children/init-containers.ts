// The init containers of a role's pod in order. Workloads are not ordered: each pod waits for the services that it needs.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { Resolved } from '../../kinds/app-revision.ts';
import { EXTERNAL_VARIABLES, STORE_PARTS, WAIT_FOR_DATABASE, WAIT_FOR_REDIS } from '../../kinds/meta.ts';
import type { PodPolicy } from '../../kinds/pod-policy.ts';
import type { Container } from '../../kinds/resource-spec.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { externalReference } from '../record/resolve.ts';
import type { PodParts } from './contracts/contract.ts';
import { fromSecret, postgresUri, redisUri } from './env.ts';
import type { Inputs } from './inputs.ts';
import { RESTRICTED } from './security-and-sizes.ts';

/**
 * First the pod waits for own PostgreSQL and Redis. Then the sidecars start, because an external database may only be
 * reachable through one of them (a proxy on localhost), and the pod waits for external ones. The record's init containers
 * come last and can use all of them. Nothing waits for a store that the record does without.
 */
export function initContainersFor(inputs: Inputs, scripts: PodParts['waitScripts']): IContainer[] {
  const { requested, resolved } = inputs.revision.spec;
  const { sidecars = [], initContainers = [] } = requested.resourceSpec ?? {};
  const containers = {
    postgres: waitForDatabase(inputs, scripts.database),
    redis: waitForRedis(inputs, scripts.redis),
  };
  const waits = STORE_PARTS.filter((part) => !doesWithout(part, requested.runtime)).map((part) => ({
    container: containers[part],
    external: externalReference(requested, EXTERNAL_VARIABLES[part]) !== undefined,
  }));
  return [
    ...waits.filter(({ external }) => !external).map(({ container }) => container),
    ...sidecars.map((sidecar) => ({ ...ownContainer(sidecar, resolved.podPolicy), restartPolicy: 'Always' })),
    ...waits.filter(({ external }) => external).map(({ container }) => container),
    ...initContainers.map((container) => ownContainer(container, resolved.podPolicy)),
  ];
}

function waitForDatabase(inputs: Inputs, script: string): IContainer {
  const { resolved } = inputs.revision.spec;
  return {
    ...waitContainer(resolved, WAIT_FOR_DATABASE, script),
    image: resolved.waitImages.postgres,
    env: [fromSecret('POSTGRES_URI', postgresUri(inputs))],
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

/** Common parts of both init containers. */
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

/** Small, and at most the main container's requests, so that they do not increase the pod's total. */
const WAIT_RESOURCES: NonNullable<IContainer['resources']> = {
  requests: { cpu: '10m', memory: '32Mi' },
  limits: { cpu: '500m', memory: '64Mi' },
};

/**
 * A container of the record, unchanged except for the termination message, which a condition quotes if the container fails.
 * Under the restricted policy, unset fields get the required values; violations were rejected before.
 */
function ownContainer(container: Container, policy: PodPolicy | undefined): IContainer {
  const { securityContext, ...rest } = container;
  const security = policy === 'restricted' ? restricted(securityContext) : securityContext;
  // The API server validates free-form parts when the workload is applied.
  return {
    ...rest,
    ...(security && { securityContext: security }),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  } as IContainer;
}

function restricted(given: Container['securityContext']): NonNullable<Container['securityContext']> {
  return { allowPrivilegeEscalation: false, ...given, capabilities: { drop: ['ALL'], ...given?.capabilities } };
}
