// ResourceSpec: sizes, scale and pod parts of one record. The defaults by deployment type are in the setting `sizes`
// (sizes.ts), and deploy/record/resolve.ts applies them.

import { z } from 'zod';
import { asInPods } from '../runtime/http/casing.ts';
import { type Component, MOST_PODS } from './meta.ts';
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
  VOLUME_KIND_MESSAGE,
  VOLUME_KINDS,
} from './pod-policy.ts';
import {
  type CelRule,
  celRules,
  DNS_LABEL_PATTERN,
  ImageReference,
  integer,
  listOf,
  matching,
  ObjectName,
  oneOf,
  passthrough,
  Quantity,
  text,
} from './primitives.ts';

/** Lowest CPU request of every part, in cores: what an idle part needs (docs/adr/0035-room-for-small-applications.md). */
const LEAST_CPU = 0.01;
/** Lowest CPU limit. A part that is held below it would not start in time. */
export const LEAST_CPU_LIMIT = 0.1;
export const LEAST_REDIS_CPU_LIMIT = 0.05;

const LIMIT_NOT_GIVEN = 'if absent, the default or twice the request, whichever is larger';

function cpu(of: string): z.ZodNumber {
  return z.number().min(LEAST_CPU).max(64).describe(`CPU requested by ${of}, in cores (may be fractional).`);
}
function cpuLimit(of: string, least = LEAST_CPU_LIMIT): z.ZodNumber {
  return z.number().min(least).max(64).describe(`CPU limit of ${of}, in cores; ${LIMIT_NOT_GIVEN}.`);
}
function memory(of: string): z.ZodInt {
  return integer(64, 4_194_304).describe(`Memory requested by ${of}, in megabytes (MiB).`);
}
function memoryLimit(of: string): z.ZodInt {
  return integer(64, 4_194_304).describe(`Memory limit of ${of}, in megabytes (MiB); ${LIMIT_NOT_GIVEN}.`);
}
function scale(which: string, of: string): z.ZodInt {
  return integer(0, MOST_PODS).describe(`${which} number of replicas of ${of}.`);
}

/** Value of a label. */
export const LABEL_VALUE_PATTERN = '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$';
const MountName = matching(DNS_LABEL_PATTERN, 63, 1);

export const VolumeMount = asInPods(
  z
    .object({
      name: MountName.describe('Name of the volume.'),
      mountPath: z.string().min(1).max(1024).describe('Path of the mount in the container. Must not contain a colon.'),
      subPath: text(1024).describe('Folder of the volume that is mounted instead of its root.').optional(),
      mountPropagation: oneOf(['None', 'HostToContainer', 'Bidirectional'])
        .describe('The pod policy rejects Bidirectional.')
        .optional(),
      readOnly: z.boolean().describe('Mounts the volume read-only.').optional(),
      subPathExpr: text(1024).describe('Like subPath, with $(VAR) references expanded.').optional(),
    })
    .meta(
      celRules([
        {
          rule: "!self.mountPath.contains(':')",
          message: 'mountPath must not contain a colon',
          fieldPath: '.mountPath',
        },
        {
          rule: '!has(self.subPath) || !has(self.subPathExpr)',
          message: 'set subPath or subPathExpr, not both',
          fieldPath: '.subPathExpr',
        },
        {
          rule: "!has(self.mountPropagation) || self.mountPropagation != 'Bidirectional'",
          message: BIDIRECTIONAL_MESSAGE,
          fieldPath: '.mountPropagation',
        },
      ]),
    ),
);
export type VolumeMount = z.infer<typeof VolumeMount>;

/** A list whose elements are identified by `key`. The API server rejects duplicates. */
function mapBy(key: string): Record<string, unknown> {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] };
}

