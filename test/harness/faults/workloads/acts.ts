// What a workload does to its record, and what the record of each is made with.

import type { ApiClient } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import { hasCondition, MERGE, RECORD, record, recordIn, type Stage, until } from './stage.ts';

export interface Acts {
  readonly stage: Stage;
  readonly api: ApiClient;
  readonly namespace: string;
  /** Of collections in the namespace. */
  readonly paths: Readonly<Record<'records' | 'services' | 'secrets' | 'deployments' | 'pods' | 'jobs', string>>;
  create(): Promise<void>;
  /** As another deployment of the name, which asks for this too. */
  again(annotations: Readonly<Record<string, string>>): Promise<void>;
  /** Merges into the record's spec, and in the same write into its annotations. */
  change(spec: object, annotations?: Readonly<Record<string, string | null>>): Promise<void>;
  /** The record as another client's write was answered. */
  ask(answer: Seen): void;
  /** The record as it was answered last: the census may still be behind it. */
  asked(): Seen | undefined;
  /** Throws NotConverged. */
  untilReady(what: string): Promise<void>;
}

/** `first`: what the record has from the beginning, and the Secret that it names. */
export function makeActs(
  stage: Stage,
  first: { readonly spec?: object | undefined; readonly secret?: object | undefined },
): Acts {
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
      if (first.secret) await api.call('POST', paths.secrets, first.secret);
      asked = await api.call<Seen>('POST', paths.records, record(namespace, first.spec));
    },
    async again(annotations) {
      const next = record(namespace, first.spec) as { readonly metadata: object };
      asked = await api.call<Seen>('POST', paths.records, { ...next, metadata: { ...next.metadata, annotations } });
    },
    async change(spec, annotations) {
      const patch = { spec, ...(annotations && { metadata: { annotations } }) };
      asked = await api.call<Seen>('PATCH', `${paths.records}/${RECORD}`, patch, MERGE);
    },
    ask(answer) {
      asked = answer;
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
