// What other people or programs have added to a record's children, such as by kubectl set env. Davit keeps it: server-side apply
// changes only Davit's own fields. It is named in condition ResourceSpecHonored, because the pods are then not what was asked for.

import { isObject } from '../../lib/json-value.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import { childOf, type ObservedChildren } from '../assess/observed.ts';
import { elementKey } from './list-map-keys.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Lists of a pod's specification, by what an element is called in the message. */
const POD_LISTS = { containers: 'container', initContainers: 'init container', volumes: 'volume' } as const;
const CONTAINER_LISTS = { env: 'variable', volumeMounts: 'mount', ports: 'port' } as const;
/** The API server gives these fields no default. */
const POD_FIELDS = ['nodeSelector', 'affinity', 'tolerations', 'hostAliases', 'hostNetwork', 'hostPID', 'dnsConfig'];
const POD_NAMES = ['serviceAccountName', 'priorityClassName', 'runtimeClassName'];
const CONTAINER_FIELDS = ['command', 'args', 'envFrom', 'lifecycle', 'livenessProbe', 'startupProbe', 'workingDir'];

/** What is in the cluster and not wanted, in words: `Deployment shop: variable DEBUG of container main`. */
export function foreignFields(
  desired: readonly KubeObject[],
  observed: Pick<ObservedChildren, 'children'>,
): readonly string[] {
  return desired.flatMap((wanted) => {
    const { kind } = wanted;
    const { name } = wanted.metadata;
    const actual = childOf(observed, kind, name);
    if (!actual) return [];
    const found =
      kind === 'Service'
        ? ofService(specFields(wanted), specFields(actual))
        : ofPods(podSpecOf(wanted), podSpecOf(actual));
    return found.map((field) => `${kind} ${name}: ${field}`);
  });
}

function ofPods(wanted: Fields, actual: Fields): string[] {
  return [
    ...added(POD_LISTS, wanted, actual),
    ...unwanted([...POD_FIELDS, ...POD_NAMES], wanted, actual),
    ...['containers', 'initContainers'].flatMap((list) =>
      pairs(list, wanted, actual).flatMap(([one, there]) =>
        ofContainer(one, there).map((field) => `${field} of container ${String(one['name'])}`),
      ),
    ),
  ];
}

function ofContainer(wanted: Fields, actual: Fields): string[] {
  const resources = ['limits', 'requests'].flatMap((kind) => {
    const asked = fieldsAt(fieldsAt(wanted, 'resources'), kind);
    // A limit without a request becomes the request.
    const limits = fieldsAt(fieldsAt(wanted, 'resources'), 'limits');
    const others = Object.keys(fieldsAt(fieldsAt(actual, 'resources'), kind));
    return others
      .filter((name) => !Object.hasOwn(asked, name) && !Object.hasOwn(limits, name))
      .map((name) => `resources.${kind}.${name}`);
  });
  return [...added(CONTAINER_LISTS, wanted, actual), ...unwanted(CONTAINER_FIELDS, wanted, actual), ...resources];
}

function ofService(wanted: Fields, actual: Fields): string[] {
  const type = actual['type'] ?? 'ClusterIP';
  return [
    ...added({ ports: 'port' }, wanted, actual),
    ...unwanted(['externalIPs'], wanted, actual),
    ...(wanted['type'] === undefined && type !== 'ClusterIP' ? ['type'] : []),
  ];
}

/** Elements of keyed lists that are not wanted. */
function added(lists: Readonly<Record<string, string>>, wanted: Fields, actual: Fields): string[] {
  return Object.entries(lists).flatMap(([field, word]) => {
    const own = new Set(listAt(wanted, field).map((element) => elementKey(field, element)));
    const others = listAt(actual, field).filter((element) => !own.has(elementKey(field, element)));
    return others.map((element) => `${word} ${elementKey(field, element) ?? ''}`.trim());
  });
}

function unwanted(fields: readonly string[], wanted: Fields, actual: Fields): string[] {
  return fields.filter((field) => {
    const value = actual[field];
    // The API server completes probes and the like.
    const own = fieldsAt(wanted, field);
    if (field === 'nodeSelector' && isObject(value) && isObject(wanted[field]))
      return Object.keys(value).some((key) => !Object.hasOwn(own, key));
    return wanted[field] === undefined && hasContent(value);
  });
}

function hasContent(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}

function pairs(list: string, wanted: Fields, actual: Fields): [Fields, Fields][] {
  return listAt(wanted, list).flatMap((one) => {
    const there = listAt(actual, list).find((other) => elementKey(list, other) === elementKey(list, one));
    return isObject(one) && isObject(there) ? [[one, there] as [Fields, Fields]] : [];
  });
}

/** That of a workload, or of the runs of a CronJob. */
function podSpecOf(object: KubeObject): Fields {
  const spec = specFields(object);
  const ofPods = object.kind === 'CronJob' ? fieldsAt(fieldsAt(spec, 'jobTemplate'), 'spec') : spec;
  return fieldsAt(fieldsAt(ofPods, 'template'), 'spec');
}
function specFields(object: KubeObject): Fields {
  return fieldsAt(object as unknown as Fields, 'spec');
}
function fieldsAt(object: Fields, field: string): Fields {
  const value = object[field];
  return isObject(value) ? value : {};
}
function listAt(object: Fields, field: string): readonly unknown[] {
  const value = object[field];
  return Array.isArray(value) ? value : [];
}
