// The Job of a build and its Secrets. The container `fetch` mounts the credential of the source, `build` that of the
// registry, and `plan` none. docs/build-platform.md describes what a RUN instruction can access.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { ISecurityContext } from 'kubernetes-models/v1/SecurityContext';
import { cpuQuantity, memoryQuantity, storageQuantity } from '../../deploy/children/quantity.ts';
import type { Secret } from '../../deploy/children/secrets.ts';
import { buildName } from '../../deploy/record/names.ts';
import {
  CACHE_TAG,
  imageRepository,
  logTag,
  repositoryOf,
  revisionTag,
  tenantRepositories,
} from '../../deploy/record/registry-names.ts';
import { BUILD_DEPLOYMENT_LABEL, BUILD_LABEL, BUILD_TENANT_LABEL } from '../../kinds/meta.ts';
import type { BuildSettings, ProxySettings } from '../../kinds/settings.ts';
import { literal } from '../../kinds/text.ts';
import type { Manifest } from '../../runtime/kube/client.ts';
import type { BuildCredentials, BuildInputs } from './inputs.ts';
import { BUILD, FETCH_GIT, FETCH_UPLOAD } from './scripts.ts';

export type BuildJob = Manifest<IJob>;

/** User of the builder image and owner of the files in the workspace. */
const BUILDER_UID = 1000;
const WORKSPACE = '/workspace';
const SOURCE = `${WORKSPACE}/source`;
/** Resources of the containers `fetch` and `plan`. */
const SMALL = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } };

/** Labels of a build's objects, which the controller uses to find them and their record. */
export function buildLabels({ revisionId, tenant, deployment }: BuildInputs): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'davit-build',
    'app.kubernetes.io/part-of': 'davit',
    'app.kubernetes.io/managed-by': 'davit',
    [BUILD_LABEL]: revisionId.toLowerCase(),
    [BUILD_TENANT_LABEL]: tenant.namespace,
    [BUILD_DEPLOYMENT_LABEL]: deployment.uid,
  };
}

/** The Job is suspended, so that its pod is created only after its Secrets exist. */
export function makeBuildJob(inputs: BuildInputs): BuildJob {
  const { settings, revisionId } = inputs;
  const labels = buildLabels(inputs);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: buildName(revisionId), namespace: settings.namespace, labels },
    spec: {
      suspend: true,
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: settings.timeoutSeconds,
      template: { metadata: { labels }, spec: podSpec(inputs) },
    },
  };
}

/** The Secrets with the credentials for the source and the registry. The Job owns them. */
export function makeBuildSecrets(inputs: BuildInputs, credentials: BuildCredentials, jobUid: string): Secret[] {
  const { registry, settings, revisionId } = inputs;
  const secret = (part: 'source' | 'push', stringData: Secret['stringData']): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `${buildName(revisionId)}-${part}`,
      namespace: settings.namespace,
      labels: buildLabels(inputs),
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: buildName(revisionId), uid: jobUid }],
    },
    type: 'Opaque',
    stringData,
  });
  const { source, sourceCa, authorities, push, login } = credentials;
  const trusted = authorities === undefined ? {} : { 'authorities.crt': authorities };
  return [
    secret('source', { ...source, ...trusted, 'ca.crt': sourceCa ?? '' }),
    secret('push', {
      ...login,
      ...trusted,
      'config.json': push,
      'ca.crt': registry.ca ?? '',
      'buildkitd.toml': buildkitConfig(inputs),
    }),
  ];
}

