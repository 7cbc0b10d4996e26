// The platform's settings: one document that both processes read and validate with this schema. The chart writes it into
// a ConfigMap. All defaults are in this file, but for those of sizes (sizes.ts).

import { z } from 'zod';
import { DEPLOYMENT_TYPES } from './app-deployment.ts';
import { DATA_DURABILITIES, Instances } from './database.ts';
import { DATABASE_DRIVERS, DELETION_POLICIES } from './database-names.ts';
import { NAMESPACE_NAME_LABEL } from './meta.ts';
import { DNS_SUBDOMAIN_PATTERN } from './name-patterns.ts';
import { nextRunAt } from './next-run.ts';
import { LOSSES } from './operation-phases.ts';
import { AllowedPlacement, PlacementSetting, perPart } from './placement.ts';
import { POD_POLICIES } from './pod-policy.ts';
import { AllowedReach, RefusedReach } from './pod-reach.ts';
import {
  DNS_LABEL_PATTERN,
  flag,
  HOST_PATTERN,
  ImageReference,
  integer,
  listOf,
  matching,
  ObjectName,
  oneOf,
  text,
} from './primitives.ts';
import { FEWEST_REVISIONS } from './revision-states.ts';
import { Oidc } from './sign-in.ts';
import { Sizes } from './sizes.ts';
import { HOSTINGS } from './source-rules.ts';
import { Schedule, TimeZone } from './tasks.ts';

/** host[:port][/path], in lower case. */
const REGISTRY_PATTERN = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/;

/** A quantity of Kubernetes that is not negative. */
const AMOUNT_PATTERN = /^[0-9]+(\.[0-9]+)?([eE][0-9]{1,2}|[EPTGMk]|[EPTGMK]i|[mun])?$/;

/** In words, because a failed pattern does not show which values are valid. The chart has the same message. */
const ADDRESS_OR_RANGE =
  'must be an IP address such as 10.0.0.7 or a range such as 10.0.0.0/8, not a host name or a wildcard';
const AddressOrRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: ADDRESS_OR_RANGE });
const AddressRange = z.union([z.cidrv4(), z.cidrv6()], { error: 'must be a range such as 10.0.0.0/8' });

const namespaceName = matching(DNS_LABEL_PATTERN, 63, 1);

const objectName = matching(DNS_SUBDOMAIN_PATTERN, 253, 1);

/** What one value of an address makes another needed. */
const NEEDS = [
  {
    field: 'kind',
    is: 'gateway',
    needs: 'gateway',
    message: 'kind gateway needs the name and namespace of a Gateway',
  },
  {
    field: 'tls',
    is: 'secret',
    needs: 'tlsSecretName',
    message: 'tls secret needs the name of the Secret',
  },
] as const;

