// Operators of others, applied with the manifests of their own Go modules, in pods of an image that was made here.

import { parseAllDocuments } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import type { Image } from '../cluster/images/build.ts';

export interface Manifest {
  readonly kind: string;
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: Container[] } } };
}

interface Container {
  image: string;
  imagePullPolicy: string;
  args?: string[];
  resources: object;
  env?: { readonly name: string; value?: string }[];
}

export interface ModuleOptions {
  /** Further arguments of every container. */
  readonly args?: readonly string[];
  /** Values of variables that the manifests have. */
  readonly env?: Readonly<Record<string, string>>;
}

/** `folder`: where the module has its kustomization. */
export async function applyModule(
  cluster: Cluster,
  folder: string,
  image: Image,
  options: ModuleOptions = {},
): Promise<void> {
  await applyManifests(cluster, await renderedModule(cluster, folder, image, options));
}

/** The manifests of the kustomization in `folder`, with all containers of this image. */
export async function renderedModule(
  cluster: Cluster,
  folder: string,
  { name }: Image,
  { args = [], env = {} }: ModuleOptions = {},
): Promise<readonly Manifest[]> {
  const rendered = await cluster.kubectl(['kustomize', folder]);
  const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
  for (const { spec } of manifests)
    for (const container of spec?.template?.spec.containers ?? []) {
      container.image = name;
      container.imagePullPolicy = 'Never';
      // The machine has two cores.
      container.resources = { requests: { cpu: '20m', memory: '64Mi' } };
      if (args.length > 0) container.args = [...(container.args ?? []), ...args];
      for (const variable of container.env ?? []) {
        const value = env[variable.name];
        if (value !== undefined) variable.value = value;
      }
    }
  return manifests;
}

/** Server-side: an annotation with all of a kind would be too long. */
export async function applyManifests(cluster: Cluster, items: readonly object[]): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}
