// The platform's settings: one document, read by both processes and checked by this schema. The chart writes it into
// a ConfigMap; every default is here and nowhere else.

import { z } from 'zod';
import { DEPLOYMENT_TYPES } from './app-deployment.ts';
import { PlacementSetting, perPart } from './placement.ts';
import { POD_POLICIES } from './pod-policy.ts';
import { AllowedReach } from './pod-reach.ts';
import { DNS_LABEL_PATTERN, DNS_SUBDOMAIN_PATTERN, HOST_PATTERN, ImageReference, SecretName } from './primitives.ts';
import { Sizes } from './sizes.ts';
import { HOSTINGS } from './source-rules.ts';

/** host[:port][/path], in lower case. */
const REGISTRY_PATTERN = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/;

const namespaceName = z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN));

/** The fewest revisions of a record that may be kept: of so many newest ones none is ever missing. */
export const FEWEST_REVISIONS = 10;

const objectName = z.string().min(1).max(253).regex(new RegExp(DNS_SUBDOMAIN_PATTERN));

const Address = z
  .strictObject({
    kind: z
      .enum(['none', 'ingress', 'gateway'])
      .default('none')
      .describe('What addresses are made of: Ingresses, HTTPRoutes of a Gateway, or none are made.'),
    baseDomain: z
      .string()
      // With name, namespace and digest before it a host stays within 253.
      .max(148)
      .regex(new RegExp(HOST_PATTERN))
      .optional()
      .describe('Domain under which every record gets a host of its own; absent: only records with a custom_url do.'),
    hostPattern: z
      .enum(['{name}-{namespace}', '{name}.{namespace}'])
      .default('{name}-{namespace}')
      .describe(
        'How such a host begins. With a hyphen one wildcard certificate serves all; what would be ambiguous or too long ends in a digest.',
      ),
    ingressClassName: objectName.optional().describe("Ingress class; absent: the cluster's default."),
    gateway: z
      .strictObject({
        name: objectName.describe('Name of the Gateway.'),
        namespace: namespaceName.describe('Its namespace.'),
        sectionName: objectName.optional().describe('Its listener; absent: all that fit.'),
      })
      .optional()
      .describe('The Gateway that routes are attached to (kind gateway).'),
    tls: z
      .enum(['off', 'default', 'secret', 'issued'])
      .default('off')
      .describe(
        "TLS of Ingresses. off: it ends elsewhere; default: the ingress controller's own certificate; secret: tlsSecretName in each tenant's namespace; issued: a Secret for each record, which an issuer named by an annotation fills.",
      ),
    tlsSecretName: objectName
      .optional()
      .describe("Secret with the certificate, in each tenant's namespace (tls secret)."),
    annotations: z
      .record(z.string().min(1).max(317), z.string().max(4096))
      .default({})
      .describe('Annotations of every Ingress or HTTPRoute.'),
    controllerNamespaceLabels: z
      .record(z.string().min(1).max(317), z.string().max(63))
      .optional()
      .describe(
        "Labels of the namespace of the ingress controller or Gateway. Given: servers are reached from there and from the record's own namespace alone.",
      ),
  })
  .refine((address) => address.kind !== 'gateway' || address.gateway !== undefined, {
    path: ['gateway'],
    message: 'kind gateway needs the name and namespace of a Gateway',
  })
  .refine((address) => address.tls !== 'secret' || address.tlsSecretName !== undefined, {
    path: ['tlsSecretName'],
    message: 'tls secret needs the name of the Secret',
  });
export type AddressSettings = z.infer<typeof Address>;

const megabytes = z.int().min(64).max(4_194_304);