const Address = z
  .strictObject({
    kind: oneOf(['none', 'ingress', 'gateway'])
      .default('none')
      .describe('Kind of object for addresses: Ingress, HTTPRoute of a Gateway, or none.'),
    baseDomain: z
      .string()
      // Together with name, namespace and digest a host has at most 253 characters.
      .max(148)
      .regex(new RegExp(HOST_PATTERN))
      .optional()
      .describe('Domain under which every record gets a host. If absent, only records with a custom_url have one.'),
    hostPattern: oneOf(['{name}-{namespace}', '{name}.{namespace}'])
      .default('{name}-{namespace}')
      .describe(
        'First labels of such a host. With a hyphen, one wildcard certificate covers all hosts, and an ambiguous or too long label ends in a digest.',
      ),
    reservedHosts: listOf(matching(HOST_PATTERN, 253), 100)
      .default([])
      .describe(
        "Hosts that no record may claim: the platform's own. The chart adds those of its API and its registry.",
      ),
    ingressClassName: objectName.optional().describe("Ingress class. If absent, the cluster's default."),
    gateway: z
      .strictObject({
        name: objectName.describe('Name of the Gateway.'),
        namespace: namespaceName.describe('Namespace of the Gateway.'),
        sectionName: objectName.optional().describe('Listener of the Gateway. If absent, all that match.'),
      })
      .optional()
      .describe('Gateway to which routes are attached (kind gateway).'),
    tls: oneOf(['off', 'default', 'secret', 'issued'])
      .default('off')
      .describe(
        "TLS of Ingresses. off: TLS is terminated elsewhere; default: the ingress controller's certificate; secret: tlsSecretName in each tenant's namespace; issued: a Secret per record, filled by an issuer that an annotation names.",
      ),
    tlsSecretName: objectName
      .optional()
      .describe("Secret with the certificate, in each tenant's namespace (tls secret)."),
    annotations: z
      .record(z.string().min(1).max(317), text(4096))
      .default({})
      .describe('Annotations of every Ingress or HTTPRoute.'),
    controllerNamespaceLabels: z
      .record(z.string().min(1).max(317), text(63))
      .optional()
      .describe(
        "Labels of the namespace of the ingress controller or Gateway. If set, only that namespace and the record's own can reach servers.",
      ),
  })
  .superRefine((address, { addIssue }) => {
    for (const { field, is, needs, message } of NEEDS)
      if (address[field] === is && address[needs] === undefined) addIssue({ code: 'custom', path: [needs], message });
  })
  // For those who read the schema alone, as Helm does.
  .meta({
    allOf: NEEDS.map(({ field, is, needs }) => ({
      if: { properties: { [field]: { const: is } }, required: [field] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: [needs] },
    })),
  });
export type AddressSettings = z.infer<typeof Address>;

const megabytes = integer(64, 4_194_304);

const RegistryUpkeep = z
  .strictObject({
    enabled: flag(true).describe(
      'Whether unneeded content is deleted. If false, the pod is still replaced, so that it reads its keys again.',
    ),
    everyDays: integer(1, 90)
      .default(7)
      .describe(
        "Days between two collections of garbage. The registry's pod is replaced by one that collects before it serves.",
      ),
    hour: integer(0, 23).default(3).describe('Hour of the day (UTC) in which the pod is replaced.'),
    limitMinutes: integer(2, 1440)
      .default(30)
      .describe('Minutes after which the registry starts although it has not collected all garbage.'),
    cacheDays: integer(1, 3650)
      .default(30)
      .describe("Days after a deployment's last build for which its build cache is kept."),
    maxTags: integer(50, 10_000)
      .default(500)
      .describe(
        "Tags that a deployment's repository may have. Above this number, unused tags are deleted, the oldest first. At twice the number, pushes are rejected.",
      ),
  })
  .describe(
    'The chart sets it for its own registry: Davit deletes content that no revision and no record needs. Absent: Davit deletes nothing in the registry.',
  );

