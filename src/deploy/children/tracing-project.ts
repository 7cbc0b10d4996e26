// The tracing project that every record gets.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { API_VERSION } from '../../kinds/meta.ts';
import type { TracingProject } from '../../kinds/tracing-project.ts';
import { names } from '../record/names.ts';
import { keptMeta } from './owner.ts';

/** Has the record's name and no ownerReference: it outlives the record unless tracingProjectDeletionPolicy is Delete. */
export function makeTracingProject(record: AppDeployment): TracingProject {
  return {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: keptMeta(record, names(record.metadata.name).tracingProject),
    spec: { description: `Traces of the deployment ${record.metadata.name}.` },
  };
}