const Builds = z.strictObject({
  namespace: namespaceName
    .default('davit-builds')
    .describe('Where the Jobs that build run. No tenant has rights there.'),
  registry: z
    .strictObject({
      host: z
        .string()
        .max(261)
        .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$/)
        .describe('host[:port], as pods, nodes and people reach it.'),
      repository: z
        .string()
        .max(100)
        .regex(/^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/)
        .optional()
        .describe('Path before the names of tenants: davit makes HOST/davit/TENANT/NAME.'),
      insecure: z.boolean().default(false).describe('Plain HTTP. For trials alone.'),
      ca: z.string().max(65_536).optional().describe('PEM; authorities that builds trust for it.'),
      tokens: z
        .boolean()
        .default(false)
        .describe(
          "true: the registry asks Davit's API for tokens, each for one repository, as the chart's own does. false: the two Secrets below are its credentials.",
        ),
      pushSecret: SecretName.optional().describe(
        "Secret of the builds' namespace, of type kubernetes.io/dockerconfigjson, that may push.",
      ),
      pullSecret: SecretName.optional().describe(
        'The same, that may only pull; copied into the namespace of each tenant that runs a built image.',
      ),
    })
    .refine((registry) => !registry.tokens || (registry.pushSecret ?? registry.pullSecret) === undefined, {
      path: ['tokens'],
      message: 'give either tokens or Secrets',
    })
    .optional()
    .describe('Where built images are kept. Absent: nothing is built.'),
  images: z
    .strictObject({
      builder: ImageReference.optional().describe('Image of the builder (docs/builder). Absent: nothing is built.'),
      davit: ImageReference.optional().describe("Davit's own image, which plans; the chart sets it."),
    })
    .prefault({}),
  baseImages: z
    .strictObject({
      python: z
        .string()
        .min(1)
        .max(512)
        .optional()
        .describe('Base image for Python; {version} and {distro} are replaced.'),
      node: z
        .string()
        .min(1)
        .max(512)
        .optional()
        .describe('Base image for Node.js; {version} and {distro} are replaced.'),
    })
    .prefault({}),
  user: z
    .string()
    .regex(/^[0-9]{1,10}:[0-9]{1,10}$/)
    .max(21)
    .default('65532:65532')
    .describe('uid:gid that images made from a configuration file run as.'),
  packageIndex: z
    .strictObject({
      pip: z.url().max(2048).optional().describe('Index of Python packages, as builds reach it.'),
      npm: z.url().max(2048).optional().describe('Registry of npm packages, as builds reach it.'),
    })
    .prefault({})
    .describe("Absent: the package managers' own."),
  mode: z
    .enum(['auto', 'userns', 'rootless'])
    .default('auto')
    .describe(
      'How the builder gets its rights: by a user namespace of its pod, or rootless. auto: the first where every node says that it has user namespaces.',
    ),
  concurrency: z
    .strictObject({
      perTenant: z.int().min(1).max(100).default(2).describe('Builds of one tenant at once.'),
      total: z.int().min(1).max(1000).default(4).describe('Builds at once.'),
    })
    .prefault({}),
  timeoutSeconds: z.int().min(60).max(86_400).default(840).describe('After so long a build has failed.'),
  resources: z
    .strictObject({
      cpu: z.number().min(0.05).max(64).default(0.5).describe('CPU requested, in cores.'),
      cpuLimit: z.number().min(0.05).max(64).default(2).describe('CPU limit, in cores.'),
      memoryMb: megabytes.default(512).describe('Memory requested, in megabytes (MiB).'),
      memoryLimitMb: megabytes.default(2048).describe('Memory limit, in megabytes (MiB).'),
      storageGi: z.int().min(1).max(1000).default(10).describe('Disk that a build may use, in gibibytes.'),
    })
    .prefault({}),
  workspaceMb: megabytes.default(2048).describe('Most that a source may have once it is unpacked, in megabytes (MiB).'),
  uploadMaxMb: z.int().min(1).max(5000).default(200).describe('Largest upload, in megabytes (MiB).'),
  pollSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(60)
    .describe('How often refs with build_on_push are asked about; 0: only when a webhook comes.'),
  keepFinishedSeconds: z
    .int()
    .min(0)
    .max(604_800)
    .default(3600)
    .describe('So long the Job and the pod of a finished build stay, for people to look at.'),
  egress: z
    .array(z.union([z.cidrv4(), z.cidrv6()]))
    .max(100)
    .default([])
    .describe(
      'Ranges that builds may reach though they are private: of the registry, a mirror, a package index. Those of codeHosts are added.',
    ),
  placement: PlacementSetting.optional().describe('Where the pods that build may run.'),
});
export type BuildSettings = z.infer<typeof Builds>;

