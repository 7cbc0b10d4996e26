// Resolves a record's requested values to the values in force: defaults, presets and platform images. A revision stores the
// result, so that a changed default restarts nothing. The presets are the setting `sizes`.

import { type AppDeploymentSpec, deploymentTypeMeant, type SecretReference } from '../../kinds/app-deployment.ts';
import type { Resolved, Scaled, Sized } from '../../kinds/app-revision.ts';
import type { DatabaseDriver } from '../../kinds/database.ts';
import { type Component, EXTERNAL_VARIABLES, type StorePart } from '../../kinds/meta.ts';
import { type Measure, NUMBER_FIELDS, type ResourceSpec } from '../../kinds/resource-spec.ts';
import { doesWithout, type Runtime } from '../../kinds/runtime.ts';
import type { Settings } from '../../kinds/settings.ts';
import { workerNames, workerScale } from '../../kinds/worker-parts.ts';
import { usesRegistry } from './build-source.ts';
import { OWNER } from './database-driver.ts';
import { fromRegistry } from './image.ts';
import { PULL_SECRET } from './names.ts';
import { asksForPart } from './requested-scale.ts';
import { type NamesSecrets, referencesOf } from './secret-references.ts';

/**
 * Version of the pod contract of new revisions: init containers, variables, probes, security, arguments of PostgreSQL and
 * Redis. A change that would restart the pods of existing revisions needs a new version. The makers of every version are
 * kept (deploy/children/contracts.ts).
 */
export const POD_CONTRACT = 3;

/**
 * Every value in force for `spec` under `settings`. CPU in cores, memory in MiB, storage in GiB, as in the record.
 * An explicit value adjusts the related defaults: no request exceeds its limit and no minimum its maximum. The CRD rejects
 * explicit pairs that violate this.
 */
export function resolve(
  spec: Readonly<AppDeploymentSpec>,
  settings: Settings,
  contract: number = POD_CONTRACT,
): Resolved {
  const given = spec.sourceConfig.resourceSpec ?? {};
  const type = deploymentTypeMeant(spec.sourceConfig.deploymentType) ?? settings.deploymentType;
  const sizes = settings.sizes[type ?? 'plain'];
  const image = spec.sourceRevisionConfig.imageUri;
  const { limits } = settings;
  const { allowed: _, ...placement } = settings.placement;
  const scaledPart = (part: Component): Scaled => {
    const asked = of(given, part);
    return within(bent(asked, sizes.server), asked, limits);
  };
  const server = scaledPart('server');
  const { runtime } = spec.sourceConfig;
  const hasOwn = (part: StorePart): boolean =>
    !doesWithout(part, runtime) && externalReference(spec, EXTERNAL_VARIABLES[part]) === undefined;
  const [database, redis] = [of(given, 'postgres'), of(given, 'redis')];
  const [queue, executor] = [of(given, 'queue'), of(given, 'executor')];
  const images = platformImages(settings);
  const pullSecrets = [...settings.images.pullSecrets, ...registrySecret(spec, settings)];

  return {
    contract,
    ...(image !== undefined && { image }),
    ...(settings.pods.policy !== 'baseline' && { podPolicy: settings.pods.policy }),
    pullPolicy: settings.images.pullPolicy,
    ...(runtime?.apiToken === true && withApi(settings)),
    ...(settings.tracing.otlpEndpoint !== undefined && { otlpEndpoint: settings.tracing.otlpEndpoint }),
    port: runtime?.port ?? settings.pods.port,
    healthPath: runtime?.healthPath ?? settings.pods.healthPath,
    progressDeadlineSeconds: settings.pods.progressDeadlineSeconds,
    server,
    ...(asksForPart('queue', given) && { queue: within(bent(queue, server), queue, limits) }),
    ...(asksForPart('orchestrator', given) && { orchestrator: scaledPart('orchestrator') }),
    ...(anySet(given, 'executor') && { executor: within(sized(executor, sizes.server), executor, limits) }),
    ...(workerNames(runtime).length > 0 && { workers: resolvedWorkers(runtime, server, limits) }),
    ...(hasOwn('postgres') && {
      postgres: {
        ...within(sized(database, sizes.postgres), database, limits),
        image: images.postgres,
        storageGi: database.storageGi ?? atMost(sizes.postgres.storageGi, limits.storageGi),
        maxConnections: database.maxConnections ?? sizes.postgres.maxConnections,
        ...ofDriver(spec, settings),
      },
    }),
    ...(hasOwn('redis') && {
      redis: { ...within(redisSized(redis, sizes.redis), redis, limits), image: images.redis },
    }),
    ...(pullSecrets.length > 0 && { pullSecrets }),
    ...(Object.keys(placement).length > 0 && { placement }),
    autoscaling: settings.autoscaling,
    waitImages: images,
  };
}

