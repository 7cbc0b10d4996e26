// Records, revisions, workloads and pods for tests, each with only what the test is about: aRecord(withSpec({...})).

import type { AddressOutcome } from '../../src/deploy/assess/address.ts';
import { assess, checkPreconditions } from '../../src/deploy/assess/assessment.ts';
import type {
  ActionFailure,
  ContainerStatus,
  Observed,
  ObservedCondition,
  Pod,
  Workload,
} from '../../src/deploy/assess/observed.ts';
import { names } from '../../src/deploy/record/names.ts';
import { requestedOf } from '../../src/deploy/record/requested.ts';
import { resolve } from '../../src/deploy/record/resolve.ts';
import { serialRevisionId } from '../../src/deploy/record/revision-id.ts';
import type { StatusInputs } from '../../src/deploy/status.ts';
import type { AppDeployment, AppDeploymentSpec, AppDeploymentStatus } from '../../src/kinds/app-deployment.ts';
import type { AppRevision, RevisionState } from '../../src/kinds/app-revision.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  REVISION_LABEL,
  type Role,
} from '../../src/kinds/meta.ts';
import type { OAuthProvider } from '../../src/kinds/oauth-provider.ts';
import { defaultSettings, type Settings } from '../../src/kinds/settings.ts';
import type { KubeObject } from '../../src/runtime/kube/client.ts';

export const UID = '11111111-1111-4111-8111-111111111111';
export const TENANT = '22222222-2222-4222-8222-222222222222';
export const SETTINGS: Settings = defaultSettings();

export function aSpec(spec: Partial<AppDeploymentSpec> = {}): AppDeploymentSpec {
  return {
    source: 'external_docker',
    sourceConfig: {},
    sourceRevisionConfig: { imageUri: 'registry.example/shop:1' },
    secrets: [],
    databaseDeletionPolicy: 'Delete',
    tracingProjectDeletionPolicy: 'Retain',
    revisionSerial: 1,
    ...spec,
  };
}

/** A record as kubectl applies it. */
export function aManifest(metadata: KubeObject['metadata'], spec: object = {}): KubeObject & { spec: object } {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata,
    spec: { source: 'external_docker', sourceRevisionConfig: { imageUri: 'registry.example/app:1.0' }, ...spec },
  };
}

/** Of a record's sourceConfig, and of a payload's: without stores a deployment is a third of the objects. */
export const NO_STORES = { runtime: { database: 'none', redis: 'none' } } as const;

/** A body of POST /v2/deployments. */
export function aPayload(name: string, more: object = {}): object {
  return {
    name,
    source: 'external_docker',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example/app:1.0' },
    secrets: [],
    ...more,
  };
}

export function aRecord(
  spec: Partial<AppDeploymentSpec> = {},
  details: {
    status?: AppDeploymentStatus;
    generation?: number;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
  } = {},
): AppDeployment {
  const { status, generation = 1, annotations, deletionTimestamp } = details;
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: {
      name: 'shop',
      namespace: 'team',
      uid: UID,
      resourceVersion: '1',
      generation,
      creationTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['davit.dev/teardown'],
      ...(annotations && { annotations }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: aSpec(spec),
    ...(status && { status }),
  };
}

export function aRevision(record: AppDeployment, state?: RevisionState, serial = 1): AppRevision {
  const id = serialRevisionId(UID, serial);
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: {
      name: `shop--${id.slice(0, 8)}`,
      namespace: 'team',
      uid: id,
      resourceVersion: '1',
      generation: 1,
      labels: ownLabels('server'),
    },
    spec: {
      id,
      deploymentName: 'shop',
      deploymentUid: UID,
      deploymentGeneration: serial,
      revisionSerial: serial,
      source: record.spec.source,
      requested: requestedOf(record.spec),
      resolved: resolve(record.spec, SETTINGS),
    },
    ...(state && { status: { state } }),
  };
}

export function ownLabels(component: string): Record<string, string> {
  return { [DEPLOYMENT_LABEL]: 'shop', [DEPLOYMENT_UID_LABEL]: UID, [COMPONENT_LABEL]: component };
}

export interface WorkloadDetails {
  readonly wanted?: number;
  readonly ready?: number;
  readonly updated?: number;
  readonly total?: number;
  readonly behind?: boolean;
  readonly conditions?: readonly ObservedCondition[];
}

