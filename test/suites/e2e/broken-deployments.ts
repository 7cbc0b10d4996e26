// The ways in which a deployment breaks, each with what is to be seen of it and with what mends it. Those of one group happen to
// one deployment, one after the other; the first of a group creates it. They are few: the log limits the lines about a deployment
// that changes all the time. Failures with the same reason are of one group, because metrics name no deployment.

import type { Reason } from '../../../src/kinds/app-deployment-conditions.ts';
import type { Answer } from '../../support/running-davit.ts';

/** A deployment that is broken and mended, with the means of its team. */
export interface Site {
  readonly namespace: string;
  readonly image: string;
  /** Creates the deployment, with external stores unless `more` says otherwise. */
  create(more?: Parts): Promise<void>;
  patch(body: object): Promise<void>;
  untilServing(): Promise<void>;
  /** In the namespace of the deployment. Answers with what kubectl prints. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** `kubectl apply -f FILE` */
  apply(object: object, file?: string): Promise<unknown>;
  /** Types a command as a message has it. */
  type(command: string): Promise<unknown>;
}

export interface Parts {
  readonly resourceSpec?: object;
  readonly runtime?: object;
  readonly image?: string;
  readonly references?: readonly object[];
  readonly hasOwnStores?: boolean;
}

export interface Broken {
  readonly reason: Reason;
  readonly title: string;
  /** For the document: what is wrong. */
  readonly what: string;
  /** Says more about it, by a command after `call`. */
  readonly look?: { readonly command: string; readonly shows: string };
  /** For the document: what the commands do not say. */
  readonly note?: string;
  /** What the message says to do. */
  readonly says: RegExp;
  /** What the message says first, as the log has it, where it says more later. */
  readonly saysFirst?: RegExp;
  /** Whether the record waits for a person. */
  readonly isStalled: boolean;
  /** The alerts with this reason, if nobody does anything for two hours. */
  readonly alerts: readonly string[];
  readonly break: (site: Site) => Promise<unknown>;
  readonly mend: (site: Site, message: string) => Promise<unknown>;
}

export interface Group {
  readonly name: string;
  readonly failures: readonly Broken[];
}

export const SIZES = { cpu: 0.1, memory_mb: 128 };
const OWN_SIZES = { db_cpu: 0.1, db_memory_mb: 128, db_storage_gi: 2, redis_cpu: 0.1, redis_memory_mb: 64 };
/** The variables of a deployment that runs. */
export const VARIABLES = [{ name: 'GREETING', value: 'hello' }];

const STALLED = { isStalled: true, alerts: ['DavitDeploymentStalled'] } as const;
const DATA = { isStalled: true, alerts: ['DavitDataAtRisk', 'DavitDeploymentStalled'] } as const;
const PASSING = { isStalled: false, alerts: [] } as const;

const sized = (resourceSpec: object): object => ({ source_config: { resource_spec: resourceSpec } });
const running = (runtime: object): object => ({ source_config: { runtime } });
const pinned = (image: string): object => ({ source_revision_config: { image_uri: image } });

/** The command in a message that begins so. */
function commandIn(message: string, beginning: string): string {
  const [command] = new RegExp(String.raw`${beginning}.*?(?= lets |\.$|\. [A-Z])`).exec(message) ?? [];
  if (command === undefined) throw new Error(`The message has no ${beginning}: ${message}`);
  return command;
}

/** What only this namespace gets. */
const only = (namespace: string): object => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});
const DEPLOYMENTS = {
  apiGroups: ['apps'],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['deployments'],
};
const POLICY = 'cost-center';
const WEBHOOK = 'scanner.example.com';

let saved: object | undefined;

