// A platform that builds, as the demo and the tests of it have it: Davit with the registry of its own chart, the builder,
// base images and, where it is asked for, a Gitea. Everything is compiled on this machine the first time.

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { PASSWORD_KEY, registryPassword } from '../../src/build/registry/registry-grant.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { freePort } from '../cluster/control-plane.ts';
import { ensureBuildImages, type Image } from '../cluster/images/build.ts';
import { ensureBuilderImage } from '../cluster/images/builder.ts';
import type { Progress } from '../cluster/prepared.ts';
import { ensureDavitImage } from '../image/davit-image.ts';
import { type Gitea, startGitea } from '../suites/builds/gitea.ts';
import { baseImageName, makeRegistryClient, type RegistryClient } from '../suites/builds/registry.ts';
import { authority, servingSecret } from '../suites/builds/servers.ts';
import { machineUpstream, startPackageIndex } from './package-index.ts';
import { DAVIT_NAMESPACE, ORGANIZATION_NAMESPACE, type Platform, startPlatform, type Values } from './platform.ts';

/** The registry's certificate, for its address and by the authority of everything that builds meet. */
const REGISTRY_TLS_SECRET = 'registry-serving';

export interface BuildImages {
  readonly builder: Image;
  readonly registry: Image;
  readonly davit: Image;
  /** Go to the registry, not to the node. */
  readonly bases: { readonly python: Image; readonly node: Image };
}

/** Compiles BuildKit and the registry first where they are not there yet. */
export async function ensureBuildPlatformImages(progress: Progress): Promise<BuildImages> {
  const { registry, python, node } = await ensureBuildImages(progress);
  const builder = await ensureBuilderImage(progress);
  return { builder, registry, davit: await ensureDavitImage(progress), bases: { python, node } };
}

/** What the node has from the start. */
export function nodeImages({ builder, registry, davit }: BuildImages): Image[] {
  return [builder, registry, davit];
}

export interface BuildPlatformOptions {
  readonly images: BuildImages;
  /** PostgreSQL and Redis of the records. */
  readonly stores: { readonly postgres: string; readonly redis: string };
  /** Namespaces that may use the Gitea, if there is one. */
  readonly tenants: readonly string[];
  /** How often branches are asked about. */
  readonly pollSeconds?: number;
  /** More values of the chart. */
  readonly values?: Values;
  readonly progress: Progress;
}

export interface PlatformThatBuilds {
  readonly platform: Platform;
  readonly registry: RegistryClient;
  readonly codeHost: CodeHost | undefined;
  /** In the registry, as builds name them. */
  readonly baseImages: { readonly python: string; readonly node: string };
  /** As builds reach it. */
  readonly packageIndex: { readonly pip: string; readonly npm: string };
  /** Variables of the commands in docs/builds.md. */
  readonly variables: Readonly<Record<'CA' | 'BASE', string>>;
  /** Ends what runs on this machine. */
  stop(): Promise<void>;
}

export interface CodeHost {
  readonly gitea: Gitea;
  /** Of its CodeHostIntegration. */
  readonly integrationId: string;
}

export type BuildPlatform = PlatformThatBuilds & CodeHost;

/** With a Gitea, which takes ten minutes to compile. */
export async function startBuildPlatform(cluster: Cluster, options: BuildPlatformOptions): Promise<BuildPlatform> {
  options.progress('Starting a Gitea');
  const started = await startPlatformThatBuilds(cluster, options, await startGitea(cluster, options.progress));
  const { codeHost } = started;
  if (codeHost === undefined) throw new Error('the platform was started without its Gitea');
  return { ...started, ...codeHost };
}

