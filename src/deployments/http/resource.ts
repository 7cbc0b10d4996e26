// A request to create a deployment in, the record out.

import { fromSnake } from '../../lib/http/casing.ts';
import {
  type AppDeployment,
  type AppDeploymentSpec,
  deploymentTypeMeant,
  SourceConfig,
  SourceRevisionConfig,
} from '../../schema/app-deployment.ts';
import { API_VERSION, FINALIZER } from '../../schema/meta.ts';
import { ResourceSpec } from '../../schema/resource-spec.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { awaitsSource } from '../record/wanted-revision.ts';
import { mergedDatabase } from './database.ts';
import { withoutEmpty } from './patch.ts';
import type { CreateDeployment } from './payloads.ts';
import { mergedRuntime } from './runtime.ts';
import { labelsOf } from './tags.ts';
import { tasksFrom } from './tasks.ts';

/** The record of a request. `secretName`: the Secret of its values. */
export function toResource(payload: CreateDeployment, namespace: string, secretName: string): AppDeployment {
  const {
    listenerConfig: _listener,
    resourceSpec: _spec,
    runtime: _runtime,
    env = [],
    tasks: _tasks,
    database: _database,
    ...sent
  } = fromSnake(SourceConfig.shape, payload.source_config);
  // An empty command means none, as in a PATCH.
  const config = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== '')) as typeof sent;
  const resourceSpec = withoutEmpty(fromSnake(ResourceSpec.shape, payload.source_config.resource_spec ?? {}));
  const runtime = mergedRuntime(undefined, payload.source_config.runtime);
  const listenerConfig = fromSnake(
    SourceConfig.shape.listenerConfig.unwrap().shape,
    payload.source_config.listener_config ?? {},
  );
  const tasks = tasksFrom(payload.source_config.tasks);
  const database = mergedDatabase(undefined, payload.source_config.database);
  const references = payload.secret_references ?? [];
  const { tag_value_ids: tags } = payload;
  const spec: Partial<AppDeploymentSpec> = {
    source: payload.source,
    sourceConfig: {
      ...config,
      ...(config.deploymentType && { deploymentType: deploymentTypeMeant(config.deploymentType) }),
      ...(Object.keys(listenerConfig).length > 0 && { listenerConfig }),
      ...(Object.keys(resourceSpec).length > 0 && { resourceSpec }),
      ...(runtime && { runtime }),
      ...(env.length > 0 && { env }),
      ...(tasks.length > 0 && { tasks }),
      ...(database && { database }),
    },
    sourceRevisionConfig: fromSnake(SourceRevisionConfig.shape, payload.source_revision_config),
    secrets: payload.secrets.map(({ name }) => ({ name, secretName, secretKey: name })),
    ...(references.length > 0 && {
      secretReferences: references.map(({ name, secret_name, secret_key }) => ({
        name,
        secretName: secret_name,
        secretKey: secret_key,
      })),
    }),
    ...(payload.database_deletion_policy && { databaseDeletionPolicy: payload.database_deletion_policy }),
  };
  // Without an image there is no revision yet. The first serial comes with the image.
  const revisionSerial = awaitsSource(spec as AppDeploymentSpec) ? 0 : 1;
  // With the controller's finalizer from the start: it saves a write, and no deletion can skip the teardown.
  const isLookedAfterHere = runsHere({ spec: spec as AppDeploymentSpec });
  // The API server adds defaults.
  return {
    apiVersion: API_VERSION,
    kind: 'AppDeployment',
    metadata: {
      name: payload.name,
      namespace,
      ...(isLookedAfterHere && { finalizers: [FINALIZER] }),
      ...(tags && tags.length > 0 && { labels: labelsOf(tags) }),
    },
    spec: { ...spec, revisionSerial } as AppDeploymentSpec,
  };
}