export const Settings = z.strictObject({
  hosting: z
    .enum(HOSTINGS)
    .default('self-hosted')
    .describe(
      'self-hosted accepts external_docker alone, cloud the other four sources, both all five. A record with a listener_id counts as self-hosted on a cloud platform.',
    ),
  organizationNamespace: namespaceName
    .default('davit-org')
    .describe('Where what belongs to the whole organization lives.'),
  namespaces: z
    .array(namespaceName)
    .max(500)
    .default([])
    .describe('Tenant namespaces that are looked after; empty: all that carry the tenant label.'),
  paused: z
    .boolean()
    .default(false)
    .describe('true: nothing is made, changed or deleted, of any record; statuses are still reported. For incidents.'),
  checkNodes: z
    .boolean()
    .default(true)
    .describe(
      'Whether a new size of a PostgreSQL or Redis that runs is held back where no node could take its pod, whatever else runs there. Needs the right to list Nodes, which the chart gives with it. false where an autoscaler adds larger nodes than there are.',
    ),
  deploymentType: z
    .enum(DEPLOYMENT_TYPES)
    .optional()
    .describe('Preset of sizes and scale for records that name no deployment_type; absent: the preset plain.'),
  sizes: Sizes,
  images: z
    .strictObject({
      registry: z
        .string()
        .max(200)
        .regex(REGISTRY_PATTERN)
        .optional()
        .describe(
          "Registry, with a path or not, that takes the place of the platform images' own: mirror.example/hub.",
        ),
      pullSecrets: z
        .array(SecretName)
        .max(10)
        .default([])
        .describe("Secrets of a record's own namespace with which images are pulled, besides those that it names."),
      postgres: ImageReference.default('docker.io/library/postgres:17').describe(
        'Image of PostgreSQL; a new major version is taken by new records alone.',
      ),
      redis: ImageReference.default('docker.io/valkey/valkey:8').describe('Image of Redis or Valkey.'),
      pullPolicy: z
        .enum(['Always', 'IfNotPresent', 'Never'])
        .default('IfNotPresent')
        .describe("Pull policy of the records' and the platform's images."),
    })
    .prefault({}),
  pods: z
    .strictObject({
      port: z.int().min(1).max(65_535).default(8000).describe('Port that an image must listen on.'),
      healthPath: z
        .string()
        .startsWith('/')
        .max(1024)
        .default('/ok')
        .describe('Path that answers 200 when the server can serve.'),
      progressDeadlineSeconds: z
        .int()
        .min(10)
        .max(86_400)
        .default(600)
        .describe('After so long without progress a rollout has failed.'),
      policy: z
        .enum(POD_POLICIES)
        .default('baseline')
        .describe('Pod Security Standard that the pods of records keep; ours are always restricted.'),
      allowed: AllowedReach.prefault({}).describe(
        'What records may ask for that reaches beyond their pods. Taken by new revisions.',
      ),
    })
    .prefault({}),
  database: z
    .strictObject({
      own: z
        .boolean()
        .default(true)
        .describe('false: every record must bring POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM.'),
      storageClassName: z
        .string()
        .max(253)
        .optional()
        .describe("Storage class of PostgreSQL volumes; absent: the cluster's default."),
    })
    .prefault({}),
  limits: z
    .strictObject({
      cpu: z.number().min(0.1).max(64).optional().describe('Most CPU of one pod, in cores: request and limit.'),
      memoryMb: z
        .int()
        .min(64)
        .max(4_194_304)
        .optional()
        .describe('Most memory of one pod, in megabytes (MiB): request and limit.'),
      scale: z.int().min(1).max(100).optional().describe('Most pods of one part.'),
      storageGi: z.int().min(1).max(65_536).optional().describe('Largest PostgreSQL volume, in gibibytes.'),
    })
    .prefault({})
    .describe('What a record may ask for. Lower limits are for new revisions: what runs goes on.'),
  placement: z
    .strictObject(perPart(PlacementSetting))
    .prefault({})
    .describe('Where the pods of each part may run. Taken by new revisions.'),
  revisions: z
    .strictObject({
      kept: z
        .int()
        .min(FEWEST_REVISIONS)
        .max(1000)
        .default(FEWEST_REVISIONS)
        .describe('Revisions of a record that are kept, and always those that run.'),
    })
    .prefault({}),
  autoscaling: z
    .strictObject({
      cpuPercent: z
        .int()
        .min(1)
        .max(1000)
        .default(75)
        .describe('Average CPU of the main containers that is aimed at, in percent of what they request.'),
      memoryPercent: z
        .int()
        .min(1)
        .max(1000)
        .default(75)
        .describe('Average memory of the main containers that is aimed at, in percent of what they request.'),
      scaleDownWindowSeconds: z
        .int()
        .min(0)
        .max(3600)
        .default(1800)
        .describe('Pods are taken away only when so few were enough for so long.'),
    })
    .prefault({}),
  address: Address.prefault({}).describe('How deployments are reached from outside.'),
  tracing: z
    .strictObject({ otlpEndpoint: z.url().max(2048).optional().describe('OTEL_EXPORTER_OTLP_ENDPOINT of every pod.') })
    .prefault({}),
  builds: Builds.prefault({}).describe('How images are built from sources (docs/builds.md).'),
  codeHosts: z
    .array(
      z.strictObject({
        host: z
          .string()
          .min(1)
          .max(261)
          .regex(/^[^\s/?#@\\]+$/)
          .describe('Host of an API, or host:port where that is not 443.'),
        addresses: z
          .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
          .max(100)
          .default([])
          .describe('Addresses and ranges that it may have though they are not public.'),
        ca: z
          .string()
          .max(65_536)
          .optional()
          .describe("PEM; authorities that are trusted for it instead of the machine's."),
      }),
    )
    .max(100)
    .default([{ host: 'api.github.com', addresses: [] }])
    .describe('The only hosts that integrations may name, and that Davit goes to.'),
  http: z
    .strictObject({
      basePath: z
        .string()
        .regex(/^(\/[a-z0-9-]+)*$/)
        .max(128)
        .default('')
        .describe('The API is served at / and under this path as well.'),
      insecure: z
        .boolean()
        .default(false)
        .describe('Serve plain HTTP off loopback: only behind something that ends TLS.'),
      requestsPerMinute: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(1200)
        .describe('Requests that one caller may make in a minute, at each replica; 0: as many as they like.'),
      trustedProxies: z
        .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
        .max(100)
        .default([])
        .describe(
          'Addresses and ranges of proxies whose X-Forwarded-For is believed; by the address callers with unknown tokens are counted.',
        ),
    })
    .prefault({}),
});
export type Settings = z.infer<typeof Settings>;

/** The settings with nothing set. */
export function defaultSettings(): Settings {
  return Settings.parse({});
}
