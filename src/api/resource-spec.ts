// ResourceSpec (interface.md 2.7): sizes, scale and pod parts of one record. Defaults are not here but in
// the setting `sizes` (sizes.ts), by deployment type; record/resolve.ts applies them.

import { z } from 'zod';
import type { Component } from './meta.ts';
import {
  BIDIRECTIONAL_MESSAGE,
  celNoneReserved,
  celNoneTaken,
  NO_VOLUME_MESSAGE,
  RESERVED_ANNOTATION_PREFIXES,
  RESERVED_LABEL_PREFIXES,
  reservedMessage,
  SECURITY_RULES,
  TAKEN_MESSAGE,
  TWICE_MESSAGE,
} from './pod-policy.ts';
import { type CelRule, celRules, DNS_LABEL_PATTERN, passthrough, Quantity, SecretName } from './primitives.ts';

/** Smallest CPU of Redis; of the other parts 0.1. */
export const LEAST_REDIS_CPU = 0.05;

const LIMIT_NOT_GIVEN = 'when not given, the larger of the default and twice the request';

function cpu(of: string, least = 0.1): z.ZodNumber {
  return z.number().min(least).max(64).describe(`CPU requested by ${of}, in cores (may be fractional).`);
}
function cpuLimit(of: string, least = 0.1): z.ZodNumber {
  return z.number().min(least).max(64).describe(`CPU limit of ${of}, in cores; ${LIMIT_NOT_GIVEN}.`);
}
function memory(of: string): z.ZodInt {
  return z.int().min(64).max(4_194_304).describe(`Memory requested by ${of}, in megabytes (MiB).`);
}
function memoryLimit(of: string): z.ZodInt {
  return z.int().min(64).max(4_194_304).describe(`Memory limit of ${of}, in megabytes (MiB); ${LIMIT_NOT_GIVEN}.`);
}
function scale(which: string, of: string): z.ZodInt {
  return z.int().min(0).max(100).describe(`${which} number of replicas of ${of}.`);
}

const MountName = z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN));

export const VolumeMount = z
  .object({
    name: MountName.describe('Name of the volume.'),
    mountPath: z.string().min(1).max(1024).describe('Where in the container it is mounted; must not contain a colon.'),
    subPath: z.string().max(1024).describe('Folder within the volume that is mounted instead of its root.').optional(),
    mountPropagation: z
      .enum(['None', 'HostToContainer', 'Bidirectional'])
      .describe('Bidirectional is refused by the pod policy.')
      .optional(),
    readOnly: z.boolean().describe('Mounted for reading alone.').optional(),
    subPathExpr: z.string().max(1024).describe('Like subPath, with $(VAR) references expanded.').optional(),
  })
  .meta(
    celRules([
      { rule: "!self.mountPath.contains(':')", message: 'mountPath must not contain a colon', fieldPath: '.mountPath' },
      {
        rule: '!has(self.subPath) || !has(self.subPathExpr)',
        message: 'give subPath or subPathExpr, not both',
        fieldPath: '.subPathExpr',
      },
      {
        rule: "!has(self.mountPropagation) || self.mountPropagation != 'Bidirectional'",
        message: BIDIRECTIONAL_MESSAGE,
        fieldPath: '.mountPropagation',
      },
    ]),
  );
export type VolumeMount = z.infer<typeof VolumeMount>;

/** A list whose elements are told apart by `key`; one that comes twice is refused. */
function mapBy(key: string): Record<string, unknown> {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] };
}

/** The kinds of volume a record may use; anything else, hostPath above all, is refused. */
export const VOLUME_KINDS = [
  'configMap',
  'secret',
  'emptyDir',
  'persistentVolumeClaim',
  'nfs',
  'projected',
  'downwardAPI',
  'csi',
] as const;

export const Volume = z
  .object({
    name: MountName.describe('Name by which volume mounts refer to it.'),
    configMap: passthrough('A ConfigMap of the same namespace, as in a pod.').optional(),
    secret: passthrough('A Secret of the same namespace, as in a pod.').optional(),
    emptyDir: passthrough('Scratch space, as in a pod.').optional(),
    persistentVolumeClaim: passthrough('A claim of the same namespace, as in a pod.').optional(),
    nfs: passthrough('An NFS export, as in a pod.').optional(),
    projected: passthrough('Several sources in one folder, as in a pod.').optional(),
    downwardAPI: passthrough('Facts of the pod as files, as in a pod.').optional(),
    csi: passthrough('An ephemeral CSI volume, as in a pod.').optional(),
  })
  .meta(
    celRules([
      {
        rule: `[${VOLUME_KINDS.map((kind) => `has(self.${kind})`).join(', ')}].filter(x, x).size() == 1`,
        message: `a volume needs exactly one of ${VOLUME_KINDS.join(', ')}`,
      },
    ]),
  );