export function aWorkload(
  role: Role,
  revision: AppRevision,
  {
    wanted = 1,
    ready = wanted,
    updated = wanted,
    total = wanted,
    behind = false,
    conditions = [],
  }: WorkloadDetails = {},
): Workload {
  const name = role === 'server' ? 'shop' : `shop--${role}`;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'team', uid: `uid-${name}`, generation: 2, labels: ownLabels(role) },
    spec: { replicas: wanted, template: { metadata: { labels: { [REVISION_LABEL]: revision.spec.id } } } },
    status: {
      observedGeneration: behind ? 1 : 2,
      replicas: total,
      updatedReplicas: updated,
      readyReplicas: ready,
      availableReplicas: ready,
      conditions,
    },
  };
}

export function aStore(part: 'postgres' | 'redis', ready = 1): Workload {
  const name = `shop--${part}`;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'team', uid: `uid-${name}`, generation: 1, labels: ownLabels(part) },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, readyReplicas: ready },
  };
}

/** Whatever controls a pod. */
export const CONTROLLER = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'shop-1',
  uid: 'uid-rs',
  controller: true,
};

export function aPod(
  component: string,
  revision: AppRevision,
  statuses: {
    init?: readonly ContainerStatus[];
    main?: readonly ContainerStatus[];
    conditions?: readonly ObservedCondition[];
  },
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `shop-${component}-0`,
      namespace: 'team',
      uid: `uid-pod-${component}`,
      labels: { ...ownLabels(component), [REVISION_LABEL]: revision.spec.id },
      ownerReferences: [CONTROLLER],
    },
    status: {
      phase: 'Pending',
      initContainerStatuses: statuses.init ?? [],
      containerStatuses: statuses.main ?? [],
      conditions: statuses.conditions ?? [],
    },
  };
}

export function anObserved(
  record: AppDeployment,
  seen: {
    revisions?: readonly AppRevision[];
    children?: readonly KubeObject[];
    pods?: readonly Pod[];
    secretKeys?: Observed['secretKeys'];
    unfixedSecrets?: Observed['unfixedSecrets'];
    secretsRead?: Observed['secretsRead'];
    templates?: Observed['templates'];
    listeners?: Observed['listeners'];
    integrations?: Observed['integrations'];
    tenantId?: string | null;
  } = {},
): Observed {
  const { revisions = [], children = [], pods = [], secretKeys = {}, tenantId = TENANT } = seen;
  const { secretsRead = { is: 'nothing' }, unfixedSecrets = [] } = seen;
  const { templates = [], listeners = [], integrations = [] } = seen;
  return {
    record,
    names: names(record.metadata.name),
    tenantId: tenantId ?? undefined,
    tenantHosts: undefined,
    addressKindMissing: false,
    namespaceTerminating: false,
    revisions,
    children,
    pods,
    tracingProject: undefined,
    templates,
    listeners,
    integrations,
    secretKeys,
    unfixedSecrets,
    secretsRead,
  };
}

/** What a pass says of `observed` that came to `latest` with these failures. */
export function assessed(
  observed: Observed,
  latest: AppRevision | undefined,
  {
    settings = SETTINGS,
    address = { is: 'unwanted' },
    refusals = [],
  }: { settings?: Settings; address?: AddressOutcome; refusals?: readonly ActionFailure[] } = {},
): StatusInputs {
  const preconditions = checkPreconditions(observed, settings);
  const assessment = assess(observed, preconditions, { latest, address, failures: refusals });
  return { observed, latest, assessment, address, refusals };
}

/** A provider of OAuth tokens, public and with PKCE unless `spec` says otherwise. */
export function anOAuthProvider(
  spec: Partial<OAuthProvider['spec']> = {},
  metadata: OAuthProvider['metadata'] = { name: 'tracker', uid: 'p' },
): OAuthProvider {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata,
    spec: {
      name: 'Tracker',
      clientId: 'a',
      authUrl: 'https://a.example/auth',
      tokenUrl: 'https://a.example/token',
      usesPkce: true,
      tokenEndpointAuthMethod: 'none',
      isDynamicClient: false,
      ...spec,
    },
  };
}