function buildkitConfig({ registry: { host, ca, insecure } }: BuildInputs): string {
  const lines = [
    `[registry."${host}"]`,
    ...(ca === undefined ? [] : ['  ca = ["/push/ca.crt"]']),
    ...(insecure ? ['  http = true'] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function podSpec(inputs: BuildInputs): IPodSpec {
  const { settings, mode, revisionId } = inputs;
  const { storageGi } = settings.resources;
  const { nodeSelector, tolerations, priorityClassName } = settings.placement ?? {};
  const emptyDir = (name: string, sizeLimit: string): NonNullable<IPodSpec['volumes']>[number] => ({
    name,
    emptyDir: { sizeLimit },
  });
  const fromSecret = (name: 'source' | 'push'): NonNullable<IPodSpec['volumes']>[number] => ({
    name,
    secret: { secretName: `${buildName(revisionId)}-${name}`, defaultMode: 0o440 },
  });
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The log of a build that is ended is stored in this time.
    terminationGracePeriodSeconds: 30,
    ...(mode === 'userns' && { hostUsers: false }),
    securityContext: { fsGroup: BUILDER_UID },
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations: [...tolerations] as IPodSpec['tolerations'] & object }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    initContainers: [fetchContainer(inputs), planContainer(inputs)],
    containers: [buildContainer(inputs)],
    volumes: [
      emptyDir('workspace', memoryQuantity(settings.workspaceMb)),
      emptyDir('plan', '16Mi'),
      emptyDir('fetch-temporary', memoryQuantity(settings.uploadMaxMb + 64)),
      emptyDir('state', storageQuantity(storageGi)),
      emptyDir('run', '64Mi'),
      emptyDir('temporary', '1Gi'),
      fromSecret('source'),
      fromSecret('push'),
    ],
  };
}

/** Meets the Pod Security Standard `restricted`. */
const RESTRICTED: ISecurityContext = {
  runAsNonRoot: true,
  runAsUser: BUILDER_UID,
  runAsGroup: BUILDER_UID,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

function variablesFrom(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** In both cases of letters: curl reads `http_proxy` alone. */
function proxyEnvironment(proxies: ProxySettings | undefined): Record<string, string> {
  const variables = proxyVariables(proxies);
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );
}

/** Programs read these from the environment. They are also the build arguments that every RUN gets without declaring them. */
function proxyVariables(proxies: ProxySettings | undefined): Record<string, string> {
  const { httpProxy, httpsProxy, noProxy = [] } = proxies ?? {};
  if (httpProxy === undefined && httpsProxy === undefined) return {};
  return {
    ...(httpProxy !== undefined && { HTTP_PROXY: httpProxy }),
    ...(httpsProxy !== undefined && { HTTPS_PROXY: httpsProxy }),
    NO_PROXY: noProxy.join(','),
  };
}

function fetchContainer(inputs: BuildInputs): IContainer {
  const { source, images, registry, tenant, deployment, settings, proxies } = inputs;
  const from =
    source.kind === 'git'
      ? { URL: source.url, REF: source.ref }
      : registryEnvironment({ registry, tenant, deployment }, source.tag);
  return {
    name: 'fetch',
    image: images.builder,
    command: ['/bin/bash', '-c', source.kind === 'git' ? FETCH_GIT : FETCH_UPLOAD],
    env: variablesFrom({
      ...from,
      ...proxyEnvironment(proxies),
      WORKSPACE_MB: String(settings.workspaceMb),
      HOME: '/tmp',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_ALLOW_PROTOCOL: 'https',
    }),
    resources: SMALL,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'workspace', mountPath: WORKSPACE },
      { name: 'source', mountPath: '/source', readOnly: true },
      { name: 'fetch-temporary', mountPath: '/tmp' },
    ],
  };
}

/** Environment variables by which the scripts address the registry. */
function registryEnvironment(
  { registry, tenant, deployment }: Pick<BuildInputs, 'registry' | 'tenant' | 'deployment'>,
  tag: string,
): Record<string, string> {
  return {
    REGISTRY: `${registry.insecure ? 'http' : 'https'}://${registry.host}`,
    REPOSITORY: repositoryOf(registry, tenant, deployment.name),
    TAG: tag,
  };
}

function planContainer({ workflowConfigPath, deployment, settings, images, ...inputs }: BuildInputs): IContainer {
  const { installCommand, buildCommand, registry, tenant } = inputs;
  const { host, repository, tokens, insecure } = registry;
  const area = { host, own: tenantRepositories(registry, tenant), repository, tokens, insecure };
  const { agentServer, baseImages } = settings;
  const { python, node } = baseImages;
  const option = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`--${name}=${literal(value)}`];
  return {
    name: 'plan',
    image: images.davit,
    args: [
      'plan',
      `--workspace=${SOURCE}`,
      `--config=${literal(workflowConfigPath)}`,
      '--output=/plan',
      `--name=${deployment.name}`,
      ...option('python-base', python),
      ...option('node-base', node),
      ...option('agent-server', agentServer && JSON.stringify(agentServer)),
      ...option('install-command', installCommand),
      ...option('build-command', buildCommand),
      `--user=${settings.user}`,
      ...option('registry', JSON.stringify(area)),
      ...buildArguments(settings.packageIndex).flatMap((argument) => option('index', argument.split('=', 1)[0])),
    ],
    resources: SMALL,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'workspace', mountPath: WORKSPACE, readOnly: true },
      { name: 'plan', mountPath: '/plan' },
    ],
  };
}