export type Volume = z.infer<typeof Volume>;

const word = z.string().max(128);
/** A part of a pod of which some fields are judged, and all are kept. */
function known<Shape extends z.ZodRawShape>(description: string, shape: Shape): z.ZodObject<Shape, z.core.$loose> {
  return z.looseObject(shape).describe(description).meta({ 'x-kubernetes-preserve-unknown-fields': true });
}

const SecurityContext = z
  .looseObject({
    privileged: z.boolean().describe('Refused by the pod policy when true.').optional(),
    capabilities: known('Capabilities that are added or dropped.', {
      add: z.array(word).max(64).describe('Refused by the pod policy.').optional(),
    }).optional(),
    procMount: word.describe('Only Default.').optional(),
    seccompProfile: known('As in a pod.', { type: word.describe('Not Unconfined.').optional() }).optional(),
    appArmorProfile: known('As in a pod.', { type: word.describe('Not Unconfined.').optional() }).optional(),
    seLinuxOptions: known('As in a pod.', {
      user: word.describe('Refused by the pod policy.').optional(),
      role: word.describe('Refused by the pod policy.').optional(),
      type: word.describe('Within the pod policy.').optional(),
    }).optional(),
    windowsOptions: known('As in a pod.', {
      hostProcess: z.boolean().describe('Refused by the pod policy when true.').optional(),
    }).optional(),
  })
  .meta({
    'x-kubernetes-preserve-unknown-fields': true,
    ...celRules(
      SECURITY_RULES.map(({ field, refused, message }) => ({
        rule: `!(${refused})`,
        message,
        fieldPath: `.${field}`,
        reason: 'FieldValueForbidden',
      })),
    ),
  });

const EnvironmentVariable = z.object({
  name: z.string().min(1).max(253).describe('Name of the variable.'),
  value: z.string().max(32_768).describe("Its value. For secrets use the record's secrets instead.").optional(),
  valueFrom: passthrough('Where its value comes from, as in a pod.').optional(),
});

export const Container = z.object({
  name: MountName.describe('Name of the container, unique in the pod.'),
  image: z.string().min(1).max(512).describe('Image reference.'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).describe('When the image is pulled.').optional(),
  command: z.array(z.string().max(8192)).max(100).describe("Replaces the image's entrypoint.").optional(),
  args: z.array(z.string().max(8192)).max(100).describe('Arguments of the entrypoint.').optional(),
  workingDir: z
    .string()
    .max(1024)
    .describe("Folder in which it is started; the image's own when not given.")
    .optional(),
  env: z.array(EnvironmentVariable).max(100).meta(mapBy('name')).describe('Environment variables.').optional(),
  envFrom: z
    .array(passthrough('A ConfigMap or Secret whose keys become variables, as in a pod.'))
    .max(20)
    .describe('Sources of many variables at once.')
    .optional(),
  resources: z
    .object({
      limits: z
        .record(z.string().max(253), Quantity)
        .meta({ maxProperties: 20 })
        .describe('The most that it may use.')
        .optional(),
      requests: z
        .record(z.string().max(253), Quantity)
        .meta({ maxProperties: 20 })
        .describe('What is set aside for it.')
        .optional(),
    })
    .describe('Requests and limits, as in a pod.')
    .optional(),
  volumeMounts: z.array(VolumeMount).max(20).meta(mapBy('mountPath')).describe('Where it mounts volumes.').optional(),
  securityContext: SecurityContext.describe('As in a pod, within the pod policy.').optional(),
  restartPolicy: z
    .enum(['Always', 'OnFailure', 'Never'])
    .describe('Only Always is meaningful: an init container that keeps running.')
    .optional(),
});
export type Container = z.infer<typeof Container>;

/** What the numbers of one part are called among themselves, and the platform limit of each; nothing limits connections. */
const LIMITED_BY = {
  minScale: 'scale',
  maxScale: 'scale',
  cpu: 'cpu',
  cpuLimit: 'cpu',
  memoryMb: 'memoryMb',
  memoryLimitMb: 'memoryMb',
  storageGi: 'storageGi',
  maxConnections: undefined,
} as const;
export type Measure = keyof typeof LIMITED_BY;

