// What a workload does to its record, and what the record of each is made with.

import type { ApiClient } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import type { WorkloadName } from '../plans.ts';
import { CLEAN } from './parts.ts';
import { hasCondition, MERGE, RECORD, record, recordIn, SECOND, type Stage, until } from './stage.ts';
import { OUTSIDE } from './stores.ts';
import { OWN_SECRET, referencesTo, SHARED, secretOfValues } from './values.ts';

export interface Acts {
  readonly stage: Stage;
  readonly api: ApiClient;
  readonly namespace: string;
  /** Of collections in the namespace. */
  readonly paths: Readonly<Record<'records' | 'services' | 'secrets' | 'deployments' | 'pods' | 'jobs', string>>;
  create(): Promise<void>;
  /** Merges into the record's spec. */
  change(spec: object): Promise<void>;
  /** The record as it was answered last: the census may still be behind it. */
  asked(): Seen | undefined;
  /** Throws NotConverged. */
  untilReady(what: string): Promise<void>;
}

export function makeActs(workload: WorkloadName, stage: Stage): Acts {
  const { api, namespace } = stage;
  const core = `/api/v1/namespaces/${namespace}`;
  const paths = {
    records: `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`,
    services: `${core}/services`,
    secrets: `${core}/secrets`,
    deployments: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    pods: `${core}/pods`,
    jobs: `/apis/batch/v1/namespaces/${namespace}/jobs`,
  };
  let asked: Seen | undefined;
  return {
    stage,
    api,
    namespace,
    paths,
    async create() {
      const secret = SECRETS[workload];
      if (secret) await api.call('POST', paths.secrets, secret);
      asked = await api.call<Seen>('POST', paths.records, record(namespace, SPECS[workload]));
    },
    async change(spec) {
      asked = await api.call<Seen>('PATCH', `${paths.records}/${RECORD}`, { spec }, MERGE);
    },
    asked: () => asked,
    untilReady: (what) =>
      until(stage, `${what}: Ready at the newest generation`, () => {
        const found = recordIn(stage);
        return (
          found?.metadata.uid === asked?.metadata.uid &&
          found?.metadata.generation === asked?.metadata.generation &&
          found?.status?.observedGeneration === asked?.metadata.generation &&
          hasCondition(stage, 'Ready', 'Serving')
        );
      }),
  };
}

/** Secrets that the records of some workloads name from the beginning. */
const SECRETS: Readonly<Partial<Record<WorkloadName, object>>> = {
  rotate: secretOfValues(1),
  pair: secretOfValues(1, SHARED, SECOND),
  referenced: OWN_SECRET,
  external: OUTSIDE,
};

/** What the records of some workloads have from the beginning. */
const SPECS: Readonly<Partial<Record<WorkloadName, object>>> = {
  rotate: { secrets: referencesTo(1), revisionSerial: 1 },
  pair: { secrets: referencesTo(1, SHARED) },
  referenced: { secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }] },
  autoscaled: { sourceConfig: { resourceSpec: { minScale: 1, maxScale: 3 } } },
  workers: {
    sourceConfig: {
      runtime: { workers: { mailer: { command: ['mail'] }, scheduler: { command: ['tick'], singleton: true } } },
    },
  },
  tasks: { sourceConfig: { tasks: [CLEAN] } },
  migrated: {
    sourceConfig: {
      runtime: {
        migrate: { command: ['up'] },
        envNames: { DB_NAME: 'postgres_database', DB_PASSWORD: 'postgres_password' },
      },
    },
  },
};
