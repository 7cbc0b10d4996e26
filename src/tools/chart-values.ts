// The values of charts/davit, as a schema: the source of its values.schema.json. What each value is for, and its
// default, stands in charts/davit/values.yaml; the platform's own settings are kinds/settings.ts.

import { z } from 'zod';
import { integer, text } from '../kinds/primitives.ts';
import { Settings } from '../kinds/settings.ts';

const free = z.record(z.string(), z.unknown());
const quantities = z.record(z.string(), z.union([z.string(), z.number()]));

const Ipv4OrIpv6 = z.string().regex(/^([0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)?$/);

const Pods = z.strictObject({
  resources: z.strictObject({ requests: quantities.optional(), limits: quantities.optional() }),
  podLabels: z.record(z.string(), z.string()),
  podAnnotations: z.record(z.string(), z.string()),
  nodeSelector: z.record(z.string(), z.string()),
  tolerations: z.array(free),
  affinity: free,
  priorityClassName: z.string(),
});

const Process = z.strictObject({
  ...Pods.shape,
  topologySpreadConstraints: z.array(free),
  extraEnv: z.array(z.looseObject({ name: z.string().min(1) })),
  extraVolumes: z.array(z.looseObject({ name: z.string().min(1) })),
  extraVolumeMounts: z.array(z.looseObject({ name: z.string().min(1), mountPath: z.string().min(1) })),
  replicas: integer(0, 50),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
});

const Registry = z.strictObject({
  ...Pods.shape,
  enabled: z.boolean(),
  image: z.string().min(1),
  host: z.string().regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?)?$/),
  tokenUrl: z.string().regex(/^(https?:\/\/[^\s/]+\/[^\s?#]*)?$/),
  ca: text(65_536),
  tls: z.strictObject({ secretName: z.string(), selfSigned: z.boolean() }),
  service: z.strictObject({ clusterIP: Ipv4OrIpv6, annotations: z.record(z.string(), z.string()) }),
  storage: z.strictObject({
    size: z.string().regex(/^[1-9][0-9]*(Mi|Gi|Ti|M|G|T)$/),
    storageClassName: z.string(),
    s3: z.strictObject({
      bucket: z.string().regex(/^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$/),
      region: z.string().regex(/^[a-z0-9-]{0,63}$/),
      endpoint: z.string().regex(/^(https?:\/\/[^\s/?#]+)?$/),
      pathStyle: z.boolean(),
      prefix: z.string().regex(/^([A-Za-z0-9][A-Za-z0-9/._-]*[A-Za-z0-9]|[A-Za-z0-9]?)$/),
      credentialsSecret: text(253),
      serviceAccountAnnotations: z.record(z.string(), z.string()),
      ca: text(65_536),
      redirect: z.boolean(),
    }),
  }),
  garbageCollection: z.strictObject({
    enabled: z.boolean(),
    everyDays: integer(1, 90),
    hour: integer(0, 23),
    limitMinutes: integer(2, 1440),
    cacheDays: integer(1, 3650),
    maxTags: integer(50, 10_000),
  }),
  ingress: z.strictObject({
    enabled: z.boolean(),
    className: z.string(),
    tlsSecretName: z.string(),
    annotations: z.record(z.string(), z.string()),
  }),
  nodes: z.strictObject({
    enabled: z.boolean(),
    directory: z.string().regex(/^\/[^\0]*$/),
    nodeSelector: z.record(z.string(), z.string()),
    tolerations: z.array(free),
  }),
});

export const ChartValues = z.strictObject({
  crds: z.strictObject({ install: z.boolean() }),
  image: z.strictObject({
    repository: z.string().min(1),
    tag: z.string(),
    digest: z.string().regex(/^(sha256:[0-9a-f]{64})?$/),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
    pullSecrets: z.array(z.strictObject({ name: z.string().min(1) })),
  }),
  imageDigests: z.record(z.string().min(1).max(512), z.string().regex(/^sha256:[0-9a-f]{64}$/)),
  caBundle: z.strictObject({ configMap: text(253), key: z.string().min(1).max(253) }),
  commonLabels: z.record(z.string(), z.string()),
  workloads: z.strictObject({ enabled: z.boolean() }),
  settings: Settings,
  registry: Registry,
  buildsNamespace: z.strictObject({ create: z.boolean() }),
  oauthNamespace: z.strictObject({ create: z.boolean() }),
  organizationNamespace: z.strictObject({ create: z.boolean() }),
  controller: z.strictObject({ ...Process.shape, workers: integer(1, 100) }),
  listener: z.strictObject({
    ...Process.shape,
    enabled: z.boolean(),
    namespaces: z.array(z.string().min(1).max(63)).max(500),
  }),
  api: z.strictObject({
    ...Process.shape,
    service: z.strictObject({
      type: z.enum(['ClusterIP', 'LoadBalancer']),
      clusterIP: Ipv4OrIpv6,
      annotations: z.record(z.string(), z.string()),
    }),
    tls: z.strictObject({ secretName: z.string(), selfSigned: z.boolean() }),
    ingress: z.strictObject({
      enabled: z.boolean(),
      className: z.string(),
      host: text(253),
      tlsSecretName: z.string(),
      annotations: z.record(z.string(), z.string()),
    }),
    httpRoute: z.strictObject({
      enabled: z.boolean(),
      backendTls: z.boolean(),
      parentRefs: z.array(free),
      hostnames: z.array(z.string()),
    }),
  }),
  networkPolicy: z.strictObject({
    enabled: z.boolean(),
    apiFrom: z.array(free),
    registryFrom: z.array(free),
    registryTo: z.array(free),
    metricsFrom: z.array(free),
  }),
  serviceMonitor: z.strictObject({
    enabled: z.boolean(),
    interval: z.string().regex(/^[0-9]+(ms|s|m|h)$/),
    labels: z.record(z.string(), z.string()),
  }),
  prometheusRule: z.strictObject({
    enabled: z.boolean(),
    labels: z.record(z.string(), z.string()),
    runbookBaseUrl: z.string().regex(/^$|^https?:\/\/\S*[^/\s]$/),
  }),
  grafanaDashboard: z.strictObject({
    enabled: z.boolean(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
  }),
  rbac: z.strictObject({ aggregate: z.boolean() }),
  admission: z.strictObject({ revisionWriters: z.array(z.string().min(1)).max(20) }),
  global: z
    .looseObject({
      imageRegistry: z
        .string()
        .regex(/^([a-z0-9.-]+(:[0-9]+)?(\/[a-z0-9._/-]*[a-z0-9])?)?$/)
        .optional(),
    })
    .optional()
    .describe('Helm passes this to every chart; the chart does not use the rest.'),
});

/** The text of charts/davit/values.schema.json. */
export function valuesSchema(): object {
  return z.toJSONSchema(ChartValues, { target: 'draft-7', io: 'input' });
}