const SCALE = ['minScale', 'maxScale'] as const;
const SIZE = ['cpu', 'cpuLimit', 'memoryMb', 'memoryLimitMb'] as const;
/** A request or minimum, and its limit or maximum. */
const ORDERED_MEASURES: readonly (readonly [Measure, Measure])[] = [
  ['minScale', 'maxScale'],
  ['cpu', 'cpuLimit'],
  ['memoryMb', 'memoryLimitMb'],
];

type FieldName<Prefix extends string, Of extends string> = Prefix extends '' ? Of : `${Prefix}${Capitalize<Of>}`;

/** What a number of a ResourceSpec means: `queueCpu` is `cpu` of the part `queue`. */
interface NumberField<Name extends string = string> {
  readonly field: Name;
  readonly part: Component;
  readonly measure: Measure;
  readonly limitedBy: (typeof LIMITED_BY)[Measure];
}

function fieldsOf<Prefix extends string, Of extends Measure>(
  part: Component,
  prefix: Prefix,
  measures: readonly Of[],
): NumberField<FieldName<Prefix, Of>>[] {
  return measures.map((measure) => {
    const field = prefix === '' ? measure : `${prefix}${measure.charAt(0).toUpperCase()}${measure.slice(1)}`;
    return { field: field as FieldName<Prefix, Of>, part, measure, limitedBy: LIMITED_BY[measure] };
  });
}

/** Every number of a ResourceSpec. */
export const NUMBER_FIELDS = [
  ...fieldsOf('server', '', [...SCALE, ...SIZE]),
  ...fieldsOf('queue', 'queue', [...SCALE, ...SIZE]),
  ...fieldsOf('orchestrator', 'orchestrator', [...SCALE, ...SIZE]),
  ...fieldsOf('executor', 'executor', SIZE),
  ...fieldsOf('redis', 'redis', SIZE),
  ...fieldsOf('postgres', 'db', [...SIZE, 'storageGi', 'maxConnections']),
] as const;

const BY_NAME: ReadonlyMap<string, NumberField> = new Map(NUMBER_FIELDS.map((number) => [number.field, number]));

/** Undefined for a field that is no number. */
export function numberField(field: string): NumberField | undefined {
  return BY_NAME.get(field);
}

/** [request or minimum, limit or maximum] pairs that must not be upside down when both are given. */
export const ORDERED_PAIRS = NUMBER_FIELDS.flatMap(({ field: low, part, measure }) =>
  NUMBER_FIELDS.filter(
    (high) =>
      high.part === part && ORDERED_MEASURES.some(([least, most]) => least === measure && most === high.measure),
  ).map(({ field: high }) => [low, high] as const),
);

function orderRule([low, high]: readonly [string, string]): CelRule {
  return {
    rule: `!has(self.${low}) || !has(self.${high}) || self.${high} >= self.${low}`,
    message: `${high} must not be below ${low}`,
    fieldPath: `.${high}`,
  };
}

/** Keys of labels and annotations. */
function keyRules(reserved: readonly string[]): readonly CelRule[] {
  return [
    {
      rule: 'self.all(key, !format.qualifiedName().validate(key).hasValue())',
      message: 'a key is a name of letters, digits, -, _ and ., with a domain and a slash before it or not',
    },
    { rule: celNoneReserved(reserved), message: reservedMessage(reserved) },
  ];
}

/** Names of containers: neither ours nor another's of the same pod. Each list is a map by name already. */
const containerRules: readonly CelRule[] = [
  ...['initContainers', 'sidecars'].map((list) => ({
    rule: `!has(self.${list}) || ${celNoneTaken(`self.${list}`)}`,
    message: TAKEN_MESSAGE,
    fieldPath: `.${list}`,
  })),
  {
    rule: '!has(self.sidecars) || !has(self.initContainers) || !self.sidecars.exists(s, self.initContainers.exists(i, i.name == s.name))',
    message: TWICE_MESSAGE,
    fieldPath: '.sidecars',
  },
];

/** Every mount names a volume. */
const mountRules: readonly CelRule[] = [
  {
    rule: `!has(self.volumeMounts) || ${celKnown('self.volumeMounts')}`,
    message: NO_VOLUME_MESSAGE,
    fieldPath: '.volumeMounts',
  },
  ...['initContainers', 'sidecars'].map((list) => ({
    rule: `!has(self.${list}) || self.${list}.all(c, !has(c.volumeMounts) || ${celKnown('c.volumeMounts')})`,
    message: NO_VOLUME_MESSAGE,
    fieldPath: `.${list}`,
  })),
];