export const Volume = asInPods(
  z
    .object({
      name: MountName.describe('Name of the volume, used by volume mounts.'),
      configMap: passthrough('A ConfigMap in the same namespace, as in a pod.').optional(),
      secret: passthrough('A Secret in the same namespace, as in a pod.').optional(),
      emptyDir: passthrough('Scratch space, as in a pod.').optional(),
      persistentVolumeClaim: passthrough('A PersistentVolumeClaim in the same namespace, as in a pod.').optional(),
      nfs: passthrough('An NFS export, as in a pod.').optional(),
      projected: passthrough('Several sources in one folder, as in a pod.').optional(),
      downwardAPI: passthrough("The pod's metadata as files, as in a pod.").optional(),
      csi: passthrough('An ephemeral CSI volume, as in a pod.').optional(),
    })
    .meta(
      celRules([
        {
          rule: `[${VOLUME_KINDS.map((kind) => `has(self.${kind})`).join(', ')}].filter(x, x).size() == 1`,
          message: VOLUME_KIND_MESSAGE,
        },
      ]),
    ),
);
export type Volume = z.infer<typeof Volume>;

const word = text(128);
/** A part of a pod with some validated fields. All other fields are passed through. */
function known<Shape extends z.ZodRawShape>(description: string, shape: Shape): z.ZodObject<Shape, z.core.$loose> {
  return z.looseObject(shape).describe(description).meta({ 'x-kubernetes-preserve-unknown-fields': true });
}

const SecurityContext = z
  .looseObject({
    privileged: z.boolean().describe('The pod policy rejects true.').optional(),
    capabilities: known('Added and dropped capabilities.', {
      add: listOf(word, 64).describe('The pod policy rejects this field.').optional(),
    }).optional(),
    procMount: word.describe('The pod policy accepts only Default.').optional(),
    seccompProfile: known('As in a pod.', {
      type: word.describe('The pod policy rejects Unconfined.').optional(),
    }).optional(),
    appArmorProfile: known('As in a pod.', {
      type: word.describe('The pod policy rejects Unconfined.').optional(),
    }).optional(),
    seLinuxOptions: known('As in a pod.', {
      user: word.describe('The pod policy rejects this field.').optional(),
      role: word.describe('The pod policy rejects this field.').optional(),
      type: word.describe('The pod policy limits the values.').optional(),
    }).optional(),
    windowsOptions: known('As in a pod.', {
      hostProcess: z.boolean().describe('The pod policy rejects true.').optional(),
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
  value: text(32_768).describe("Value of the variable. Use the record's secrets for secret values.").optional(),
  valueFrom: passthrough('Source of the value, as in a pod.').optional(),
});

export const Container = asInPods(
  z.object({
    name: MountName.describe('Name of the container, unique in the pod.'),
    image: ImageReference.describe('Image reference.'),
    imagePullPolicy: oneOf(['Always', 'IfNotPresent', 'Never']).describe('When the image is pulled.').optional(),
    command: listOf(text(8192), 100).describe("Replaces the image's entrypoint.").optional(),
    args: listOf(text(8192), 100).describe('Arguments of the entrypoint.').optional(),
    workingDir: text(1024).describe("Working directory. If absent, the image's.").optional(),
    env: listOf(EnvironmentVariable, 100).meta(mapBy('name')).describe('Environment variables.').optional(),
    envFrom: listOf(passthrough('A ConfigMap or Secret whose keys become variables, as in a pod.'), 20)
      .describe('Sources of several variables.')
      .optional(),
    resources: z
      .object({
        limits: z
          .record(text(253), Quantity)
          .meta({ maxProperties: 20 })
          .describe('Maximum amounts of resources.')
          .optional(),
        requests: z
          .record(text(253), Quantity)
          .meta({ maxProperties: 20 })
          .describe('Reserved amounts of resources.')
          .optional(),
      })
      .describe('Requests and limits, as in a pod.')
      .optional(),
    volumeMounts: listOf(VolumeMount, 20)
      .meta(mapBy('mountPath'))
      .describe('Volume mounts of the container.')
      .optional(),
    securityContext: SecurityContext.describe('As in a pod, limited by the pod policy.').optional(),
    restartPolicy: oneOf(['Always', 'OnFailure', 'Never'])
      .describe(
        'Always: the init container keeps running as a sidecar. Kubernetes before 1.35 ignores OnFailure and Never.',
      )
      .optional(),
  }),
);
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
export const ORDERED_MEASURES: readonly (readonly [Measure, Measure])[] = [
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

/** Pairs of [request or minimum, limit or maximum]. If both are given, the first must not exceed the second. */
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
      message: 'a key is a name of letters, digits, -, _ and ., optionally after a domain and a slash',
    },
    { rule: celNoneReserved(reserved), message: reservedMessage(reserved) },
  ];
}

