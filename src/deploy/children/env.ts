// Environment of the record's own container. Platform variables come first and plain ones last, so that $(VAR) in these can refer to
// all others. No name is in two of the lists: the record's rules refuse it.

import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { SecretReference } from '../../kinds/app-deployment.ts';
import type { Resolved } from '../../kinds/app-revision.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  type ImageComponent,
  runsOnce,
  STORE_PARTS,
  STORE_URIS,
} from '../../kinds/meta.ts';
import type { PlatformValue } from '../../kinds/platform-values.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { databaseNames } from '../record/database-move.ts';
import { healthOf } from '../record/health.ts';
import { idOf, namespaceOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';
import { externalReference } from '../record/resolve.ts';
import type { NamesSecrets } from '../record/secret-references.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import { POSTGRES_PORT } from './database/service.ts';
import type { Inputs } from './inputs.ts';
import { REDIS_PORT } from './service.ts';
import { type DatabasePlace, databasePlace, redisHost } from './store-hosts.ts';

/**
 * The password from which a URI with a scheme of the record is put together in the container. A record cannot have a variable of
 * this name: its names have neither dots nor hyphens.
 */
const PASSWORD_VARIABLE = 'davit.postgres-password';

/** Number of concurrent jobs of a pod that processes the queue. */
const JOBS_PER_WORKER = 10;

/** The complete environment of `role` in order. Secret values are references, never values. */
export function envFor(inputs: Inputs, role: ImageComponent): IEnvVar[] {
  const { requested } = inputs.revision.spec;
  const missing = STORE_PARTS.filter((part) => doesWithout(part, requested.runtime)).flatMap(
    (part) => STORE_URIS[part],
  );
  const without = new Set<string | undefined>([...(requested.runtime?.without ?? []), ...missing]);
  const platforms = [
    ...platformVariables(inputs, role).filter(({ name }) => !without.has(name)),
    ...namedVariables(inputs, role),
  ];
  const needsPassword = platforms.some(({ value }) => value?.includes(`$(${PASSWORD_VARIABLE})`));
  return [
    ...(needsPassword ? [variable(PASSWORD_VARIABLE, VALUES.postgres_password(inputs, role))] : []),
    ...platforms,
    ...[...requested.secrets, ...requested.secretReferences].map((reference) => fromSecret(reference.name, reference)),
    ...(requested.env ?? []).map(({ name, value }) => ({ name, value })),
  ];
}

/** The platform's values under the names of the image, in the order of the names. */
function namedVariables(inputs: Inputs, role: ImageComponent): IEnvVar[] {
  const { envNames = {} } = inputs.revision.spec.requested.runtime ?? {};
  return Object.keys(envNames)
    .toSorted()
    .flatMap((name) => {
      const value = envNames[name];
      return value === undefined ? [] : [variable(name, VALUES[value](inputs, role))];
    });
}

type Value = string | KeyOfSecret;

function variable(name: string, value: Value): IEnvVar {
  return typeof value === 'string' ? { name, value } : fromSecret(name, value);
}

/** Where each value stands: passwords, and URIs with passwords, only in Secrets. The parts are those of own stores. */
const VALUES: Readonly<Record<PlatformValue, (inputs: Inputs, role: ImageComponent) => Value>> = {
  postgres_uri: postgresValue,
  postgres_host: (inputs) => accessIn(inputs).host,
  postgres_port: () => String(POSTGRES_PORT),
  postgres_user: (inputs) => accessIn(inputs).user,
  postgres_password: ({ record, revision }) => ({
    secretName: databaseNames(record, revision).postgresSecret,
    secretKey: 'password',
  }),
  postgres_database: (inputs) => accessIn(inputs).database,
  redis_uri: ({ record, revision }) => redisUri(record.metadata.name, revision.spec.requested),
  redis_host: ({ record }) => redisHost(record),
  redis_port: () => String(REDIS_PORT),
  redis_password: ({ record }) => ({ secretName: names(record.metadata.name).redisSecret, secretKey: 'password' }),
  jobs: ({ revision }, role) => jobsPerWorker(revision.spec.resolved, role),
  role: (_inputs, role) => role,
  port: ({ revision }, role) => String(healthOf(revision.spec, role).port),
};

/** A main service with queue workers processes no jobs itself, and a migration or task none. */
function jobsPerWorker(resolved: Readonly<Resolved>, role: ImageComponent): string {
  const isOther = (role === 'server' && resolved.queue) || runsOnce(role);
  return String(isOther ? 0 : JOBS_PER_WORKER);
}

function platformVariables(inputs: Inputs, role: ImageComponent): IEnvVar[] {
  const { record, revision, tenantId } = inputs;
  const { resolved, requested } = revision.spec;
  const id = podsIdOf(revision, role);
  const { name } = record.metadata;
  const postgres = postgresValue(inputs);
  return [
    { name: 'PORT', value: String(healthOf(revision.spec, role).port) },
    variable('POSTGRES_URI', postgres),
    variable('DATABASE_URI', postgres),
    fromSecret('REDIS_URI', redisUri(name, requested)),
    { name: 'DAVIT_ROLE', value: role },
    { name: 'DAVIT_DEPLOYMENT_NAME', value: name },
    { name: 'DAVIT_DEPLOYMENT_ID', value: idOf(record) },
    { name: 'DAVIT_REVISION_ID', value: id },
    { name: 'DAVIT_TENANT_ID', value: tenantId },
    { name: 'N_JOBS_PER_WORKER', value: jobsPerWorker(resolved, role) },
    { name: 'OTEL_SERVICE_NAME', value: name },
    {
      name: 'OTEL_RESOURCE_ATTRIBUTES',
      value: resourceAttributes({
        'service.namespace': namespaceOf(record),
        'service.version': id,
        'davit.role': role,
        'davit.deployment.id': idOf(record),
        'davit.revision.id': id,
        'davit.tenant.id': tenantId,
        'davit.tracing_project': names(name).tracingProject,
      }),
    },
    ...(resolved.otlpEndpoint ? [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: resolved.otlpEndpoint }] : []),
  ];
}

type KeyOfSecret = Pick<SecretReference, 'secretName' | 'secretKey'>;

/**
 * The database URI of the container: of the Secret, or put together with the scheme of the record. The Secret is made once and has
 * one scheme. Passwords that Davit makes need no encoding. sslmode is an option of libpq: other drivers of
 * SQLAlchemy pass it on as an argument that their library does not know, and connect without TLS automatically.
 */
function postgresValue(inputs: Inputs): Value {
  const { requested } = inputs.revision.spec;
  const { user, host, database } = accessIn(inputs);
  const scheme = requested.runtime?.postgresUriScheme;
  if (scheme === undefined || externalReference(requested, EXTERNAL_POSTGRES_VARIABLE)) return postgresUri(inputs);
  const query = /\+(?!psycopg)/.test(scheme) ? '' : '?sslmode=disable';
  const authority = `${user}:$(${PASSWORD_VARIABLE})@${host}:${POSTGRES_PORT}`;
  return `${scheme}://${authority}/${database}${query}`;
}

function accessIn({ record, revision }: Inputs): DatabasePlace {
  return databasePlace(record, revision.spec.resolved);
}

/** Source of the database URI: the user's Secret, or that of the record's own PostgreSQL. */
export function postgresUri({ record, revision }: Pick<Inputs, 'record' | 'revision'>): KeyOfSecret {
  return (
    externalReference(revision.spec.requested, EXTERNAL_POSTGRES_VARIABLE) ?? {
      secretName: databaseNames(record, revision).postgresSecret,
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
