// The API server's own answers, as anybody: what a record's author with kubectl would be told.

import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import type { Cluster } from '../../../cluster/cluster.ts';

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

/**
 * Installs the chart without its workloads, or changes the release. The definitions come with the first one: to compare them with what is
 * there takes Helm longer than all the rest.
 */
export function releaseChart(
  { helm }: Pick<Cluster, 'helm'>,
  { isFirst = false, settings = [] }: { readonly isFirst?: boolean; readonly settings?: readonly string[] } = {},
): Promise<string> {
  const given = ['--set', 'workloads.enabled=false', '--set', `crds.install=${isFirst}`, ...settings];
  const namespace = ['--namespace', 'davit-system', '--create-namespace'];
  return helm(['upgrade', '--install', 'davit', chart, ...namespace, ...given]);
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