/** Container names must differ from Davit's and be unique in the pod. Within each list the list-map key ensures this. */
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

/** Every mount must name a volume. */
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
    minScale: scale('Minimum', 'the main service').optional(),
    maxScale: scale('Maximum', 'the main service. 0 runs no pods').optional(),
    cpu: cpu('the main service').optional(),
    cpuLimit: cpuLimit('the main service').optional(),
    memoryMb: memory('the main service').optional(),
    memoryLimitMb: memoryLimit('the main service').optional(),
    queueMinScale: scale('Minimum', 'the queue workers').optional(),
    queueMaxScale: scale('Maximum', 'the queue workers. With 0 the main service processes the queue').optional(),
    queueCpu: cpu('a queue worker').optional(),
    queueCpuLimit: cpuLimit('a queue worker').optional(),
    queueMemoryMb: memory('a queue worker').optional(),
    queueMemoryLimitMb: memoryLimit('a queue worker').optional(),
    orchestratorCpu: cpu('the orchestrator').optional(),
    orchestratorCpuLimit: cpuLimit('the orchestrator').optional(),
    orchestratorMemoryMb: memory('the orchestrator').optional(),
    orchestratorMemoryLimitMb: memoryLimit('the orchestrator').optional(),
    orchestratorMinScale: scale('Minimum', 'the orchestrator').optional(),
    orchestratorMaxScale: scale('Maximum', 'the orchestrator').optional(),
    executorCpu: cpu('the executor').optional(),
    executorCpuLimit: cpuLimit('the executor').optional(),
    executorMemoryMb: memory('the executor').optional(),
    executorMemoryLimitMb: memoryLimit('the executor').optional(),
    redisCpu: cpu('Redis').optional(),
    redisCpuLimit: cpuLimit('Redis', LEAST_REDIS_CPU_LIMIT).optional(),
    redisMemoryMb: memory('Redis').optional(),
    redisMemoryLimitMb: integer(64, 4_194_304)
      .describe('Memory limit of Redis, in megabytes (MiB); if absent, equal to the request.')
      .optional(),
    dbCpu: cpu('PostgreSQL').optional(),
    dbCpuLimit: cpuLimit('PostgreSQL').optional(),
    dbMemoryMb: memory('PostgreSQL').optional(),
    dbMemoryLimitMb: memoryLimit('PostgreSQL').optional(),
    dbStorageGi: integer(1, 65_536)
      .describe('Size of the PostgreSQL volume, in gibibytes. It can grow but not shrink.')
      .optional(),
    dbMaxConnections: integer(10, 10_000).describe('max_connections of PostgreSQL.').optional(),
    labels: z
      .record(text(317), matching(LABEL_VALUE_PATTERN, 63))
      .meta({ maxProperties: 50, ...celRules(keyRules(RESERVED_LABEL_PREFIXES)) })
      .describe('Labels of the pods.')
      .optional(),
    annotations: z
      .record(text(317), text(16_384))
      .meta({ maxProperties: 50, ...celRules(keyRules(RESERVED_ANNOTATION_PREFIXES)) })
      .describe('Annotations of the pods.')
      .optional(),
    serviceAccountName: ObjectName.describe(
      'Service account of the pods. If absent, the pods get no token.',
    ).optional(),
    imagePullSecrets: listOf(z.object({ name: ObjectName.describe('Name of a Secret in the same namespace.') }), 20)
      .meta(mapBy('name'))
      .describe('Pull secrets for images.')
      .optional(),
    volumes: listOf(Volume, 50).meta(mapBy('name')).describe('Volumes of the pods.').optional(),
    volumeMounts: listOf(VolumeMount, 50)
      .meta(mapBy('mountPath'))
      .describe('Volume mounts of the main container.')
      .optional(),
    initContainers: listOf(Container, 20)
      .meta(mapBy('name'))
      .describe('Containers that run to completion before the main one.')
      .optional(),
    sidecars: listOf(Container, 20)
      .meta(mapBy('name'))
      .describe('Containers that start before the main one and end after it.')
      .optional(),
  })
  .meta(celRules([...ORDERED_PAIRS.map(orderRule), ...containerRules, ...mountRules]));
export type ResourceSpec = z.infer<typeof ResourceSpec>;
