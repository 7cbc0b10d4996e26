// What the workloads of builds do to their records, and what they wait for.

import { digestOf } from '../build-world/registry.ts';
import { FILE_VARIABLE, valueAt } from '../build-world/sources.ts';
import type { BuildWorld } from '../build-world.ts';
import type { Seen } from '../object-history.ts';
import { childIn, MERGE, RECORD, type Stage, until } from '../workloads/stage.ts';

interface Variable {
  readonly name: string;
  readonly value?: string;
}

export interface BuildActs {
  readonly stage: Stage;
  readonly world: BuildWorld;
  /** The path of the records. */
  readonly records: string;
  create(name: string, spec: object): Promise<Seen>;
  /** Of the repository of the same name. `more`: of sourceRevisionConfig. */
  createOf(name: string, more?: object): Promise<Seen>;
  /** Asks for a new revision. */
  again(): Promise<Seen>;
  untilBuild(what: string, asked: Seen, phase: string, reason?: string): Promise<void>;
  untilServes(what: string, asked: Seen, source: string): Promise<void>;
  /** Ready with what was built from the commit, and with the variable of its file. */
  untilServesFile(what: string, asked: Seen, commit: string): Promise<void>;
  /** A build that fails, while what served goes on serving. */
  fails(what: string, reason: string, source: string, during?: (asked: Seen) => Promise<void>): Promise<void>;
  /** Builds another commit, with which it answers. */
  served(what: string): Promise<string>;
}

export function makeBuildActs(stage: Stage, world: BuildWorld): BuildActs {
  const { api, namespace } = stage;
  const records = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;
  let serial = 0;
  return {
    stage,
    world,
    records,
    create: (name, spec) =>
      api.call<Seen>('POST', records, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name, namespace },
        spec,
      }),
    createOf(name, more) {
      return this.create(name, {
        source: 'codehost',
        sourceConfig: { integrationId: world.integrationId, repoUrl: world.repoUrl(name) },
        sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'Dockerfile', ...more },
      });
    },
    again() {
      serial += 1;
      return api.call<Seen>('PATCH', `${records}/${RECORD}`, { spec: { revisionSerial: serial } }, MERGE);
    },
    untilBuild: (what, asked, phase, reason) =>
      until(stage, `${what}: ${phase} ${reason ?? ''}`, () => {
        const build = buildOf(stage, asked);
        return build?.phase === phase && (reason === undefined || build.reason === reason);
      }),
    untilServes: (what, asked, source) =>
      until(stage, `${what}: Ready with what was built from ${source.slice(0, 12)}`, () =>
        serves(stage, asked, source),
      ),
    untilServesFile: (what, asked, commit) =>
      until(
        stage,
        `${what}: Ready with commit ${commit.slice(0, 12)} and its file`,
        () => serves(stage, asked, commit) && variableOf(stage) === valueAt(commit),
      ),
    async fails(what, reason, source, during) {
      const before = podsOf(stage);
      const asked = await this.again();
      await during?.(asked);
      await this.untilBuild(what, asked, 'Failed', reason);
      await until(stage, `${what}: the record says so`, () => saysBuildFailed(stage, asked));
      await until(
        stage,
        `${what}: what served goes on serving`,
        () => imageOf(stage)?.endsWith(digestOf(RECORD, source)) === true && podsOf(stage) === before,
      );
    },
    async served(what) {
      const commit = world.push(RECORD, 'builds');
      await this.untilServes(what, await this.again(), commit);
      return commit;
    },
  };
}

/** The record's newest revision. */
export function latestOf({ census, namespace }: Stage, name: string): Seen | undefined {
  return census
    .current(namespace)
    .filter(({ kind, object }) => kind === 'AppRevision' && object.spec.deploymentName === name)
    .map(({ object }) => object)
    .toSorted((a, b) => b.spec.deploymentGeneration - a.spec.deploymentGeneration)[0];
}

/** What the build of the generation that was asked for says; nothing while that has no revision. */
export function buildOf(stage: Stage, { metadata: { name, generation } }: Seen): Seen['status'] {
  const revision = latestOf(stage, name);
  return revision?.spec.deploymentGeneration === generation ? revision?.status?.build : undefined;
}

/** Ready, with the image of this source. */
function serves(stage: Stage, { metadata: { name, uid, generation } }: Seen, source: string): boolean {
  const found = childIn(stage, 'AppDeployment', name);
  const ready = (found?.status?.conditions ?? []) as { type: string; status: string }[];
  return (
    found?.metadata.uid === uid &&
    found?.metadata.generation === generation &&
    found?.status?.observedGeneration === generation &&
    ready.some(({ type, status }) => type === 'Ready' && status === 'True') &&
    imageOf(stage, name)?.endsWith(`@${digestOf(name, source)}`) === true
  );
}

function saysBuildFailed(stage: Stage, asked: Seen): boolean {
  const found = childIn(stage, 'AppDeployment', RECORD);
  const conditions = (found?.status?.conditions ?? []) as { type: string; status: string; reason: string }[];
  return (
    found?.status?.observedGeneration === asked.metadata.generation &&
    conditions.some((one) => one.type === 'Ready' && one.status === 'False' && one.reason === 'BuildFailed')
  );
}

/** Of the main service, as its Deployment has it. */
function imageOf(stage: Stage, name: string = RECORD): string | undefined {
  return childIn(stage, 'Deployment', name)?.spec.template.spec.containers[0]?.image as string | undefined;
}

/** What the pods of the main service have of the file. */
function variableOf(stage: Stage): string | undefined {
  const env = (childIn(stage, 'Deployment', RECORD)?.spec.template.spec.containers[0]?.env ?? []) as Variable[];
  return env.find(({ name }) => name === FILE_VARIABLE)?.value;
}

/** The pods of the main service, by their uids. */
function podsOf({ census, namespace }: Stage): string {
  const pods = census
    .current(namespace)
    .filter(({ kind, object }) => kind === 'Pod' && object.metadata.labels?.['davit.dev/component'] === 'server');
  return pods
    .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    .map(({ object }) => object.metadata.uid ?? '')
    .toSorted()
    .join();
}
