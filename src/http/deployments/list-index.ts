// Which records a list shows: newest first, and found by what they are asked for instead of by looking at all. Kept up
// to date by the caches' changes; nothing is read here.

import { type AppDeployment, deploymentTypeMeant } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import { TAG_LABEL_PREFIX } from '../../api/meta.ts';
import { apiStatus, createdAt, imageVersions } from '../../record/api-view.ts';
import type { WatchedStore } from '../../runtime/store.ts';
import type { ListDeployments } from './payloads.ts';
import { shownRevisionConfig } from './presenter.ts';

export interface Listing {
  /** The records of the page that `query` asks for: created last, first; then by id. */
  page(namespace: string, query: ListDeployments): AppDeployment[];
}

export interface ListingOptions {
  readonly records: WatchedStore<AppDeployment>;
  readonly revisions: WatchedStore<AppRevision>;
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
}

interface Entry {
  record: AppDeployment;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: string;
  /** What filters find it by, such as `status READY`. */
  terms: readonly string[];
  /** The terms of its image's tag and digest; undefined while nobody has asked. */
  versions: readonly string[] | undefined;
}

/** What is known of one namespace. */
interface NamespaceIndex {
  readonly all: Entry[];
  /** Made when a part of a name is looked for, until a record comes or goes. */
  names: NamesInOne | undefined;
  /** Term → its rows, newest first. */
  readonly byTerm: Map<string, Entry[]>;
  /** Rows whose version is not known: it takes the revisions, and few ask for it. */
  readonly withoutVersion: Set<Entry>;
}

const NONE: readonly Entry[] = [];

/** Begins to follow the caches. What they have already is taken in. */
export function makeListing({ records, revisions, revisionsOf }: ListingOptions): Listing {
  const shelves = new Map<string, NamespaceIndex>();
  const rows = new Map<string, Entry>();

  function shelfOf(namespace: string): NamespaceIndex {
    const known = shelves.get(namespace);
    if (known !== undefined) return known;
    const made: NamespaceIndex = { all: [], names: undefined, byTerm: new Map(), withoutVersion: new Set() };
    shelves.set(namespace, made);
    return made;
  }

  function put(record: AppDeployment): void {
    const { namespace = '', name, uid = '' } = record.metadata;
    const shelf = shelfOf(namespace);
    const terms = termsOf(record);
    const known = rows.get(uid);
    if (known === undefined) {
      const row: Entry = { record, name, uid, createdAt: createdAt(record), terms, versions: undefined };
      rows.set(uid, row);
      insert(shelf.all, row);
      shelf.names = undefined;
      for (const term of terms) insertAt(shelf, term, row);
      shelf.withoutVersion.add(row);
      return;
    }
    known.record = record;
    forgetVersion(shelf, known);
    for (const term of known.terms) if (!terms.includes(term)) removeAt(shelf, term, known);
    for (const term of terms) if (!known.terms.includes(term)) insertAt(shelf, term, known);
    known.terms = terms;
  }

  function drop({ metadata }: AppDeployment): void {
    const row = rows.get(metadata.uid ?? '');
    const shelf = shelves.get(metadata.namespace ?? '');
    if (row === undefined || shelf === undefined) return;
    rows.delete(row.uid);
    remove(shelf.all, row);
    shelf.names = undefined;
    for (const term of row.terms) removeAt(shelf, term, row);
    forgetVersion(shelf, row);
    shelf.withoutVersion.delete(row);
    if (shelf.all.length === 0) shelves.delete(metadata.namespace ?? '');
  }

  function forgetVersion(shelf: NamespaceIndex, row: Entry): void {
    for (const version of row.versions ?? []) removeAt(shelf, version, row);
    row.versions = undefined;
    shelf.withoutVersion.add(row);
  }

  function learnVersions(shelf: NamespaceIndex): void {
    for (const row of shelf.withoutVersion) {
      const { imageUri } = shownRevisionConfig(row.record, revisionsOf(row.record));
      row.versions = imageVersions(imageUri).map(versionTerm);
      for (const version of row.versions) insertAt(shelf, version, row);
    }
    shelf.withoutVersion.clear();
  }

  for (const record of records.list()) put(record);
  records.onChange(({ type, object }) => (type === 'deleted' ? drop(object) : put(object)));
  revisions.onChange(({ object }) => {
    const row = rows.get(object.spec.deploymentUid);
    const shelf = shelves.get(object.metadata.namespace ?? '');
    if (row !== undefined && shelf !== undefined) forgetVersion(shelf, row);
  });

  /** Those that the query names one by one. */
  function named({ deployment_ids: ids, name }: ListDeployments, namespace: string): Entry[] | undefined {
    if (ids === undefined && name === undefined) return undefined;
    const uids = new Set(ids ?? [records.get({ namespace, name: name ?? '' })?.metadata.uid ?? '']);
    return [...uids]
      .flatMap((uid) => rows.get(uid) ?? [])
      .filter(({ record }) => record.metadata.namespace === namespace)
      .toSorted(newestFirst);
  }

  return {
    page(namespace, query) {
      const shelf = shelves.get(namespace);
      if (shelf === undefined) return [];
      if (query.image_version !== undefined) learnVersions(shelf);
      const asked = askedTerms(query).map((terms) => ({ terms, found: anyOf(shelf, terms) }));
      // The shortest list has to be looked through, and no other.
      let shortest: readonly Entry[] = named(query, namespace) ?? shelf.all;
      for (const { found } of asked) if (found.length < shortest.length) shortest = found;
      const others = asked.filter(({ found }) => found !== shortest);
      if (query.name_contains !== undefined && shortest === shelf.all) {
        // Every other filter lets all pass, or its list would be shorter: so the page's rows are the first that are found.
        shelf.names ??= namesInOne(shelf.all);
        shortest = containing(shelf.all, shelf.names, query.name_contains, query.offset + query.limit);
      }
      if (others.length === 0 && !namesAny(query))
        return recordsOf(shortest.slice(query.offset, query.offset + query.limit));
      return pageOf(shortest, query, (row) => isNamed(row, query) && others.every(({ terms }) => hasAny(row, terms)));
    },
  };
}