/** A host to which Davit sends requests. */
const OutboundHost = z.strictObject({
  host: matching(/^[^\s/?#@\\]+$/, 261, 1).describe('Host of an API, or host:port if the port is not 443.'),
  addresses: listOf(AddressOrRange, 100).default([]).describe('Private addresses and ranges that the host may have.'),
  ca: text(65_536).optional().describe("CA certificates (PEM) for this host, instead of the system's."),
});

const OAuth = z
  .strictObject({
    namespace: namespaceName
      .default('davit-oauth')
      .describe("Namespace that keeps people's tokens, sealed. It has no pods, and no tenant has rights there."),
    hosts: listOf(OutboundHost, 100)
      .default([])
      .describe(
        'Hosts of token and revocation endpoints, the only ones of OAuth providers to which Davit sends requests. If empty, agents get no tokens, and the chart grants no rights for them.',
      ),
  })
  .describe('Tokens for agents on behalf of people (docs/agents.md).');

const AgentServer = z.strictObject({
  package: matching(/^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*$/, 200).describe(
    'Python package with its version: langhost==0.11.1.post1.',
  ),
  command: matching(/^[^\x00-\x1f\x7f]+$/, 1024, 1).describe(
    'Shell command that runs the server on $PORT: langhost serve --host 0.0.0.0 --port $PORT.',
  ),
});
export type AgentServer = z.output<typeof AgentServer>;

const Builds = z.strictObject({
  namespace: namespaceName
    .default('davit-builds')
    .describe('Namespace of the Jobs of builds. No tenant has rights there.'),
  registry: z
    .strictObject({
      host: matching(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$/, 261).describe(
        'host[:port], as pods, nodes and people reach it.',
      ),
      repository: matching(/^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/, 100)
        .optional()
        .describe('Path before the names of tenants: davit makes HOST/davit/TENANT/NAME.'),
      insecure: flag(false).describe('Plain HTTP. Only for trials.'),
      ca: text(65_536).optional().describe('CA certificates (PEM) that builds trust for it.'),
      tokens: flag(false).describe(
        "true: the registry accepts tokens from Davit's API, each for one repository, as the chart's own does. false: the two Secrets below are its credentials.",
      ),
      pushSecret: ObjectName.optional().describe(
        "Secret of the builds' namespace, of type kubernetes.io/dockerconfigjson, that may push.",
      ),
      pullSecret: ObjectName.optional().describe(
        'Secret of the same type that may only pull. It is copied into the namespace of each tenant that runs a built image.',
      ),
      upkeep: RegistryUpkeep.optional(),
    })
    .refine((registry) => !registry.tokens || (registry.pushSecret ?? registry.pullSecret) === undefined, {
      path: ['tokens'],
      message: 'set either tokens or Secrets',
    })
    .optional()
    .describe('Registry of built images. Absent: nothing is built.'),
  images: z
    .strictObject({
      builder: ImageReference.optional().describe('Image of the builder (docs/builder). Absent: nothing is built.'),
      davit: ImageReference.optional().describe("Davit's own image, for the plan step. The chart sets it."),
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
  agentServer: AgentServer.optional().describe(
    'Server that builds add to images of Python graphs whose configuration file names neither a base image nor a start command. Absent: the base image must have one.',
  ),
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
  mode: oneOf(['auto', 'userns', 'rootless'])
    .default('auto')
    .describe(
      'How the builder gets its rights: with a user namespace for its pod, or rootless. auto: a user namespace if every node reports support for it.',
    ),
  concurrency: z
    .strictObject({
      perTenant: integer(1, 100).default(2).describe('Builds of one tenant at once.'),
      total: integer(1, 1000).default(4).describe('Builds at once.'),
    })
    .prefault({}),
  finishSkipped: flag(false).describe(
    'Whether a running build continues although a newer revision with another source has replaced it. If false, it is cancelled.',
  ),
  timeoutSeconds: integer(60, 86_400).default(840).describe('Time after which a build fails.'),
  resources: z
    .strictObject({
      cpu: z.number().min(0.05).max(64).default(0.5).describe('CPU requested, in cores.'),
      cpuLimit: z.number().min(0.05).max(64).default(2).describe('CPU limit, in cores.'),
      memoryMb: megabytes.default(512).describe('Memory requested, in megabytes (MiB).'),
      memoryLimitMb: megabytes.default(2048).describe('Memory limit, in megabytes (MiB).'),
      storageGi: integer(1, 1000).default(10).describe('Disk that a build may use, in gibibytes.'),
    })
    .prefault({}),
  workspaceMb: megabytes.default(2048).describe('Largest unpacked source, in megabytes (MiB).'),
  uploadMaxMb: integer(1, 5000).default(200).describe('Largest upload, in megabytes (MiB).'),
  pollSeconds: integer(0, 86_400)
    .default(60)
    .describe('How often refs with build_on_push are polled. 0: only when a webhook arrives.'),
  keepFinishedSeconds: integer(0, 604_800)
    .default(3600)
    .describe('How long the Job and the pod of a finished build are kept.'),
  egress: listOf(AddressRange, 100)
    .default([])
    .describe(
      'Private ranges that builds may reach: of the registry, a mirror, a package index, a DNS server outside the cluster. Those of codeHosts are added.',
    ),
  egressExcept: listOf(AddressOrRange, 100)
    .default([])
    .describe(
      "Public addresses and ranges that builds may not reach: of the cluster's API server and of its nodes. If a range here and one in egress overlap, the smaller one wins.",
    ),
  placement: PlacementSetting.optional().describe('Where the pods of builds may run.'),
});
export type BuildSettings = z.infer<typeof Builds>;

/** http://HOST[:PORT]. The chart says the same of one with a user name. */
const ProxyUrl = matching(/^http:\/\/[^\s/?#]+\/?$/, 512).refine(
  (url) => !url.includes('@') && URL.parse(url) !== null,
  {
    error:
      'must be http://HOST:PORT without a user name: instructions of Dockerfiles, which tenants write, get this address',
  },
);

const Proxy = z
  .strictObject({
    httpProxy: ProxyUrl.optional().describe('Proxy of http:// addresses, as http://HOST:PORT.'),
    httpsProxy: ProxyUrl.optional().describe(
      'Proxy of https:// addresses, as http://HOST:PORT. Davit and builds connect through it (CONNECT), so it cannot read the traffic.',
    ),
    noProxy: z
      .array(
        text(253)
          // Every program reads these alike; a wildcard or a port they do not.
          .regex(/^(\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f]*:[0-9a-f:.]*)(\/[0-9]{1,3})?$/)
          .refine((entry) => !entry.includes('/') || AddressOrRange.safeParse(entry).success, {
            error: 'must be a range such as 10.0.0.0/8',
          }),
      )
      .max(200)
      .default([])
      .describe(
        "Hosts that are reached directly: example.com with its subdomains, .example.com, an address or a range. The cluster's own names, the API server, the chart's registry, and code hosts with addresses are added.",
      ),
    addresses: listOf(AddressOrRange, 100)
      .default([])
      .describe(
        'Private addresses and ranges that the proxies may have, so that builds may connect to them. Not needed if the proxy is an address.',
      ),
  })
  .describe("Proxies of Davit's requests to code hosts and registries, and of builds. Not of deployments.");
export type ProxySettings = z.infer<typeof Proxy>;

const MaintenanceWindow = z
  .strictObject({
    schedule: Schedule.describe('When it opens, such as 0 3 * * sun.'),
    timeZone: TimeZone.optional().describe('Time zone of the schedule, such as Europe/Berlin. Default: UTC.'),
    hours: integer(1, 24).default(4).describe('How long it is open. No patch starts later; a running one continues.'),
    accept: z
      .array(z.enum(LOSSES))
      .default([])
      .describe(
        'Losses that these patches may cause. NoBackup: PostgreSQL restarts without a verified backup of the last 24 hours. QueueLost: Redis has no volume, so its queue is lost. A datastore whose patch would cause another loss is not patched.',
      ),
  })
  .refine(({ schedule, timeZone }) => nextRunAt(schedule, timeZone, 0) !== undefined, {
    path: ['schedule'],
    message:
      'never opens: write five fields such as 0 3 * * sun, or a name such as @weekly but not @every, and a time zone such as Europe/Berlin',
  });

const Backups = z
  .strictObject({
    store: z
      .strictObject({
        endpoint: z
          .url({ protocol: /^https?$/ })
          .max(512)
          .describe('Address of an S3-compatible store, as pods reach it: https://s3.eu-central-1.amazonaws.com.'),
        bucket: matching(/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/, 63, 3).describe('Bucket, which must exist.'),
        prefix: matching(/^[a-zA-Z0-9_-]+(\/[a-zA-Z0-9_-]+)*$/, 200)
          .default('davit')
          .describe('Prefix of all keys: backups of tenant T are below PREFIX/T/.'),
        region: z.string().min(1).max(64).default('us-east-1').describe('Region in the signatures of requests.'),
        pathStyle: flag(true).describe(
          'Whether the bucket is in the path of URLs. If false, it is part of the host name.',
        ),
        insecure: flag(false).describe('Plain HTTP. Only for trials: a backup is not encrypted.'),
        ca: text(65_536).optional().describe('CA certificates (PEM) for the store.'),
        credentialsSecret: ObjectName.default('davit-backup-store').describe(
          "Secret in each tenant's namespace with the keys accessKeyId and secretAccessKey. Give each tenant a key that reaches only PREFIX/TENANT/.",
        ),
      })
      .refine(({ endpoint, insecure }) => insecure || endpoint.startsWith('https://'), {
        path: ['endpoint'],
        message: 'must begin with https://, unless insecure is true',
      })
      .optional()
      .describe('Store of backups. Absent: no backups are made.'),
    default: z
      .strictObject({
        enabled: flag(true).describe(
          'Whether the PostgreSQL of a record that does not set database.backup is backed up every day, where there is a store. A record with an archive is not.',
        ),
        verify: flag(true).describe('Whether the newest of these backups is verified, once a week.'),
      })
      .prefault({})
      .describe('Backups of records that do not set database.backup.'),
    image: ImageReference.optional().describe("Davit's own image, which sends and fetches backups. The chart sets it."),
    timeoutSeconds: integer(60, 172_800)
      .default(21_600)
      .describe('Seconds after which a backup, a restore or a verification is stopped.'),
    keep: integer(1, 1000)
      .default(7)
      .describe('Number of scheduled backups of a record that are kept, unless the record sets a value.'),
    keepDays: integer(1, 3650)
      .optional()
      .describe(
        'Days for which a scheduled backup is kept, even if there are more than keep, unless the record sets a value.',
      ),
    verify: flag(false).describe(
      'Whether the newest backup of each record is restored into a temporary server and compared, once a week, unless the record sets a value. Each database is then read twice for a backup, and a node needs room for the server.',
    ),
  })
  .describe("Backups of the records' own PostgreSQL (docs/backup.md).");
export type BackupSettings = z.infer<typeof Backups>;
export type BackupStore = NonNullable<BackupSettings['store']>;

export const Settings = z.strictObject({
  hosting: oneOf(HOSTINGS)
    .default('self-hosted')
    .describe(
      'self-hosted accepts only external_docker, cloud the other four sources, both all five. A record with a listener_id counts as self-hosted on a cloud platform.',
    ),
  organizationNamespace: namespaceName
    .default('davit-org')
    .describe('Namespace of the kinds that belong to the whole organization.'),
  namespaces: listOf(namespaceName, 500)
    .default([])
    .describe('Tenant namespaces that Davit serves. If empty, all with the tenant label.'),
  paused: flag(false).describe(
    'true: Davit creates, changes and deletes nothing for any record, and still reports statuses. Meant for incidents.',
  ),
  deploymentType: oneOf(DEPLOYMENT_TYPES)
    .optional()
    .describe('Preset of sizes and scale for records without a deployment_type. If absent, the preset plain.'),
  sizes: Sizes,
  images: z
    .strictObject({
      registry: text(200)
        .regex(REGISTRY_PATTERN)
        .optional()
        .describe(
          "Registry, optionally with a path, that replaces the registry of the platform's images: mirror.example/hub.",
        ),
      pullSecrets: listOf(ObjectName, 10)
        .default([])
        .describe("Pull secrets in the record's namespace, in addition to those that the record names."),
      postgres: ImageReference.default('docker.io/pgvector/pgvector:0.8.6-pg17-trixie').describe(
        'Image of PostgreSQL. Only new records use a new major version.',
      ),
      cloudNativePg: ImageReference.default('ghcr.io/cloudnative-pg/postgresql:17.11-standard-trixie').describe(
        'Image of PostgreSQL for driver cloudnative-pg. Its tag must begin with the major version. Only new records use a new one.',
      ),
      redis: ImageReference.default('docker.io/valkey/valkey:8.1.10-trixie').describe('Image of Redis or Valkey.'),
      pullPolicy: oneOf(['Always', 'IfNotPresent', 'Never'])
        .default('IfNotPresent')
        .describe("Pull policy of the records' and the platform's images."),
    })
    .prefault({}),
  pods: z
    .strictObject({
      port: integer(1, 65_535).default(8000).describe('Port that an image must listen on.'),
      healthPath: z
        .string()
        .startsWith('/')
        .max(1024)
        .default('/ok')
        .describe('Path that answers 200 when the server can serve.'),
      // More than the 10 s for which a worker without a health check must run.
      progressDeadlineSeconds: integer(15, 86_400)
        .default(600)
        .describe('A rollout without progress for this many seconds has failed.'),
      maxCrashes: integer(1, 100)
        .default(3)
        .describe(
          'Exits of a container after which its record is Stalled. A new revision is DEPLOY_FAILED then, and the pods of the active one serve.',
        ),
      unavailableSeconds: integer(30, 86_400)
        .default(300)
        .describe('A part that was deployed and has no ready pod for this many seconds makes its record Stalled.'),
      policy: oneOf(POD_POLICIES)
        .default('baseline')
        .describe("Pod Security Standard of the records' pods. Davit's own pods are always restricted."),
      allowed: AllowedReach.prefault({}).describe(
        'Labels, annotations and drivers with an effect beyond the pod that records may use. Applies to new revisions.',
      ),
      refused: RefusedReach.prefault({}).describe(
        'Labels and annotations on which software of this platform acts, and that records may not use. Applies to new revisions.',
      ),
    })
    .prefault({}),
  database: z
    .strictObject({
      own: flag(true).describe('false: every record must have POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM.'),
      storageClassName: text(253)
        .optional()
        .describe("Storage class of PostgreSQL volumes. If absent, the cluster's default."),
      driver: oneOf(DATABASE_DRIVERS)
        .default('pod')
        .describe(
          'Driver of the PostgreSQL of a new record that does not name a driver. Existing databases keep their driver.',
        ),
      deletionPolicy: oneOf(DELETION_POLICIES)
        .default('Retain')
        .describe(
          'What happens to the PostgreSQL of a deleted record that does not set databaseDeletionPolicy. Each record keeps the value from its creation.',
        ),
      instances: Instances.default(2).describe(
        'Instances with driver cloudnative-pg for records that do not set them.',
      ),
      operatorNamespaceLabels: z
        .record(text(317), text(63))
        .default({ [NAMESPACE_NAME_LABEL]: 'cnpg-system' })
        .describe("Labels of the namespace of CloudNativePG's operator, which must reach the instances."),
      cloudNativePg: z
        .strictObject({
          enabled: flag(true).describe(
            "Whether records may have driver cloudnative-pg, as soon as the cluster has CloudNativePG's kinds.",
          ),
          dataDurability: oneOf(DATA_DURABILITIES)
            .default('preferred')
            .describe(
              'Whether a commit waits for a replica, with two instances or more. required: always; without a replica, writes block. preferred: while a replica is available. off: never; a failover may lose the last commits.',
            ),
          userId: integer(1, 65_535)
            .default(26)
            .describe(
              'uid and gid of postgres in images.cloudNativePg. In the official images of PostgreSQL on Debian: 999. An existing Cluster keeps its own.',
            ),
        })
        .prefault({})
        .describe('The driver cloudnative-pg.'),
    })
    .prefault({}),
  backups: Backups.prefault({}),
  datastores: z
    .strictObject({
      atOnce: integer(1, 1000)
        .default(5)
        .describe(
          'Number of operations that may stop a deployment or restart a datastore at once on the platform. The others wait.',
        ),
      window: MaintenanceWindow.optional().describe(
        'When Davit itself patches each datastore whose image is older than the one in these settings. Absent: only on request.',
      ),
    })
    .prefault({})
    .describe('Operations on PostgreSQL and Redis (docs/databases.md).'),
  limits: z
    .strictObject({
      cpu: z.number().min(0.1).max(64).optional().describe('Maximum CPU of one pod, in cores, for request and limit.'),
      memoryMb: integer(64, 4_194_304)
        .optional()
        .describe('Maximum memory of one pod, in megabytes (MiB), for request and limit.'),
      scale: integer(1, 100).optional().describe('Maximum number of pods of one part.'),
      storageGi: integer(1, 65_536).optional().describe('Maximum size of a PostgreSQL volume, in gibibytes.'),
      resources: z
        .record(z.string().min(1).max(317), z.union([z.int().min(0), text(32).regex(AMOUNT_PATTERN)]))
        .optional()
        .describe(
          'Maximum of each other resource that the sidecars and init containers of one pod may ask for, by its name, such as nvidia.com/gpu. If set, resources that it does not name are rejected.',
        ),
    })
    .prefault({})
    .describe('Limits for records. A lowered limit applies to new revisions; existing ones continue.'),
  placement: z
    .strictObject({
      ...perPart(PlacementSetting),
      allowed: AllowedPlacement.optional().describe(
        'Placements that records may choose for their parts. Absent: none.',
      ),
    })
    .prefault({})
    .describe('Where the pods of each part may run. Applies to new revisions.'),
  revisions: z
    .strictObject({
      kept: integer(FEWEST_REVISIONS, 1000)
        .default(FEWEST_REVISIONS)
        .describe(
          'Number of revisions of a record to keep. Running revisions and the newest three deployed ones with different values are always kept.',
        ),
    })
    .prefault({}),
  autoscaling: z
    .strictObject({
      cpuPercent: integer(1, 1000)
        .default(75)
        .describe('Target average CPU utilization of the main containers, in percent of their request.'),
      memoryPercent: integer(1, 1000)
        .default(75)
        .describe('Target average memory utilization of the main containers, in percent of their request.'),
      scaleDownWindowSeconds: integer(0, 3600)
        .default(1800)
        .describe('Stabilization window before pods are removed, in seconds.'),
    })
    .prefault({}),
  keda: z
    .strictObject({
      enabled: flag(true).describe(
        "Whether queue workers with runtime.queue_depth follow their queue with KEDA, while the cluster has KEDA's kinds.",
      ),
      namespaceLabels: z
        .record(text(317), text(63))
        .default({ [NAMESPACE_NAME_LABEL]: 'keda' })
        .describe("Labels of the namespace of KEDA's operator, which may connect to the databases of such records."),
    })
    .prefault({}),
  address: Address.prefault({}).describe('External addresses of deployments.'),
  metrics: z
    .strictObject({
      perDeployment: flag(false).describe(
        'Whether the leader has metrics that name each deployment and its namespace.',
      ),
      maxDeployments: integer(1, 20_000)
        .default(1000)
        .describe('Maximum number of deployments that these metrics name. Stalled deployments come first.'),
    })
    .prefault({}),
  tracing: z
    .strictObject({
      otlpEndpoint: z.url().max(2048).optional().describe('OTEL_EXPORTER_OTLP_ENDPOINT of every pod.'),
    })
    .prefault({}),
  builds: Builds.prefault({}).describe('How images are built from sources (docs/build-platform.md).'),
  codeHosts: listOf(OutboundHost, 100)
    .default([{ host: 'api.github.com', addresses: [] }])
    .describe('The only hosts that integrations may name and to which Davit sends requests.'),
  oauth: OAuth.prefault({}),
  webhooks: z
    .strictObject({
      hosts: listOf(OutboundHost, 100).default([]).describe('The only hosts to which Davit sends events of Notifiers.'),
    })
    .prefault({})
    .describe('Events for tenants (docs/notices.md).'),
  proxy: Proxy.prefault({}),
  listeners: z
    .strictObject({
      enabled: flag(false).describe(
        'Whether deployments run on further clusters. The chart then grants the controller the rights to create a namespace for each Listener.',
      ),
      silentAfterSeconds: integer(15, 86_400)
        .default(60)
        .describe('A listener that has not renewed its Lease for this many seconds is not connected.'),
      perTenant: integer(1, 1000)
        .default(10)
        .describe(
          'Maximum number of Listeners in one tenant, each of which has a namespace of its own. Existing ones continue.',
        ),
    })
    .prefault({}),
  http: z
    .strictObject({
      basePath: z
        .string()
        .regex(/^(\/[a-z0-9-]+)*$/)
        .max(128)
        .default('')
        .describe('Path under which the API is served in addition to /.'),
      publicUrl: matching(
        /^(https:\/\/[^\s/?#@\\]+|http:\/\/(localhost|127\.0\.0\.1)(:[0-9]{1,5})?)(\/[a-z0-9-]+)*$/,
        512,
      )
        .optional()
        .describe(
          "Address at which people's browsers reach the API, with its path if it has one and without a slash at the end: https://davit.example.com. Redirect URIs of OAuth providers begin with it. The chart sets it from the API's Ingress.",
        ),
      podUrl: matching(/^https?:\/\/[^\s/?#@\\]+(\/[a-z0-9-]+)*$/, 512)
        .optional()
        .describe(
          'Address at which pods of deployments reach the API, for a runtime with api_token: their DAVIT_API_URL. Absent: publicUrl. The chart sets it to the Service of the API. Applies to new revisions.',
        ),
      podCaConfigMap: objectName
        .optional()
        .describe(
          "ConfigMap in every tenant's namespace whose key ca.crt has the authority of the API's certificate, such as trust-manager provides it. These pods get it as a file. Absent: their images already trust that authority. Applies to new revisions.",
        ),
      oidc: Oidc.optional(),
      prometheus: matching(/^https?:\/\/[^\s/?#@\\]+(\/[A-Za-z0-9._~-]+)*$/, 512)
        .optional()
        .describe(
          'Address of a Prometheus that scrapes the kubelets and kube-state-metrics, without a slash at the end: http://prometheus.monitoring.svc:9090. The API reads the resource use of pods from it, with fixed queries (docs/monitoring.md). Absent: the last hour from metrics.k8s.io.',
        ),
      insecure: flag(false).describe(
        'Serve plain HTTP on other addresses than loopback. Only behind a proxy that terminates TLS.',
      ),
      requestsPerMinute: integer(0, 1_000_000)
        .default(2400)
        .describe(
          'Maximum requests of one caller per minute at each replica: a page with a deployment sends 90. 0: no limit. Registry passwords, signed uploads and signed webhooks have limits of their own. Callers whose token was never valid share the limit of their address. Independently of this setting, after 300 wrong tokens in a minute an address cannot use new tokens.',
        ),
      trustedProxies: listOf(
        z.string().refine((text) => AddressOrRange.safeParse(text).success, { error: ADDRESS_OR_RANGE }),
        100,
      )
        .default([])
        .describe(
          'Addresses and ranges of proxies whose X-Forwarded-For is trusted. Requests with unknown tokens are limited by this address.',
        ),
    })
    .refine(({ oidc, publicUrl }) => oidc === undefined || publicUrl !== undefined, {
      path: ['oidc'],
      message: 'needs publicUrl: the issuer leads browsers back to PUBLICURL/',
    })
    .prefault({}),
});
export type Settings = z.infer<typeof Settings>;

/** The settings with nothing set. */
export function defaultSettings(): Settings {
  return Settings.parse({});
}
