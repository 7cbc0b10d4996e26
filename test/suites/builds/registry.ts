// CNCF Distribution in a pod of the embedded cluster, with TLS and tokens for single repositories, known to the node.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Image } from '../../cluster/images/build.ts';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { eventually } from '../../support/running-davit.ts';
import { authority } from './servers.ts';
import { type Action, registryService, startTokenIssuer, tokenIssuer } from './token-issuer.ts';

const run = promisify(execFile);
const namespace = 'davit-registry';
const port = 5000;
/** What everybody may pull. */
export const publicPrefix = 'base/';

export interface RegistryClient {
  /** As it stands in names of images. */
  readonly host: string;
  readonly ca: string;
  /** What a pod or a client needs for `host`, as Docker's configuration file. */
  allow(repository: string, actions: readonly Action[], seconds?: number): string;
  /** Puts an OCI archive of the cache into the registry; answers with its name there. */
  publish(image: Image): Promise<string>;
  /** A published client, on this machine. */
  crane(args: readonly string[], dockerConfig?: string): Promise<string>;
}

export interface Registry extends RegistryClient {
  close(): Promise<void>;
}

export interface RegistryClientOptions {
  /** For files of its own. */
  readonly folder: string;
  readonly host: string;
  /** Where this machine reaches `host`: it knows no names of the cluster. */
  readonly address: string;
  readonly ca: string;
  /** A password of the registry. */
  readonly password: (repository: string, actions: readonly Action[], seconds: number) => string;
}

/** What a base image of the cache is called in the registry. */
export function baseImageName(host: string, { name }: Pick<Image, 'name'>): string {
  return `${host}/${publicPrefix}${name.split('/').at(-1)}`;
}

export async function startRegistry(cluster: Cluster, image: Image): Promise<Registry> {
  const host = `registry.${namespace}.svc:${port}`;
  const issuer = await startTokenIssuer(cluster.hostAddress, publicPrefix);
  const labels = { app: 'registry' };
  await cluster.kubectl(['create', 'namespace', namespace]);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'registry', namespace },
    spec: { selector: labels, ports: [{ port }] },
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(service) });
  const get = ['get', 'service', 'registry', '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'];
  const address = await cluster.kubectl(get);
  const serving = authority.serving('registry', [`registry.${namespace}.svc`, address]);
  const config = {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: '/var/lib/registry' }, delete: { enabled: true } },
    http: { addr: `:${port}`, tls: { certificate: '/etc/distribution/tls.crt', key: '/etc/distribution/tls.key' } },
    auth: {
      token: {
        realm: `${issuer.url}/token`,
        service: registryService,
        issuer: tokenIssuer,
        jwks: '/etc/distribution/jwks.json',
        signingalgorithms: ['ES256'],
      },
    },
  };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'registry', namespace },
    stringData: {
      'config.yml': JSON.stringify(config),
      'tls.crt': serving.certificate,
      'tls.key': serving.key,
      'jwks.json': issuer.jwks,
    },
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'registry', namespace, labels },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: { fsGroup: 1000 },
      containers: [
        {
          name: 'registry',
          image: image.name,
          readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
          volumeMounts: [
            { name: 'settings', mountPath: '/etc/distribution' },
            { name: 'data', mountPath: '/var/lib/registry' },
          ],
        },
      ],
      volumes: [
        { name: 'settings', secret: { secretName: 'registry' } },
        { name: 'data', emptyDir: {} },
      ],
    },
  };
  const objects = { apiVersion: 'v1', kind: 'List', items: [secret, pod] };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(objects) });
  await cluster.kubectl(['wait', 'pod/registry', '-n', namespace, '--for=condition=Ready', '--timeout=120s']);
  await cluster.trustRegistry({ host, server: `https://${address}:${port}`, ca: authority.certificate });

  const client = await makeRegistryClient({
    folder: cluster.runDir,
    host,
    address: `${address}:${port}`,
    ca: authority.certificate,
    password: issuer.allow,
  });
  return { ...client, close: issuer.close };
}

/** A published client and what it needs. */
export async function makeRegistryClient(options: RegistryClientOptions): Promise<RegistryClient> {
  const { host, address, ca, password } = options;
  const folder = await mkdtemp(join(options.folder, 'registry-'));
  const caFile = join(folder, 'ca.crt');
  await writeFile(caFile, ca);
  const tools = await ensureTools(['registry'], () => undefined);

  async function crane(args: readonly string[], dockerConfig = '{}'): Promise<string> {
    const home = await mkdtemp(join(folder, 'home-'));
    const outside = (text: string): string => text.replaceAll(host, address);
    await writeFile(join(home, 'config.json'), outside(dockerConfig));
    const env = { PATH: process.env['PATH'], HOME: home, DOCKER_CONFIG: home, SSL_CERT_FILE: caFile, NO_PROXY: '*' };
    const { stdout } = await run(toolPath(tools, 'registry', 'crane'), args.map(outside), { env });
    return stdout.trim();
  }

  function allow(repository: string, actions: readonly Action[], seconds = 3600): string {
    const auth = Buffer.from(`davit:${password(repository, actions, seconds)}`).toString('base64');
    return JSON.stringify({ auths: { [host]: { auth } } });
  }

  async function publish(image: Image): Promise<string> {
    const { archive, digest } = image;
    const layout = await mkdtemp(join(folder, 'layout-'));
    await run('tar', ['-xf', archive, '-C', layout]);
    // The archive names its one image twice, by tag and by digest.
    const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as { manifests: { digest: string }[] };
    const manifests = index.manifests.filter((manifest) => manifest.digest === digest).slice(0, 1);
    await writeFile(join(layout, 'index.json'), JSON.stringify({ ...index, manifests }));
    const tagged = baseImageName(host, image);
    const repository = tagged.slice(host.length + 1).replace(/:.*$/, '');
    // Kubernetes says when the pod is ready, and the proxy of Services learns it a moment later.
    await eventually(() => crane(['push', layout, tagged], allow(repository, ['pull', 'push'])));
    await rm(layout, { recursive: true });
    return tagged;
  }

  return { host, ca, allow, publish, crane };
}