/** The cluster has the `nodeImages`, and its pods may have user namespaces. */
export async function startPlatformThatBuilds(
  cluster: Cluster,
  { images, stores, tenants, pollSeconds = 3, values, progress }: BuildPlatformOptions,
  gitea?: Gitea,
): Promise<PlatformThatBuilds> {
  const host = await fixedAddress(cluster, 9);
  const apiPort = await freePort(cluster.hostAddress);
  const key = await prepareSecrets(cluster, host);
  const tokens = await startTlsFront(cluster.hostAddress, apiPort);
  const index = await startPackageIndex(cluster.hostAddress, await machineUpstream());
  const packageIndex = { pip: index.pip, npm: index.npm };
  const { python, node } = images.bases;
  const baseImages = { python: baseImageName(host, python), node: baseImageName(host, node) };
  const platform = await startPlatform(cluster, {
    progress,
    // Where pods and the node reach it. Nothing beyond this machine does, so it needs no certificate. Its tokens have one: passwords
    // of the registry are sent for them.
    env: { DAVIT_HTTP_HOST: cluster.hostAddress, DAVIT_HTTP_PORT: String(apiPort) },
    values: {
      'settings.hosting': 'both',
      'settings.http.insecure': true,
      'settings.images.postgres': stores.postgres,
      'settings.images.redis': stores.redis,
      ...(gitea && {
        'settings.codeHosts': [
          { host: new URL(gitea.url).host, addresses: [cluster.hostAddress], ca: authority.certificate },
        ],
      }),
      'settings.builds.images': { builder: images.builder.name, davit: images.davit.name },
      'settings.builds.baseImages': baseImages,
      'settings.builds.packageIndex': packageIndex,
      'settings.builds.pollSeconds': pollSeconds,
      'settings.builds.egress': [`${cluster.hostAddress}/32`],
      'settings.builds.resources.storageGi': 4,
      'registry.enabled': true,
      'registry.image': images.registry.name,
      'registry.service.clusterIP': host,
      'registry.tls.secretName': REGISTRY_TLS_SECRET,
      'registry.ca': authority.certificate,
      'registry.tokenUrl': `${tokens.url}/v1/registry/token`,
      'registry.storage.size': '5Gi',
      ...values,
    },
  });
  async function stop(): Promise<void> {
    await platform.stop();
    await tokens.close();
    await index.close();
  }
  try {
    progress('Waiting for the registry');
    const rollout = ['rollout', 'status', 'statefulset/davit-registry', '-n', DAVIT_NAMESPACE, '--timeout=240s'];
    await cluster.kubectl(rollout);
    const ca = authority.certificate;
    await cluster.trustRegistry({ host, server: `https://${host}`, ca });
    const registry = await makeRegistryClient({
      folder: cluster.runDir,
      host,
      address: host,
      ca,
      password: (repository, actions, seconds) =>
        registryPassword(key, { repository, actions, expires: Math.ceil(Date.now() / 1000) + seconds }),
    });
    progress('Pushing base images');
    await registry.publish(python);
    await registry.publish(node);
    const codeHost = gitea && { gitea, integrationId: await createIntegration(cluster, gitea, tenants) };
    const authorities = join(cluster.runDir, 'authorities.pem');
    await writeFile(authorities, ca);
    const variables = { CA: authorities, BASE: baseImages.python };
    return { platform, registry, codeHost, baseImages, packageIndex, variables, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An address of the lower part of the Services' range, from which the cluster chooses none itself. */
export async function fixedAddress(cluster: Cluster, last: number): Promise<string> {
  const get = ['get', 'service', 'kubernetes', '-n', 'default', '-o', 'jsonpath={.spec.clusterIP}'];
  return (await cluster.kubectl(get)).trim().replace(/\d+$/, String(last));
}

/**
 * Creates the registry's certificate, and the key of its passwords, which Davit would create: base images are pushed with a password
 * that is signed with it. Resolves to that key.
 */
async function prepareSecrets(cluster: Cluster, registryHost: string): Promise<Buffer> {
  const key = randomBytes(PASSWORD_KEY.bytes);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DAVIT_NAMESPACE } };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: PASSWORD_KEY.name, namespace: DAVIT_NAMESPACE },
    immutable: true,
    data: { [PASSWORD_KEY.field]: key.toString('base64') },
  };
  const certificate = servingSecret(REGISTRY_TLS_SECRET, DAVIT_NAMESPACE, [registryHost]);
  const input = [namespace, secret, certificate].map((object) => JSON.stringify(object)).join('\n');
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input });
  return key;
}

/** Terminates TLS at an address of this machine, in front of a plain port of the same address. */
async function startTlsFront(
  address: string,
  behind: number,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { certificate, key } = authority.serving('davit-api', [address]);
  const open = new Set<Socket>();
  const server = createServer({ cert: certificate, key }, (client) => {
    const api = connect(behind, address);
    for (const [one, other] of [
      [client, api],
      [api, client],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy()).on('close', () => open.delete(one));
      one.pipe(other);
    }
  });
  const port = await freePort(address);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, () => resolve()));
  return {
    url: `https://${address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Creates a CodeHostIntegration of the Gitea that these tenants may use. Resolves to its id. */
export async function createIntegration(cluster: Cluster, gitea: Gitea, tenants: readonly string[]): Promise<string> {
  const { token } = await gitea.makeToken();
  const metadata = { name: 'gitea', namespace: ORGANIZATION_NAMESPACE };
  const objects = [
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token } },
    {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'CodeHostIntegration',
      metadata,
      spec: { kind: 'gitea', apiUrl: `${gitea.url}/api/v1`, credentialsRef: { name: 'gitea' }, tenants },
    },
  ];
  await cluster.kubectl(['apply', '-f', '-'], { input: objects.map((object) => JSON.stringify(object)).join('\n') });
  const get = ['get', 'chi', 'gitea', '-n', ORGANIZATION_NAMESPACE, '-o', 'jsonpath={.metadata.uid}'];
  return (await cluster.kubectl(get)).trim();
}