function recordsOf(found: readonly Entry[]): AppDeployment[] {
  return found.map(({ record }) => record);
}

/** Of those that fit, the page: nothing that comes after it is looked at. */
function pageOf(
  found: readonly Entry[],
  { offset, limit }: ListDeployments,
  fits: (row: Entry) => boolean,
): AppDeployment[] {
  const page: Entry[] = [];
  let passedOver = 0;
  for (const row of found) {
    if (!fits(row)) continue;
    if (passedOver < offset) passedOver += 1;
    else page.push(row);
    if (page.length === limit) break;
  }
  return recordsOf(page);
}

/** All names as one text, so that to look for a part of one is a single search. */
interface NamesInOne {
  /** Each name, and a line break after it. */
  readonly text: string;
  /** Where each begins. */
  readonly starts: Uint32Array;
}

function namesInOne(rows: readonly Entry[]): NamesInOne {
  const starts = new Uint32Array(rows.length);
  let at = 0;
  for (const [index, { name }] of rows.entries()) {
    starts[index] = at;
    at += name.length + 1;
  }
  return { text: rows.map(({ name }) => `${name}\n`).join(''), starts };
}

/** The first `most` rows whose name has `part` in it. */
function containing(
  rows: readonly Entry[],
  { text, starts }: NamesInOne,
  part: string,
  most: number,
): readonly Entry[] {
  if (part === '') return rows;
  if (part.includes('\n')) return NONE;
  const found: Entry[] = [];
  let at = text.indexOf(part);
  while (at >= 0 && found.length < most) {
    const index = lastStartUpTo(starts, at);
    found.push(rows[index] as Entry);
    at = text.indexOf(part, starts[index + 1] ?? text.length);
  }
  return found;
}

function lastStartUpTo(starts: Uint32Array, at: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return low;
}

function namesAny(query: ListDeployments): boolean {
  return query.name !== undefined || query.name_contains !== undefined || query.deployment_ids !== undefined;
}

function isNamed({ name, uid }: Entry, query: ListDeployments): boolean {
  if (query.name !== undefined && name !== query.name) return false;
  if (query.name_contains !== undefined && !name.includes(query.name_contains)) return false;
  return query.deployment_ids === undefined || query.deployment_ids.includes(uid);
}

function hasAny({ terms, versions = [] }: Entry, wanted: readonly string[]): boolean {
  return wanted.some((term) => terms.includes(term) || versions.includes(term));
}

/** One list for each filter, of the terms that any one of is enough. */
function askedTerms(query: ListDeployments): string[][] {
  return [
    query.status === undefined ? [] : [statusTerm(query.status)],
    query.remote_reconciled === undefined ? [] : [remoteTerm(query.remote_reconciled)],
    query.deployment_type === undefined ? [] : [typeTerm(query.deployment_type)],
    query.image_version === undefined ? [] : [versionTerm(query.image_version)],
    query.tag_value_ids?.map(tagTerm) ?? [],
  ].filter((terms) => terms.length > 0);
}

function termsOf(record: AppDeployment): string[] {
  const { listenerId } = record.spec.sourceConfig;
  const deploymentType = deploymentTypeMeant(record.spec.sourceConfig.deploymentType);
  const labels = Object.keys(record.metadata.labels ?? {}).map((label) => label.toLowerCase());
  return [
    statusTerm(apiStatus(record)),
    remoteTerm(listenerId !== undefined),
    ...(deploymentType === undefined ? [] : [typeTerm(deploymentType)]),
    ...labels
      .filter((label) => label.startsWith(TAG_LABEL_PREFIX))
      .map((label) => tagTerm(label.slice(TAG_LABEL_PREFIX.length))),
  ];
}

const statusTerm = (status: string): string => `status ${status}`;
const remoteTerm = (isRemote: boolean): string => (isRemote ? 'remote' : 'local');
const typeTerm = (type: string): string => `type ${type}`;
const tagTerm = (tag: string): string => `tag ${tag}`;
const versionTerm = (version: string): string => `version ${version}`;

function anyOf({ byTerm }: NamespaceIndex, terms: readonly string[]): readonly Entry[] {
  const lists = terms.map((term) => byTerm.get(term) ?? NONE);
  if (lists.length === 1) return lists[0] ?? NONE;
  return [...new Set(lists.flat())].toSorted(newestFirst);
}

function newestFirst(a: Entry, b: Entry): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  if (a.uid === b.uid) return 0;
  return a.uid < b.uid ? -1 : 1;
}

function insertAt({ byTerm }: NamespaceIndex, term: string, row: Entry): void {
  const list = byTerm.get(term);
  if (list === undefined) byTerm.set(term, [row]);
  else insert(list, row);
}

function removeAt({ byTerm }: NamespaceIndex, term: string, row: Entry): void {
  const list = byTerm.get(term);
  if (list === undefined) return;
  remove(list, row);
  if (list.length === 0) byTerm.delete(term);
}

function insert(list: Entry[], row: Entry): void {
  list.splice(placeOf(list, row), 0, row);
}

function remove(list: Entry[], row: Entry): void {
  const at = placeOf(list, row);
  if (list[at] === row) list.splice(at, 1);
}

/** Where in the ordered list the row is, or belongs. */
function placeOf(list: readonly Entry[], row: Entry): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (newestFirst(list[middle] as Entry, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
