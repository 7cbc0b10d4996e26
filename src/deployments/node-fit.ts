// The cluster's nodes, to check whether a pod fits: listed when a size is about to change, not watched.

import { listAllPages } from '../lib/controller/pager.ts';
import { Forbidden } from '../lib/errors.ts';
import { NODES } from '../lib/kube/api-resources.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import { type ActionFailure, type ObservedChildren, refTo } from './assess/observed.ts';
import { failureOf } from './cluster/failures.ts';
import { type ClusterNode, roomToCheck, withoutRoom } from './plan/node-fit.ts';
import type { Action } from './plan/plan.ts';

const PAGE_SIZE = 100;

/**
 * The running stores among `actions` whose new pod fits on no node. Empty without the right to list nodes.
 */
export async function refuseWithoutRoom(
  actions: readonly Action[],
  observed: ObservedChildren,
  client: KubeClient,
): Promise<ActionFailure[]> {
  const sets = roomToCheck(actions, observed);
  if (sets.length === 0) return [];
  let nodes: readonly ClusterNode[] | undefined;
  try {
    nodes = await listNodes(client);
  } catch (error) {
    return sets.map((set) => failureOf(error, refTo(set), 'list the nodes for'));
  }
  // A running database needs a node, so an empty list means that nodes are hidden.
  return nodes && nodes.length > 0 ? withoutRoom(sets, nodes) : [];
}

async function listNodes(client: KubeClient): Promise<readonly ClusterNode[] | undefined> {
  try {
    const { items } = await listAllPages<ClusterNode>(client, NODES, { pageSize: PAGE_SIZE, keep: slim });
    return items;
  } catch (error) {
    if (error instanceof Forbidden) return undefined;
    throw error;
  }
}

/** Drops the list of images, which is most of a Node object. */
function slim({ apiVersion, kind, metadata, spec, status }: ClusterNode): ClusterNode {
  const { name, labels } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(labels && { labels }) },
    ...(spec && { spec }),
    ...(status?.allocatable && { status: { allocatable: status.allocatable } }),
  };
}