/** What the driver adds to PostgreSQL. */
function ofDriver(
  { sourceConfig: { database = {} } }: Readonly<AppDeploymentSpec>,
  settings: Settings,
): Partial<NonNullable<Resolved['postgres']>> {
  const { database: defaults } = settings;
  const { driver = defaults.driver, instances = defaults.instances, extensions = [] } = database;
  const made = extensions.length > 0 && { extensions };
  if (driver !== 'cloudnative-pg') return { user: OWNER.user, ...made };
  const { dataDurability, userId } = defaults.cloudNativePg;
  return { driver, instances, image: platformImage('postgres', driver, settings), dataDurability, userId, ...made };
}

function withApi({ http: { podCaConfigMap: caConfigMap, ...http } }: Settings): Pick<Resolved, 'api'> {
  const url = http.podUrl ?? http.publicUrl;
  return url === undefined ? {} : { api: { url, ...(caConfigMap !== undefined && { caConfigMap }) } };
}

type Workers = NonNullable<Resolved['workers']>;

/** A worker has the size of the main service by default, and one pod. */
function resolvedWorkers(
  { workers = {} }: Readonly<Runtime> = {},
  defaults: Readonly<Scaled>,
  limits: Settings['limits'],
): Workers {
  const entries = Object.entries(workers).map(([name, worker]) => {
    const { singleton, cpu, cpuLimit, memoryMb, memoryLimitMb, minScale, maxScale } = worker;
    const asked = { cpu, cpuLimit, memoryMb, memoryLimitMb, minScale, maxScale };
    const own = { ...sized(asked, defaults), ...workerScale(worker) };
    return [name, { ...within(own, asked, limits), ...(singleton === true && { singleton }) }] as const;
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The Secret that Davit keeps in the namespace of every tenant whose images are in the platform's registry. */
function registrySecret(spec: Readonly<AppDeploymentSpec>, { builds: { registry } }: Settings): string[] {
  const isGiven = registry !== undefined && (registry.tokens || registry.pullSecret !== undefined);
  return isGiven && usesRegistry(spec, registry) ? [PULL_SECRET] : [];
}

/** The numbers of resourceSpec in force, by their names in the record (camelCase), for existing parts only. */
export function effectiveNumbers(resolved: Readonly<Resolved>): Record<string, number> {
  const entries = NUMBER_FIELDS.map(({ field, part, measure }) => {
    const values: Given | undefined = resolved[part];
    return [field, values?.[measure]] as const;
  });
  return Object.fromEntries(entries.filter((entry): entry is [(typeof entry)[0], number] => entry[1] !== undefined));
}

/** The reference for the variable `name`, from `secrets` first, then from `secretReferences`. */
export function externalReference(where: NamesSecrets, name: string): SecretReference | undefined {
  return referencesOf(where).find((reference) => reference.name === name);
}

type Given = { readonly [Name in Measure]?: number | undefined };

/** The explicit values of one part, by measure. */
function of(spec: Readonly<ResourceSpec>, part: Component): Given {
  const own = NUMBER_FIELDS.filter((number) => number.part === part && typeof spec[number.field] === 'number');
  return Object.fromEntries(own.map(({ field, measure }) => [measure, spec[field]]));
}

function anySet(spec: Readonly<ResourceSpec>, part: Component): boolean {
  return Object.keys(of(spec, part)).length > 0;
}

/** Default of a limit: with an explicit request the larger of the default and twice that request. */
function sized(given: Given, defaults: Readonly<Sized>): Sized {
  return {
    cpu: given.cpu ?? atMost(defaults.cpu, given.cpuLimit),
    cpuLimit: given.cpuLimit ?? Math.max(defaults.cpuLimit, 2 * (given.cpu ?? 0)),
    memoryMb: given.memoryMb ?? atMost(defaults.memoryMb, given.memoryLimitMb),
    memoryLimitMb: given.memoryLimitMb ?? Math.max(defaults.memoryLimitMb, 2 * (given.memoryMb ?? 0)),
  };
}

/** Redis keeps all data in memory, so its limit equals its request. */
function redisSized(given: Given, defaults: Readonly<Sized>): Sized {
  return {
    ...sized(given, defaults),
    memoryLimitMb: given.memoryLimitMb ?? given.memoryMb ?? defaults.memoryLimitMb,
  };
}

/** The defaults, adjusted to the given values. Queue workers default to the main service's values. */
function bent(given: Given, defaults: Readonly<Scaled>): Scaled {
  return { ...sized(given, defaults), ...scaled(given, defaults) };
}

type Scale = Pick<Scaled, 'minScale' | 'maxScale'>;

/** The minimum and maximum of a part that asks for `given`. `most`: the platform's limit, which only holds for defaults here. */
export function scaleFrom(given: Partial<Scale>, defaults: Scale, most: number | undefined): Scale {
  return scaleWithin(scaled(given, defaults), given, most);
}

function scaled(given: Given, defaults: Scale): Scale {
  return {
    minScale: given.minScale ?? atMost(defaults.minScale, given.maxScale),
    maxScale: given.maxScale ?? Math.max(defaults.maxScale, given.minScale ?? 0),
  };
}

export function platformImages({ images }: Settings): Resolved['waitImages'] {
  const { registry, postgres, redis } = images;
  return { postgres: fromRegistry(registry, postgres), redis: fromRegistry(registry, redis) };
}

/** The platform's image of a datastore. `driver`: of PostgreSQL. */
export function platformImage(part: StorePart, driver: DatabaseDriver | undefined, settings: Settings): string {
  const { registry, cloudNativePg } = settings.images;
  const isCluster = part === 'postgres' && driver === 'cloudnative-pg';
  return isCluster ? fromRegistry(registry, cloudNativePg) : platformImages(settings)[part];
}

/** Keeps defaults within the platform's limits. Explicit values were checked before and are not changed. */
function within<Part extends Sized | Scaled>(part: Part, given: Given, limits: Settings['limits']): Part {
  const cpu = given.cpu ?? atMost(part.cpu, limits.cpu);
  const memoryMb = given.memoryMb ?? atMost(part.memoryMb, limits.memoryMb);
  return {
    ...part,
    cpu,
    cpuLimit: given.cpuLimit ?? Math.max(cpu, atMost(part.cpuLimit, limits.cpu)),
    memoryMb,
    memoryLimitMb: given.memoryLimitMb ?? Math.max(memoryMb, atMost(part.memoryLimitMb, limits.memoryMb)),
    ...('maxScale' in part && scaleWithin(part, given, limits.scale)),
  };
}

function scaleWithin(part: Scale, given: Given, most: number | undefined): Scale {
  const minScale = given.minScale ?? atMost(part.minScale, most);
  return { minScale, maxScale: given.maxScale ?? Math.max(minScale, atMost(part.maxScale, most)) };
}

function atMost(value: number, limit: number | undefined): number {
  return limit === undefined ? value : Math.min(value, limit);
}
