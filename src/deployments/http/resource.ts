// A request to create a deployment in, the record out.

import { fromSnake } from '../../lib/http/casing.ts';
import {
  type AppDeployment,
  type AppDeploymentSpec,
  SecretReference,
  SourceRevisionConfig,
} from '../../schema/app-deployment.ts';
import { API_VERSION, FINALIZER } from '../../schema/meta.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { awaitsSource } from '../record/wanted-revision.ts';
import { mergedConfig } from './merged-config.ts';
import type { CreateDeployment } from './payloads.ts';
import { labelsOf } from './tags.ts';

/** The record of a request. `secretName`: the Secret of its values. */
export function toResource(payload: CreateDeployment, namespace: string, secretName: string): AppDeployment {
  const references = payload.secret_references ?? [];
  const { tag_value_ids: tags } = payload;
  const spec: Partial<AppDeploymentSpec> = {
    source: payload.source,
    sourceConfig: mergedConfig({}, payload.source_config),
    sourceRevisionConfig: fromSnake(SourceRevisionConfig, payload.source_revision_config),
    secrets: payload.secrets.map(({ name }) => ({ name, secretName, secretKey: name })),
    ...(references.length > 0 && {
      secretReferences: references.map((one) => fromSnake(SecretReference, one) as SecretReference),
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