export const GROUPS: readonly Group[] = [
  {
    name: 'what it names',
    failures: [
      {
        reason: 'SecretMissing',
        title: 'A Secret that is missing',
        what: '`secret_references` names a Secret that is not there.',
        says: /Missing: Secret shop-license\. Create it/,
        ...STALLED,
        break: (site) =>
          site.create({ references: [{ name: 'LICENSE', secret_name: 'shop-license', secret_key: 'serial' }] }),
        mend: ({ kubectl }) => kubectl('create', 'secret', 'generic', 'shop-license', '--from-literal=serial=0123'),
      },
      {
        reason: 'SecretKeyMissing',
        title: 'A key that is missing',
        what: 'A Secret that `secret_references` names has lost the key.',
        says: /Missing: key serial in Secret shop-license\. Create it/,
        ...STALLED,
        break: ({ kubectl }) =>
          kubectl('patch', 'secret', 'shop-license', '--type=json', '-p=[{"op":"remove","path":"/data/serial"}]'),
        mend: ({ kubectl }) => kubectl('patch', 'secret', 'shop-license', '-p={"stringData":{"serial":"0123"}}'),
      },
      {
        reason: 'Paused',
        title: 'A deployment that somebody has paused',
        what: 'The record has the annotation `davit.dev/paused`.',
        says: /is paused \(annotation davit\.dev\/paused\).*To continue: kubectl annotate appd shop/,
        isStalled: true,
        alerts: [],
        break: ({ kubectl }) => kubectl('annotate', 'appd', 'shop', 'davit.dev/paused=true'),
        mend: ({ type }, message) => type(commandIn(message, 'kubectl annotate')),
      },
    ],
  },
  {
    name: 'what it mounts',
    failures: [
      {
        reason: 'VolumeNotMounted',
        title: 'A volume that cannot be mounted',
        what: 'A volume is of a ConfigMap that is not there.',
        says: /configmap "settings" not found\. Create the missing object/,
        ...STALLED,
        break: (site) =>
          site.create({
            resourceSpec: {
              volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
              volume_mounts: [{ name: 'settings', mountPath: '/settings' }],
            },
          }),
        mend: ({ kubectl }) => kubectl('create', 'configmap', 'settings', '--from-literal=mode=fast'),
      },
      {
        reason: 'ContainerConfigInvalid',
        title: 'A container that cannot be created',
        what: 'An init container takes a variable from a ConfigMap that is not there.',
        says: /configmap "modes" not found\. Create the missing object, or correct/,
        ...STALLED,
        break: (site) => {
          const env = [{ name: 'MODE', valueFrom: { configMapKeyRef: { name: 'modes', key: 'mode' } } }];
          return site.patch(sized({ init_containers: [{ name: 'prepare', image: site.image, env }] }));
        },
        mend: ({ patch }) => patch(sized({ init_containers: null })),
      },
    ],
  },
  {
    name: 'what it runs',
    failures: [
      {
        reason: 'ImagePullFailed',
        title: 'An image that cannot be pulled',
        what: '`image_uri` names an image that no registry has, or that needs a pull secret.',
        says: /cannot be pulled: .+\. Check /,
        ...STALLED,
        break: (site) => site.create({ image: 'registry.invalid/shop:1' }),
        mend: ({ patch, image }) => patch(pinned(image)),
      },
      {
        reason: 'ContainerCrashed',
        title: 'A container that crashes again and again',
        what: 'The program of the image ends with an error. The message has its last words.',
        // Its pods are removed, and their logs with them; the revision keeps the last words.
        look: { command: `"$API/v2/deployments/$ID/revisions?limit=1"`, shows: 'the config is missing' },
        saysFirst: /Container server exited \(Error, exit code 3\): the config is missing/,
        says: /failed: the server exited at least 3 times\. Its pods were removed, and revision [-\w]+ is still serving\. Container server exited \(Error, exit code 3\): the config is missing\. Read its log, and deploy a corrected revision/,
        ...STALLED,
        break: ({ patch }) =>
          patch({ secrets: [...VARIABLES, { name: 'SAMPLE_CRASH', value: 'the config is missing' }] }),
        mend: ({ patch }) => patch({ secrets: VARIABLES }),
      },
    ],
  },
  {
    name: 'how it starts',
    failures: [
      {
        reason: 'ProgressDeadlineExceeded',
        title: 'A pod that does not become ready',
        what: 'The server runs and does not answer 200 on its health path.',
        saysFirst: /Waiting for GET \/nowhere on port 8000/,
        says: /Waiting for GET \/nowhere on port 8000; the last check failed: \/nowhere answered with status 404\. .*correct health_path.*See the log of container server/,
        ...STALLED,
        break: (site) => site.create({ runtime: { health_path: '/nowhere' } }),
        mend: ({ patch }) => patch(running({ health_path: null })),
      },
      {
        reason: 'MigrationFailed',
        title: 'A migration that fails',
        what: 'The command of `runtime.migrate` ends with an error, so that nothing is rolled out.',
        says: /column price does not exist\. Read its log, and deploy a corrected revision\. The whole log: kubectl logs job\/shop/,
        ...STALLED,
        break: ({ patch }) =>
          patch(
            running({
              migrate: { command: ['node', '-e', "console.error('column price does not exist'); process.exit(3)"] },
            }),
          ),
        mend: ({ patch }) => patch(running({ migrate: { command: ['node', '-e', "console.log('migrated')"] } })),
      },
    ],
  },
  {
    name: 'what the cluster refuses',
    failures: [
      {
        reason: 'NameConflict',
        title: 'A foreign object in the way',
        what: 'An object that Davit has not made has the name of one that it needs.',
        says: /Service shop exists and does not belong to this deployment\. Delete or rename it/,
        ...STALLED,
        break: async (site) => {
          await site.kubectl('create', 'service', 'clusterip', 'shop', '--tcp=1234');
          await site.create();
        },
        mend: ({ kubectl }) => kubectl('delete', 'service', 'shop'),
      },
      {
        reason: 'PodsRefused',
        title: 'Pods that the API server refuses',
        what: '`service_account_name` names an account that is not there. A policy of the cluster for pods has the same reason.',
        says: /serviceaccount "nobody" not found.*Running pods are not changed\. Correct the cause/,
        ...STALLED,
        break: ({ patch }) => patch(sized({ service_account_name: 'nobody' })),
        mend: ({ kubectl }) => kubectl('create', 'serviceaccount', 'nobody'),
      },
      {
        reason: 'PodsRefused',
        title: 'A quota that is exceeded',
        what: 'The new pod would exceed a ResourceQuota of the namespace while the old one still runs.',
        says: /exceeded quota: team.*Correct the cause/,
        ...STALLED,
        break: async ({ kubectl, patch }) => {
          await kubectl('create', 'quota', 'team', '--hard=requests.memory=200Mi');
          // The API server refuses nothing by it before its status has the limits.
          await kubectl('wait', 'quota', 'team', '--for=jsonpath={.status.hard.requests\\.memory}=200Mi');
          await patch(sized({ memory_mb: 160 }));
        },
        mend: ({ kubectl }) => kubectl('patch', 'quota', 'team', '-p={"spec":{"hard":{"requests.memory":"4Gi"}}}'),
      },
    ],
  },
  {
    name: 'what stands in its way',
    failures: [
      {
        reason: 'ApplyRefused',
        title: 'An object that an admission policy refuses',
        what: 'A policy of the cluster refuses an object that Davit makes or changes.',
        says: /The API server refused Deployment shop: .*a Deployment needs the label cost-center\. Correct the cause/,
        ...STALLED,
        break: async (site) => {
          const { kubectl, apply, namespace } = site;
          const registration = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: POLICY } };
          await apply({
            ...registration,
            kind: 'ValidatingAdmissionPolicy',
            spec: {
              matchConstraints: { resourceRules: [DEPLOYMENTS] },
              validations: [
                {
                  expression: "has(object.metadata.labels) && 'cost-center' in object.metadata.labels",
                  message: 'a Deployment needs the label cost-center',
                },
              ],
            },
          });
          await apply({
            ...registration,
            kind: 'ValidatingAdmissionPolicyBinding',
            spec: { policyName: POLICY, validationActions: ['Deny'], matchResources: only(namespace) },
          });
          await untilRefused(() => kubectl('create', 'deployment', 'probe', '--image=probe', '--dry-run=server'));
          await site.create();
        },
        mend: ({ type }) => type(`kubectl delete validatingadmissionpolicybinding ${POLICY}`),
      },
      {
        reason: 'RequestFailed',
        title: 'A webhook that does not answer',
        what: 'A webhook that the API server has to ask does not answer.',
        says: /failed calling webhook.*Davit retries automatically\. If the failure persists, check the API server, or the webhook/,
        isStalled: false,
        alerts: ['DavitDeploymentDegraded'],
        break: async ({ kubectl, apply, namespace, patch }) => {
          await apply({
            apiVersion: 'admissionregistration.k8s.io/v1',
            kind: 'ValidatingWebhookConfiguration',
            metadata: { name: WEBHOOK },
            webhooks: [
              {
                name: WEBHOOK,
                clientConfig: { url: 'https://127.0.0.1:1/' },
                rules: [DEPLOYMENTS],
                ...only(namespace),
                sideEffects: 'None',
                admissionReviewVersions: ['v1'],
                timeoutSeconds: 1,
              },
            ],
          });
          await untilRefused(() => kubectl('create', 'deployment', 'probe', '--image=probe', '--dry-run=server'));
          await patch(sized({ memory_mb: 144 }));
        },
        mend: ({ type }) => type(`kubectl delete validatingwebhookconfiguration ${WEBHOOK}`),
      },
      {
        reason: 'RolloutPaused',
        title: 'A rollout that somebody has paused',
        what: 'Somebody has typed `kubectl rollout pause`, and the deployment was changed afterwards.',
        says: /kubectl rollout resume deployment shop/,
        ...STALLED,
        break: async ({ kubectl, patch }) => {
          await kubectl('rollout', 'pause', 'deployment/shop');
          await patch(sized({ memory_mb: 160 }));
        },
        mend: ({ type }, message) => type(commandIn(message, 'kubectl rollout resume')),
      },
    ],
  },
  {
    name: 'what no node has room for',
    failures: [
      {
        reason: 'Unschedulable',
        title: 'A database that fits on no node',
        what: '`db_cpu` of a new deployment is more than any node has: the status is AWAITING_DATABASE.',
        says: /PostgreSQL: No node can run the pod: .*Lower the requests, or add capacity/,
        ...PASSING,
        break: (site) =>
          site.create({ hasOwnStores: true, resourceSpec: { ...OWN_SIZES, db_cpu: 60, db_cpu_limit: 60 } }),
        mend: ({ patch }) => patch(sized({ db_cpu: OWN_SIZES.db_cpu, db_cpu_limit: null })),
      },
      {
        reason: 'Unschedulable',
        title: 'A pod that fits on no node',
        what: '`cpu` is more than any node has free.',
        says: /No node can run a pod of the \w+: .*Lower the requests, or add capacity/,
        ...STALLED,
        break: ({ patch }) => patch(sized({ cpu: 60, cpu_limit: 60 })),
        mend: ({ patch }) => patch(sized({ cpu: SIZES.cpu, cpu_limit: null })),
      },
    ],
  },
  {
    name: 'what its database cannot be',
    failures: [
      {
        reason: 'StorageCannotShrink',
        title: 'A volume that is to shrink',
        what: '`db_storage_gi` is smaller than the volume. Everything else of the change takes effect.',
        says: /has 2 Gi and cannot shrink to 1 Gi\. Set db_storage_gi to at least its size/,
        ...STALLED,
        break: async (site) => {
          await site.create({ hasOwnStores: true, resourceSpec: OWN_SIZES });
          await site.untilServing();
          await site.patch(sized({ db_storage_gi: 1 }));
        },
        mend: ({ patch }) => patch(sized({ db_storage_gi: 2 })),
      },
    ],
  },
  {
    name: 'what its database has lost',
    failures: [
      {
        reason: 'PasswordMissing',
        title: 'A password that is lost',
        what: 'The Secret with the password of the database was deleted. Running pods continue, and none is started. Without a backup, read the password from a running pod ([how](deploy.md#the-data-of-a-deployment)).',
        note: 'the Secret from [the backup](backup.md#backing-up)',
        says: /Secret shop--postgres is missing.*Restore it from a backup, with the labels davit\.dev\/deployment=shop/,
        ...DATA,
        break: async (site) => {
          const { kubectl } = site;
          await site.create({ hasOwnStores: true, resourceSpec: OWN_SIZES });
          await site.untilServing();
          const text = await kubectl('get', 'secret', 'shop--postgres', '-o', 'json');
          const { metadata, ...secret } = JSON.parse(text) as { metadata: { name: string; labels: object } };
          saved = { ...secret, metadata: { name: metadata.name, labels: metadata.labels } };
          await kubectl('delete', 'secret', 'shop--postgres');
        },
        mend: ({ apply }) => apply(saved ?? {}, 'backup.yaml'),
      },
      {
        reason: 'VolumeMissing',
        title: 'A volume that is lost',
        what: 'The PersistentVolumeClaim of the database was deleted, and its pod has ended. Restore volume and claim from a backup ([how](backup.md#backing-up)) if there is one.',
        note: 'giving the data up and starting with an empty database',
        says: /is missing, and with it the data.*If the volume itself is restored.*To start with an empty database instead: kubectl annotate/,
        isStalled: true,
        alerts: ['DavitDataAtRisk', 'DavitDeploymentUnavailable', 'DavitDeploymentStalled'],
        break: async ({ kubectl }) => {
          await kubectl('delete', 'pvc', 'shop--postgres', '--wait=false');
          await kubectl('delete', 'pod', 'shop--postgres-0', '--timeout=150s');
        },
        mend: ({ type }, message) => type(commandIn(message, 'kubectl annotate')),
      },
    ],
  },
  {
    name: 'what it depends on',
    failures: [
      {
        reason: 'NotAnswering',
        title: 'An external database that does not answer',
        what: '`POSTGRES_URI_CUSTOM` leads nowhere.',
        says: /The PostgreSQL in POSTGRES_URI_CUSTOM does not answer\. Check its address, password and network/,
        ...PASSING,
        break: async (site) => {
          await site.kubectl(
            'create',
            'secret',
            'generic',
            'elsewhere',
            '--from-literal=uri=postgresql://u:p@127.0.0.1:1/db',
          );
          await site.create({
            references: [{ name: 'POSTGRES_URI_CUSTOM', secret_name: 'elsewhere', secret_key: 'uri' }],
          });
        },
        mend: ({ patch }) =>
          patch({
            secret_references: [
              { name: 'POSTGRES_URI_CUSTOM', secret_name: 'stores', secret_key: 'postgres' },
              { name: 'REDIS_URI_CUSTOM', secret_name: 'stores', secret_key: 'redis' },
            ],
          }),
      },
      {
        reason: 'HostNotAllowed',
        title: 'An address that the tenant may no longer claim',
        what: 'The host of `custom_url` was taken out of the annotation `davit.dev/hosts` of the namespace.',
        says: /This tenant may not claim shop\.example\.com\..*Change custom_url, or ask the platform team to add the host/,
        ...STALLED,
        break: async ({ kubectl, patch, namespace }) => {
          const annotate = (hosts: string): Promise<string> =>
            kubectl('annotate', '--overwrite', 'namespace', namespace, `davit.dev/hosts=${hosts}`);
          await annotate('shop.example.com');
          await untilAccepted(() => patch({ source_config: { custom_url: 'https://shop.example.com' } }));
          await annotate('other.example.com');
        },
        mend: ({ patch }) => patch({ source_config: { custom_url: 'https://other.example.com' } }),
      },
    ],
  },
];

