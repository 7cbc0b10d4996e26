// etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one cluster: flags, files, readiness.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type ApiClient, connectApi, until } from './api-client.ts';
import { type Authority, type Certificate, makeAuthority, makeTokenKeys } from './certificates.ts';
import { type ControlProcesses, controlProcesses } from './control-processes.ts';
import type { Keeper, ProcessSpec } from './keeper-client.ts';
import { type Tools, toolPath } from './tools.ts';

export interface ControlPlaneOptions {
  readonly runFolder: string;
  readonly keeper: Keeper;
  readonly tools: Tools;
  /** Where the API server listens: loopback, or the host's end of the link to the node. */
  readonly address: string;
  readonly serviceCidr: string;
  readonly adminToken: string;
  readonly auditLog: boolean;
  /** Whether kube-controller-manager and kube-scheduler run. */
  readonly controllers: boolean;
  readonly apiServerArgs: readonly string[];
}

export interface ControlPlane {
  readonly server: string;
  readonly ca: string;
  /** PEM; signs for whoever joins (node, proxy, DNS). */
  readonly authority: Authority;
  /** As system:masters. Never handed out: it is exempt from RBAC and from API priority, so tests with it prove little. */
  readonly masters: ApiClient;
  readonly auditLog: string | undefined;
  /** Resolves when the controllers and the scheduler have been started too. */
  readonly controllers: Promise<void>;
  readonly processes: ControlProcesses;
}

export const adminGroup = 'davit:admins';
const adminUser = 'davit-admin';

/** As whom the API server speaks to API servers of others. */
const FRONT_PROXY = 'front-proxy-client';

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { runFolder, tools, address } = options;
  const specs = new Map<string, ProcessSpec>();
  const keeper: Keeper = {
    ...options.keeper,
    start(spec) {
      specs.set(spec.name, spec);
      return options.keeper.start(spec);
    },
  };
  const files = join(runFolder, 'pki');
  await mkdir(files, { mode: 0o700 });
  const authority = makeAuthority('davit-cluster');
  const ca = authority.certificate;
  const tokenKeys = makeTokenKeys();
  const hosts = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  const serving = authority.serving('kube-apiserver', [
    ...hosts,
    'localhost',
    ...new Set(['127.0.0.1', address]),
    firstAddress(options.serviceCidr),
  ]);
  const toKubelet = authority.client('kube-apiserver-kubelet-client', ['system:masters']);
  const toExtensions = authority.client(FRONT_PROXY, []);
  const masters = authority.client('davit-launcher', ['system:masters']);
  const path = (name: string): string => join(files, name);
  const put = (name: string, text: string): Promise<void> => writeFile(path(name), text, { mode: 0o600 });
  await Promise.all([
    put('ca.crt', ca),
    put('serving.crt', serving.certificate),
    put('serving.key', serving.key),
    put('kubelet-client.crt', toKubelet.certificate),
    put('kubelet-client.key', toKubelet.key),
    put('front-proxy.crt', toExtensions.certificate),
    put('front-proxy.key', toExtensions.key),
    put('sa.pub', tokenKeys.publicKey),
    put('sa.key', tokenKeys.privateKey),
    put('tokens.csv', `${options.adminToken},${adminUser},${adminUser},"${adminGroup}"\n`),
    put(
      'audit.yaml',
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n',
    ),
  ]);

  const [etcdPort, peerPort] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  await keeper.start({
    name: 'etcd',
    command: toolPath(tools, 'kubernetes', 'etcd'),
    args: [
      `--data-dir=${join(runFolder, 'etcd')}`,
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // The data does not outlive the run, so nothing is gained by waiting for the disk.
      '--unsafe-no-fsync',
      '--quota-backend-bytes=4294967296',
      '--log-level=warn',
    ],
  });

  const port = await freePort(address);
  const server = `https://${address}:${port}`;
  const auditLog = options.auditLog ? join(runFolder, 'logs', 'audit.log') : undefined;
  const apiServerArgs = (etcdUrl: string, securePort: number): readonly string[] => [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${securePort}`,
    `--tls-cert-file=${path('serving.crt')}`,
    `--tls-private-key-file=${path('serving.key')}`,
    `--client-ca-file=${path('ca.crt')}`,
    `--token-auth-file=${path('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${path('sa.pub')}`,
    `--service-account-signing-key-file=${path('sa.key')}`,
    `--service-cluster-ip-range=${options.serviceCidr}`,
    `--kubelet-client-certificate=${path('kubelet-client.crt')}`,
    `--kubelet-client-key=${path('kubelet-client.key')}`,
    `--kubelet-certificate-authority=${path('ca.crt')}`,
    // The node's name resolves nowhere.
    '--kubelet-preferred-address-types=InternalIP',
    // API servers of others, such as those of metrics, behind this one.
    `--requestheader-client-ca-file=${path('ca.crt')}`,
    `--requestheader-allowed-names=${FRONT_PROXY}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${path('front-proxy.crt')}`,
    `--proxy-client-key-file=${path('front-proxy.key')}`,
    '--enable-aggregator-routing=true',
    '--allow-privileged=true',
    '--profiling=false',
    // A throw-away cluster holds no old objects to compact for, and short leases keep its end quick.
    '--shutdown-delay-duration=0s',
    // Endpoints must not be of loopback, and no pod looks for the API server there.
    ...(address.startsWith('127.') ? ['--endpoint-reconciler-type=none'] : []),
    ...(auditLog === undefined
      ? []
      : [`--audit-log-path=${auditLog}`, `--audit-policy-file=${path('audit.yaml')}`, '--audit-log-mode=blocking']),
    ...options.apiServerArgs,
  ];
  await keeper.start({
    name: 'kube-apiserver',
    command: toolPath(tools, 'kubernetes', 'kube-apiserver'),
    args: apiServerArgs(etcd, port),
  });

  const client = connectApi({ server, ca, certificate: masters.certificate, key: masters.key });
  await keeper.whileAlive('etcd', keeper.whileAlive('kube-apiserver', ready(client)));
  const controllers = options.controllers
    ? startControllers({ ...options, keeper }, files, server, authority, client)
    : Promise.resolve();
  await client.ensure('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'davit-admins' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: adminGroup }],
  });
  const secondPort = await freePort(address);
  const processes = controlProcesses({
    keeper,
    etcdData: join(runFolder, 'etcd'),
    etcdPort,
    specs,
    secondServer: {
      server: `https://${address}:${secondPort}`,
      // Two that reconcile the same endpoints would be one too many.
      args: (etcdUrl) => [...apiServerArgs(etcdUrl, secondPort), '--endpoint-reconciler-type=none'],
    },
    ready: (at = server) => ready(connectApi({ server: at, ca, certificate: masters.certificate, key: masters.key })),
  });
  return { server, ca, authority, masters: client, auditLog, controllers, processes };
}

