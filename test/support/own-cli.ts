// Runs commands of `kubectl davit` over the HTTP API in this process, whose API server is in memory: what a command asks for is decided by
// the routes themselves.

import type { HttpApi } from '../../src/cli/transport/http-api.ts';
import type { ConfigMapObject } from '../../src/cli/transport/own-api.ts';
import { makeOwnApi } from '../../src/cli/transport/own-api.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../src/kinds/app-revision.ts';
import { CONFIG_MAPS, NAMESPACES } from '../../src/runtime/kube/api-resources.ts';
import { type CliRan, type CliWorld, runCli } from './cli-world.ts';
import { type FakeKube, makeFakeKube } from './fake-kube/fake-kube.ts';

/** The tenant, as in the records of cli-world.ts and builders.ts. */
export const NAMESPACE = 'team';

export interface OwnCli {
  readonly kube: FakeKube;
  run(args: readonly string[], world?: CliWorld): Promise<CliRan>;
  api(): Promise<HttpApi>;
  /** The record as it is stored. */
  stored(): AppDeployment | undefined;
  /** Writes of the record that were not dry runs: the bodies, oldest first. */
  written(): unknown[];
}

export interface OwnCliObjects {
  readonly record?: AppDeployment;
  readonly revisions?: readonly AppRevision[];
  /** What the chart publishes of the settings. */
  readonly settings?: object;
}

/** `revisions`: of the record, in any order. */
export function makeOwnCli({ record, revisions = [], settings = {} }: OwnCliObjects = {}): OwnCli {
  const kube = makeFakeKube();
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE, uid: '22222222-2222-4222-8222-222222222222', labels: { 'davit.dev/tenant': 'true' } },
  });
  const published: ConfigMapObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'davit-platform', namespace: 'davit-system' },
    data: { 'settings.json': JSON.stringify(settings) },
  };
  kube.seed(CONFIG_MAPS, published);
  if (record) kube.seed(APP_DEPLOYMENTS, inTenant(record));
  for (const one of revisions) kube.seed(APP_REVISIONS, inTenant(one));
  const api = (): Promise<HttpApi> =>
    makeOwnApi({ kube: kube.withToken('token of a person'), namespace: NAMESPACE, davitNamespace: 'davit-system' });
  return {
    kube,
    api,
    run: async (args, world = {}) => runCli(args, { api: await api(), ...world }),
    stored: () => kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0],
    written: () =>
      kube.writes.flatMap(({ kind, dryRun, body }) => (kind === APP_DEPLOYMENTS.kind && !dryRun ? [body] : [])),
  };
}

function inTenant<T extends { readonly metadata: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, namespace: NAMESPACE } };
}

/** A revision of the record of cli-world.ts, with the fields that every revision has. */
export function whole(revision: object): AppRevision {
  const { metadata, spec, ...rest } = revision as { metadata: object; spec: object };
  const requested = { sourceConfig: {}, sourceRevisionConfig: {}, secrets: [], secretReferences: [] };
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: { namespace: 'team', labels: { 'davit.dev/deployment': 'shop' }, ...metadata },
    spec: { deploymentName: 'shop', source: 'external_docker', requested, resolved: {}, ...spec },
    ...rest,
  } as unknown as AppRevision;
}