/** The tests that make the other failures happen: they need another platform, or cannot be had on a cluster of one node. */
export const ELSEWHERE: Readonly<Partial<Record<Reason, string>>> = {
  CloudNativePgMissing: 'test/suites/reconcile/cloudnative-pg.test.ts',
  InstancesMissing: 'test/suites/reconcile/cloudnative-pg.test.ts',
  DatabaseDriverFixed: 'test/suites/reconcile/cloudnative-pg.test.ts',
  DatabaseDriverUnknown: 'test/suites/reconcile/unknown-driver.test.ts',
  VerificationFailing: 'test/suites/reconcile/verifications.test.ts',
  VerificationStale: 'test/suites/reconcile/verifications.test.ts',
  BackupFailing: 'test/suites/reconcile/backups.test.ts',
  BackupStale: 'test/suites/reconcile/backups.test.ts',
  BackupsHeld: 'test/suites/reconcile/backups.test.ts',
  BackupStoreMissing: 'test/suites/reconcile/backups.test.ts',
  BackupCredentialsMissing: 'test/suites/reconcile/backups.test.ts',
  BackupNotPossible: 'test/suites/reconcile/backups.test.ts',
  ArchiveFailing: 'test/suites/reconcile/archives.test.ts',
  ArchiveStale: 'test/suites/reconcile/archives.test.ts',
  ArchivePluginMissing: 'test/suites/reconcile/archives.test.ts',
  ArchiveNotPossible: 'test/suites/reconcile/archives.test.ts',
  ArchiveMissing: 'test/suites/reconcile/archives.test.ts',
  RestoreFailed: 'test/suites/reconcile/restores.test.ts',
  RestoreNotPossible: 'test/suites/reconcile/restores.test.ts',
  VolumeFull: 'src/deploy/assess/stores.test.ts',
  NodeNotReady: 'src/deploy/assess/pod-failures.test.ts',
  NoReadyPod: 'test/suites/reconcile/failed-rollout.test.ts',
  ResizeDeferred: 'test/suites/e2e/store-sizes.test.ts',
  ImageNotAllowed: 'src/deploy/assess/policy.test.ts',
  MetricsMissing: 'test/suites/integration/scaling.test.ts',
  KedaMissing: 'src/deploy/assess/autoscaling.test.ts',
  QueueDepthUnknown: 'src/deploy/assess/autoscaling.test.ts',
  BuilderNotConfigured: 'test/suites/integration/cloud.test.ts',
  BuildFailed: 'test/suites/builds/deployments.test.ts',
  ListenerSilent: 'test/suites/integration/api-server/listeners.test.ts',
  ListenerPending: 'test/suites/reconcile/listener-agent.test.ts',
  NamespaceNotAllowed: 'test/suites/reconcile/listener-agent.test.ts',
  ListenerTooOld: 'test/suites/reconcile/listener-agent.test.ts',
  HubChanged: 'test/suites/reconcile/listener-agent.test.ts',
  VolumePending: 'src/deploy/assess/pod-failures.test.ts',
  PodStuckTerminating: 'src/deploy/assess/stores.test.ts',
  TaskFailed: 'src/deploy/assess/task-runs.test.ts',
  TaskMissed: 'test/suites/reconcile/tasks.test.ts',
  SecretNotFixed: 'test/suites/reconcile/app-deployment.test.ts',
  SecretTooLarge: 'test/suites/reconcile/app-deployment.test.ts',
  SourceNotAllowed: 'src/deploy/assess/policy.test.ts',
  TemplateNotFound: 'test/suites/integration/cloud.test.ts',
  ListenerNotFound: 'test/suites/integration/listeners.test.ts',
  IntegrationNotFound: 'test/suites/integration/cloud.test.ts',
  NotATenant: 'test/suites/integration/lifecycle.test.ts',
  OwnDatabaseForbidden: 'src/deploy/assess/policy.test.ts',
  ApiTokenNotOffered: 'src/deploy/assess/policy.test.ts',
  InstancesNotOffered: 'src/deploy/assess/policy.test.ts',
  LimitExceeded: 'src/deploy/assess/policy.test.ts',
  PlacementNotAllowed: 'src/deploy/assess/policy.test.ts',
  PodPolicyViolated: 'src/deploy/assess/policy.test.ts',
  NoAddressConfigured: 'test/suites/reconcile/address.test.ts',
  HostTaken: 'test/suites/integration/address.test.ts',
  GatewayRefused: 'test/suites/integration/address.test.ts',
  GatewayApiMissing: 'test/suites/integration/address.test.ts',
  DatabaseKept: 'test/suites/integration/data.test.ts',
  ContractUnknown: 'test/suites/reconcile/contracts.test.ts',
  VolumeTerminating: 'test/suites/e2e/stores.test.ts',
  VolumeLost: 'src/deploy/assess/database-volume.test.ts',
  VolumeResizeFailed: 'src/deploy/assess/database-volume.test.ts',
};

/** A policy and a webhook are in force a moment after they are made. */
async function untilRefused(attempt: () => Promise<unknown>): Promise<void> {
  await attempt().then(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await untilRefused(attempt);
    },
    () => undefined,
  );
}

/** The API knows of an annotation a moment later. */
async function untilAccepted(attempt: () => Promise<unknown>, tries = 50): Promise<void> {
  await attempt().catch(async (error: unknown) => {
    if (tries === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 200));
    await untilAccepted(attempt, tries - 1);
  });
}

export function readyOf({ body }: Answer): { status: string; reason: string; message: string } | undefined {
  return body.conditions?.find(({ type }: { type: string }) => type === 'Ready');
}
