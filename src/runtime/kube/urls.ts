// Paths and queries of the Kubernetes API.

import { Invalid } from '../errors.ts';
import type { ObjectRef, Resource, WriteOptions } from './client.ts';

export function collectionPath(doing: string, resource: Resource, namespace: string | undefined): string {
  const { group, version, plural } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  if (!resource.namespaced || namespace === undefined) return `${root}/${plural}`;
  return `${root}/namespaces/${segment(doing, namespace)}/${plural}`;
}

export function objectPath(doing: string, resource: Resource, ref: ObjectRef): string {
  const namespace = requireNamespace(doing, resource, ref.namespace);
  return `${collectionPath(doing, resource, namespace)}/${segment(doing, ref.name)}`;
}

/** Requires the namespace: without it the path would be that of another resource. */
export function requireNamespace(doing: string, resource: Resource, namespace: string | undefined): string | undefined {
  if (resource.namespaced && namespace === undefined) throw new Invalid(`${doing}: no namespace`);
  return namespace;
}

/** One segment of a path. Invalid names must not reach a URL, in which `..` has a meaning. */
function segment(doing: string, name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new Invalid(`${doing}: ${JSON.stringify(name)} is not a valid name`);
  }
  return encodeURIComponent(name);
}

export function writeQuery(writing: WriteOptions, more: Readonly<Record<string, string | undefined>> = {}): string {
  return queryOf({
    fieldManager: writing.fieldManager,
    dryRun: writing.dryRun === true ? 'All' : undefined,
    fieldValidation: writing.strict === true ? 'Strict' : undefined,
    ...more,
  });
}

export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

export function named(resource: Resource, ref: ObjectRef): string {
  return `${resource.plural} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
}

export function withSubresource(resource: Resource, writing: WriteOptions): string {
  return writing.subresource === undefined ? resource.plural : `${resource.plural}/${writing.subresource}`;
}