function celKnown(mounts: string): string {
  return `${mounts}.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))`;
}

export const ResourceSpec = z
  .object({
    minScale: scale('Smallest', 'the main service').optional(),
    maxScale: scale('Largest', 'the main service; 0 runs nothing').optional(),
    cpu: cpu('the main service').optional(),
    cpuLimit: cpuLimit('the main service').optional(),
    memoryMb: memory('the main service').optional(),
    memoryLimitMb: memoryLimit('the main service').optional(),
    queueMinScale: scale('Smallest', 'the queue workers').optional(),
    queueMaxScale: scale('Largest', 'the queue workers; 0 leaves the queue to the main service').optional(),
    queueCpu: cpu('a queue worker').optional(),
    queueCpuLimit: cpuLimit('a queue worker').optional(),
    queueMemoryMb: memory('a queue worker').optional(),
    queueMemoryLimitMb: memoryLimit('a queue worker').optional(),
    orchestratorCpu: cpu('the orchestrator').optional(),
    orchestratorCpuLimit: cpuLimit('the orchestrator').optional(),
    orchestratorMemoryMb: memory('the orchestrator').optional(),
    orchestratorMemoryLimitMb: memoryLimit('the orchestrator').optional(),
    orchestratorMinScale: scale('Smallest', 'the orchestrator').optional(),
    orchestratorMaxScale: scale('Largest', 'the orchestrator').optional(),
    executorCpu: cpu('the executor').optional(),
    executorCpuLimit: cpuLimit('the executor').optional(),
    executorMemoryMb: memory('the executor').optional(),
    executorMemoryLimitMb: memoryLimit('the executor').optional(),
    redisCpu: cpu('Redis', LEAST_REDIS_CPU).optional(),
    redisCpuLimit: cpuLimit('Redis', LEAST_REDIS_CPU).optional(),
    redisMemoryMb: memory('Redis').optional(),
    redisMemoryLimitMb: z
      .int()
      .min(64)
      .max(4_194_304)
      .describe('Memory limit of Redis, in megabytes (MiB); equal to the request when not given.')
      .optional(),
    dbCpu: cpu('PostgreSQL').optional(),
    dbCpuLimit: cpuLimit('PostgreSQL').optional(),
    dbMemoryMb: memory('PostgreSQL').optional(),
    dbMemoryLimitMb: memoryLimit('PostgreSQL').optional(),
    dbStorageGi: z
      .int()
      .min(1)
      .max(65_536)
      .describe('Size of the PostgreSQL volume, in gibibytes. It can grow, never shrink.')
      .optional(),
    dbMaxConnections: z.int().min(10).max(10_000).describe('max_connections of PostgreSQL.').optional(),
    labels: z
      .record(
        z.string().max(317),
        z
          .string()
          .max(63)
          .regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/),
      )
      .meta({ maxProperties: 50, ...celRules(keyRules(RESERVED_LABEL_PREFIXES)) })
      .describe('Labels of the pods.')
      .optional(),
    annotations: z
      .record(z.string().max(317), z.string().max(16_384))
      .meta({ maxProperties: 50, ...celRules(keyRules(RESERVED_ANNOTATION_PREFIXES)) })
      .describe('Annotations of the pods.')
      .optional(),
    serviceAccountName: SecretName.describe(
      'Service account that the pods run as; without one they get no token.',
    ).optional(),
    imagePullSecrets: z
      .array(z.object({ name: SecretName.describe('Name of a Secret of the same namespace.') }))
      .max(20)
      .meta(mapBy('name'))
      .describe('Secrets with which images are pulled.')
      .optional(),
    volumes: z.array(Volume).max(50).meta(mapBy('name')).describe('Volumes of the pods.').optional(),
    volumeMounts: z
      .array(VolumeMount)
      .max(50)
      .meta(mapBy('mountPath'))
      .describe('Where the main container mounts volumes.')
      .optional(),
    initContainers: z
      .array(Container)
      .max(20)
      .meta(mapBy('name'))
      .describe('Containers that run to completion before the main one.')
      .optional(),
    sidecars: z
      .array(Container)
      .max(20)
      .meta(mapBy('name'))
      .describe('Containers that start before the main one and end after it.')
      .optional(),
  })
  .meta(celRules([...ORDERED_PAIRS.map(orderRule), ...containerRules, ...mountRules]));
export type ResourceSpec = z.infer<typeof ResourceSpec>;
