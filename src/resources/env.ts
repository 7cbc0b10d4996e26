// Environment of the record's own container. Platform variables come first, so that $(VAR) in later ones can refer to them.

import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { SecretReference } from '../api/app-deployment.ts';
import { EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE, type Role } from '../api/meta.ts';
import { namespaceOf, uidOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';
import { externalReference } from '../record/resolve.ts';
import type { NamesSecrets } from '../record/secret-references.ts';
import type { Inputs } from './inputs.ts';

/** Number of concurrent jobs of a pod that processes the queue. */
const JOBS_PER_WORKER = 10;

/** The complete environment of `role` in order. Secret values are references, never values. */
export function envFor({ record, revision, tenantId }: Inputs, role: Role): IEnvVar[] {
  const { resolved, requested, id } = revision.spec;
  const { name } = record.metadata;
  const postgres = postgresUri(record.metadata.name, requested);
  return [
    { name: 'PORT', value: String(resolved.port) },
    fromSecret('POSTGRES_URI', postgres),
    fromSecret('DATABASE_URI', postgres),
    fromSecret('REDIS_URI', redisUri(name, requested)),
    { name: 'DAVIT_ROLE', value: role },
    { name: 'DAVIT_DEPLOYMENT_NAME', value: name },
    { name: 'DAVIT_DEPLOYMENT_ID', value: uidOf(record) },
    { name: 'DAVIT_REVISION_ID', value: id },
    { name: 'DAVIT_TENANT_ID', value: tenantId },
    { name: 'N_JOBS_PER_WORKER', value: String(role === 'server' && resolved.queue ? 0 : JOBS_PER_WORKER) },
    { name: 'OTEL_SERVICE_NAME', value: name },
    {
      name: 'OTEL_RESOURCE_ATTRIBUTES',
      value: resourceAttributes({
        'service.namespace': namespaceOf(record),
        'service.version': id,
        'davit.role': role,
        'davit.deployment.id': uidOf(record),
        'davit.revision.id': id,
        'davit.tenant.id': tenantId,
        'davit.tracing_project': names(name).tracingProject,
      }),
    },
    ...(resolved.otlpEndpoint ? [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: resolved.otlpEndpoint }] : []),
    ...[...requested.secrets, ...requested.secretReferences].map((reference) => fromSecret(reference.name, reference)),
  ];
}

type KeyOfSecret = Pick<SecretReference, 'secretName' | 'secretKey'>;

/** Source of the database URI: the user's Secret, or that of the record's own PostgreSQL. */
export function postgresUri(recordName: string, requested: NamesSecrets): KeyOfSecret {
  return (
    externalReference(requested, EXTERNAL_POSTGRES_VARIABLE) ?? {
      secretName: names(recordName).postgresSecret,
      secretKey: 'uri',
    }
  );
}

/** Source of the Redis URI. */
export function redisUri(recordName: string, requested: NamesSecrets): KeyOfSecret {
  return (
    externalReference(requested, EXTERNAL_REDIS_VARIABLE) ?? {
      secretName: names(recordName).redisSecret,
      secretKey: 'uri',
    }
  );
}

/** A variable whose value the container reads from a Secret in the same namespace when it starts. */
export function fromSecret(name: string, { secretName, secretKey }: KeyOfSecret): IEnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secretName, key: secretKey } } };
}

/** key=value,... with the values percent-encoded. Source: OpenTelemetry, "Resource SDK". */
function resourceAttributes(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join(',');
}
