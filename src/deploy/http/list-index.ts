// Selects the records of a list: those of the namespace that pass every filter, newest first, or those in trouble before others. Records are filtered one by one until
// the page is full.

import { type AppDeployment, deploymentTypeMeant } from '../../kinds/app-deployment.ts';
import { needsAttention } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { Change, WatchedStore } from '../../runtime/controller/store.ts';
import { createdAt } from '../../runtime/kube/write-times.ts';
import { apiStatus, imageVersions } from '../record/api-view.ts';
import type { ListDeployments } from './payloads.ts';
import { shownRevisionConfig } from './presenter.ts';
import { tagsOf } from './tags.ts';

export interface Listing {
  /** The records of the page that `query` selects: newest first, then by id. */
  page(namespace: string, query: ListDeployments): AppDeployment[];
}

export interface ListingOptions {
  readonly records: WatchedStore<AppDeployment>;
  readonly revisions: WatchedStore<AppRevision>;
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
}

/** The values that order and filters use. */
interface Row {
  readonly record: AppDeployment;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: string;
  readonly status: string;
  readonly isRemote: boolean;
  readonly type: string | undefined;
  readonly tags: readonly string[];
  /** In a list that is ordered by attention: in trouble 0, unused 2, others 1. */
  readonly rank: 0 | 1 | 2;
  /** The tag and digest of its image. Undefined until a filter needs them, because they depend on the revisions. */
  versions: readonly string[] | undefined;
}

type Filter = (row: Row) => boolean;

/** Follows the caches, beginning with their current content. */
export function makeListing({ records, revisions, revisionsOf }: ListingOptions): Listing {
  /** Entries by namespace, newest first. */
  const shelves = new Map<string, Row[]>();

  function follow({ type, object }: Pick<Change<AppDeployment>, 'type' | 'object'>): void {
    const { namespace = '' } = object.metadata;
    const rows = shelves.get(namespace) ?? [];
    const row = rowOf(object);
    const at = rowIndex(rows, row);
    const isThere = rows[at]?.uid === row.uid;
    rows.splice(at, isThere ? 1 : 0, ...(type === 'deleted' ? [] : [row]));
    if (rows.length > 0) shelves.set(namespace, rows);
    else shelves.delete(namespace);
  }
  for (const object of records.list()) follow({ type: 'added', object });
  records.onChange(follow);
  revisions.onChange(({ object }) => {
    const record = records.byUid(object.spec.deploymentUid);
    if (record !== undefined) follow({ type: 'modified', object: record });
  });

  function versionsOf(row: Row): readonly string[] {
    row.versions ??= imageVersions(shownRevisionConfig(row.record, revisionsOf(row.record)).imageUri);
    return row.versions;
  }

  /** The entries with the ids of the query, or all. */
  function candidates(namespace: string, { deployment_ids: ids, name }: ListDeployments): readonly Row[] {
    if (ids === undefined && name === undefined) return shelves.get(namespace) ?? [];
    const named =
      ids === undefined ? [records.get({ namespace, name: name ?? '' })] : ids.map((id) => records.byUid(id));
    return [...new Set(named)]
      .filter((record) => record !== undefined)
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(rowOf)
      .toSorted(rowOrder);
  }

  function* filtersOf(query: ListDeployments): Generator<Filter> {
    const { name, name_contains: part, status, remote_reconciled: isRemote } = query;
    const { deployment_type: type, image_version: version, tag_value_ids: tags } = query;
    if (name !== undefined) yield (row) => row.name === name;
    if (part !== undefined) yield (row) => row.name.includes(part);
    if (status !== undefined) yield (row) => row.status === status;
    if (isRemote !== undefined) yield (row) => row.isRemote === isRemote;
    if (type !== undefined) yield (row) => row.type === type;
    if (tags !== undefined && tags.length > 0) yield (row) => row.tags.some((tag) => tags.includes(tag));
    if (version !== undefined) yield (row) => versionsOf(row).includes(version);
  }

  return {
    page(namespace, query) {
      const { offset, limit } = query;
      const found = candidates(namespace, query);
      const rows = query.order_by === 'attention' ? found.toSorted((a, b) => a.rank - b.rank) : found;
      const filters = [...filtersOf(query)];
      if (filters.length === 0) return rows.slice(offset, offset + limit).map(({ record }) => record);
      const passes = filters.reduce(both);
      const page: AppDeployment[] = [];
      let passedOver = 0;
      for (const row of rows) {
        if (!passes(row)) continue;
        if (passedOver < offset) passedOver += 1;
        else page.push(row.record);
        if (page.length === limit) break;
      }
      return page;
    },
  };
}

function both(first: Filter, second: Filter): Filter {
  return (row) => first(row) && second(row);
}

function rowOf(record: AppDeployment): Row {
  const { name, uid = '' } = record.metadata;
  const { listenerId, deploymentType } = record.spec.sourceConfig;
  return {
    record,
    name,
    uid,
    createdAt: createdAt(record),
    status: apiStatus(record),
    isRemote: listenerId !== undefined,
    type: deploymentTypeMeant(deploymentType),
    tags: tagsOf(record),
    rank: needsAttention(record.status?.conditions) ? 0 : apiStatus(record) === 'UNUSED' ? 2 : 1,
    versions: undefined,
  };
}

function rowOrder(a: Row, b: Row): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  if (a.uid === b.uid) return 0;
  return a.uid < b.uid ? -1 : 1;
}

/** The index of the row in the ordered list, or where it is to be inserted. */
function rowIndex(rows: readonly Row[], row: Row): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rowOrder(rows[middle] as Row, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