function buildContainer(inputs: BuildInputs): IContainer {
  const { settings, images, mode } = inputs;
  const { cpu, cpuLimit, memoryMb, memoryLimitMb, storageGi } = settings.resources;
  const isRootless = mode === 'rootless';
  const flags = [
    '--config=/push/buildkitd.toml',
    '--root=/var/lib/buildkit',
    '--containerd-worker=false',
    isRootless ? '--oci-worker-no-process-sandbox' : '--oci-worker-binary=/usr/local/bin/runc-in-user-namespace',
  ];
  return {
    name: 'build',
    image: images.builder,
    command: ['/bin/bash', '-c', BUILD, 'build', ...buildctlArguments(inputs)],
    env: variablesFrom({
      ...registryEnvironment(inputs, logTag(inputs.revisionId)),
      ...proxyEnvironment(inputs.proxies),
      BUILDKITD_FLAGS: flags.join(' '),
      DOCKER_CONFIG: '/push',
      BUILDCTL_CONNECT_RETRIES_MAX: '100',
    }),
    resources: {
      requests: {
        cpu: cpuQuantity(cpu),
        memory: memoryQuantity(memoryMb),
        'ephemeral-storage': '1Gi',
      },
      limits: {
        cpu: cpuQuantity(Math.max(cpu, cpuLimit)),
        memory: memoryQuantity(Math.max(memoryMb, memoryLimitMb)),
        'ephemeral-storage': storageQuantity(storageGi + Math.ceil(settings.workspaceMb / 1024) + 1),
      },
    },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: isRootless ? ROOTLESS : ROOT_OF_USER_NAMESPACE,
    volumeMounts: [
      { name: 'workspace', mountPath: WORKSPACE, readOnly: true },
      { name: 'plan', mountPath: '/plan', readOnly: true },
      { name: 'push', mountPath: '/push', readOnly: true },
      { name: 'state', mountPath: '/var/lib/buildkit' },
      { name: 'run', mountPath: isRootless ? '/run/user/1000' : '/run/buildkit' },
      { name: 'temporary', mountPath: '/tmp' },
    ],
  };
}

/**
 * rootlesskit needs newuidmap's capabilities and the system calls that create namespaces, which the Pod Security
 * Standards `restricted` and `baseline` forbid.
 */
const ROOTLESS: ISecurityContext = {
  runAsNonRoot: true,
  runAsUser: BUILDER_UID,
  runAsGroup: BUILDER_UID,
  capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID'] },
  seccompProfile: { type: 'Unconfined' },
  appArmorProfile: { type: 'Unconfined' },
};

/** Root with SYS_ADMIN in the pod's own user namespace. It has no privileges on the node. */
const ROOT_OF_USER_NAMESPACE: ISecurityContext = {
  runAsUser: 0,
  runAsGroup: 0,
  capabilities: { add: ['SYS_ADMIN'] },
  procMount: 'Unmasked',
  seccompProfile: { type: 'RuntimeDefault' },
};

function buildctlArguments(inputs: BuildInputs): string[] {
  const { registry, tenant, deployment, revisionId, settings, proxies } = inputs;
  const repository = imageRepository(registry, tenant, deployment.name);
  const insecure = registry.insecure ? ',registry.insecure=true' : '';
  const cache = `type=registry,ref=${repository}:${CACHE_TAG}${insecure}`;
  return [
    '--progress=plain',
    '--frontend=dockerfile.v0',
    // Otherwise BuildKit would pull and run any frontend image that a `# syntax=` line of the Dockerfile names.
    '--opt=cmdline=dockerfile.v0',
    `--local=context=${SOURCE}`,
    '--local=dockerfile=/plan',
    ...buildArguments(settings.packageIndex).map((argument) => `--opt=build-arg:${argument}`),
    // BuildKit stores these neither in the image nor in its history, and a step stays cached if they change.
    ...Object.entries(proxyVariables(proxies)).map(([name, value]) => `--opt=build-arg:${name}=${value}`),
    '--metadata-file=/tmp/metadata.json',
    ...(registry.ca === undefined ? [] : [`--registry-auth-tlscontext=host=${registry.host},ca=/push/ca.crt`]),
    `--output=type=image,name=${repository}:${revisionTag(revisionId)},push=true${insecure}`,
    `--export-cache=${cache},mode=max,image-manifest=true,oci-mediatypes=true,ignore-error=true`,
    `--import-cache=${cache}`,
  ];
}

/** Build arguments that set the package index for pip, uv and npm. */
function buildArguments({ pip, npm }: BuildSettings['packageIndex']): string[] {
  const plain = pip?.startsWith('http://') ? new URL(pip).host : undefined;
  return [
    ...(pip === undefined ? [] : [`PIP_INDEX_URL=${pip}`, `UV_DEFAULT_INDEX=${pip}`]),
    ...(plain === undefined ? [] : [`PIP_TRUSTED_HOST=${plain}`, `UV_INSECURE_HOST=${plain}`]),
    ...(npm === undefined ? [] : [`NPM_CONFIG_REGISTRY=${npm}`]),
  ];
}
