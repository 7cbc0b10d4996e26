// The API server's own answers, as anybody: what a record's author with kubectl would be told.

import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import type { Cluster } from '../../../cluster/cluster.ts';
import { documentsOf } from '../../../support/rendered-chart.ts';

const chart = join(import.meta.dirname, '../../../../charts/davit');

export interface Cause {
  readonly field?: string;
  readonly message: string;
}

export interface Answer {
  readonly status: number;
  readonly message: string;
  readonly causes: readonly Cause[];
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Door {
  /** `as`: a user to impersonate; absent: the cluster's admin. */
  call(method: string, path: string, body?: object, as?: string): Promise<Answer>;
  close(): Promise<void>;
}

interface Status {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly Cause[] };
}

/** What of the chart a cluster has, by kind, namespace and name. */
const released = new WeakMap<object, ReadonlyMap<string, string>>();

/**
 * Applies the chart without its workloads, or what other settings change of it, as `helm upgrade` would: that compares all objects, which
 * takes five seconds of a processor a time. The definitions come with the first one.
 */
export async function releaseChart(
  cluster: Pick<Cluster, 'helm' | 'kubectl'>,
  { isFirst = false, settings = [] }: { readonly isFirst?: boolean; readonly settings?: readonly string[] } = {},
): Promise<void> {
  const given = ['--set', 'workloads.enabled=false', '--set', `crds.install=${isFirst}`, ...settings];
  const rendered = await cluster.helm([
    'template',
    'davit',
    chart,
    '--namespace',
    'davit-system',
    '--no-hooks',
    ...given,
  ]);
  const wanted = new Map(documentsOf(rendered).map((text) => [nameOf(text), text]));
  const had = released.get(cluster) ?? new Map<string, string>();
  const isDefinition = (name: string): boolean => name.startsWith('CustomResourceDefinition ');
  const changed = [...wanted].filter(([name, text]) => had.get(name) !== text).map(([, text]) => text);
  const gone = [...had].filter(([name]) => !wanted.has(name) && !isDefinition(name)).map(([, text]) => text);
  if (isFirst) await cluster.kubectl(['create', 'namespace', 'davit-system']);
  const input = changed.join('---\n');
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
  if (gone.length > 0) await cluster.kubectl(['delete', '-f', '-'], { input: gone.join('---\n') });
  released.set(cluster, new Map([...had].filter(([name]) => isDefinition(name)).concat([...wanted])));
}

function nameOf(manifest: string): string {
  const [kind, name, namespace] = ['kind', ' {2}name', ' {2}namespace'].map(
    (field) => new RegExp(`^${field}: (.*)$`, 'm').exec(manifest)?.[1] ?? '',
  );
  return `${kind} ${namespace}/${name}`;
}

export function openDoor(cluster: Cluster): Door {
  const dispatcher = new Agent({ connect: { ca: cluster.ca } });
  return {
    async call(method, path, body, as) {
      const groups = as?.startsWith('system:serviceaccount:')
        ? ['system:serviceaccounts', 'system:authenticated']
        : ['system:authenticated'];
      const headers: [string, string][] = [
        ['authorization', `Bearer ${cluster.adminToken}`],
        ['content-type', method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'],
      ];
      if (as !== undefined)
        headers.push(
          ['impersonate-user', as],
          ...groups.map((group): [string, string] => ['impersonate-group', group]),
        );
      const response = await fetch(new URL(path, cluster.server), {
        method,
        headers,
        dispatcher,
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Readonly<Record<string, unknown>> & Status;
      return {
        status: response.status,
        message: answer.message ?? '',
        causes: answer.details?.causes ?? [],
        body: answer,
      };
    },
    close: () => dispatcher.close(),
  };
}

/** The smallest AppRevision. */
export function aRevision(name: string, deploymentName: string): object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: { name, labels: { 'davit.dev/deployment': deploymentName } },
    spec: {
      id: '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11',
      deploymentName,
      deploymentUid: '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c12',
      deploymentGeneration: 1,
      source: 'external_docker',
      requested: { sourceRevisionConfig: {}, secrets: [], secretReferences: [] },
      resolved: {
        contract: 1,
        pullPolicy: 'IfNotPresent',
        port: 8000,
        healthPath: '/ok',
        progressDeadlineSeconds: 600,
        server: { cpu: 1, cpuLimit: 2, memoryMb: 64, memoryLimitMb: 128, minScale: 1, maxScale: 1 },
        autoscaling: { cpuPercent: 75, memoryPercent: 75, scaleDownWindowSeconds: 1800 },
        waitImages: { postgres: 'a', redis: 'b' },
      },
    },
  };
}