async function startControllers(
  { keeper, tools }: ControlPlaneOptions,
  files: string,
  server: string,
  authority: Authority,
  client: ApiClient,
): Promise<void> {
  async function kubeconfig(user: string): Promise<string> {
    return writeKubeconfig(join(files, `${user}.kubeconfig`), server, authority.certificate, {
      certificate: authority.client(`system:${user}`, []),
    });
  }
  await keeper.start({
    name: 'kube-controller-manager',
    command: toolPath(tools, 'kubernetes', 'kube-controller-manager'),
    args: [
      `--kubeconfig=${await kubeconfig('kube-controller-manager')}`,
      `--service-account-private-key-file=${join(files, 'sa.key')}`,
      `--root-ca-file=${join(files, 'ca.crt')}`,
      // Each controller as its own ServiceAccount, with its own rights, as in a real cluster.
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      '--secure-port=0',
      '--profiling=false',
      // A test waits for what these do; the defaults are made for thousands of nodes.
      '--kube-api-qps=200',
      '--kube-api-burst=400',
      '--node-monitor-period=2s',
    ],
  });
  await keeper.start({
    name: 'kube-scheduler',
    command: toolPath(tools, 'kubernetes', 'kube-scheduler'),
    args: [
      `--kubeconfig=${await kubeconfig('kube-scheduler')}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--profiling=false',
      '--kube-api-qps=400',
      '--kube-api-burst=800',
    ],
  });
  // The last thing that pods need: without it their admission fails. Made by the controller manager.
  const account = '/api/v1/namespaces/default/serviceaccounts/default';
  await keeper.whileAlive(
    'kube-controller-manager',
    until('the default ServiceAccount', () => client.call('GET', account)),
  );
}

function ready(client: ApiClient): Promise<void> {
  return until('kube-apiserver to be ready', () => client.read('/readyz'));
}

export type KubeconfigUser = { readonly token: string } | { readonly certificate: Certificate };

export async function writeKubeconfig(file: string, server: string, ca: string, user: KubeconfigUser): Promise<string> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const credentials =
    'token' in user
      ? { token: user.token }
      : {
          'client-certificate-data': base64(user.certificate.certificate),
          'client-key-data': base64(user.certificate.key),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'davit', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'davit', user: credentials }],
    contexts: [{ name: 'davit', context: { cluster: 'davit', user: 'davit', namespace: 'default' } }],
    'current-context': 'davit',
  };
  // JSON is YAML.
  await writeFile(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  return file;
}

/** 10.1.128.0/17 -> 10.1.128.1, the address of `kubernetes.default`. */
export function firstAddress(cidr: string): string {
  return cidr.replace(/\d+\/\d+$/, '1');
}

/**
 * Below the ports that the system hands out for outgoing connections: one of those could be taken between this look
 * and the moment the server binds it. Drawn at random, since clusters may start at the same time.
 */
export async function freePort(address: string): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 18_000 + Math.floor(Math.random() * 14_000);
    if (await isFree(address, port)) return port;
  }
  throw new Error(`no free port on ${address}`);
}

function isFree(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
}
