// The workloads of builds: what a person, a branch and a code host do to records whose images are built.

import { pause } from '../../cluster/api-client.ts';
import { type BuildLimits, type BuildWorld, digestOf, type Script } from './build-world.ts';
import type { Seen } from './object-history.ts';
import { childIn, RECORD, SECOND, type Stage, until } from './workloads/stage.ts';

export const BUILD_WORKLOADS = [
  'builds',
  'builds-fail',
  'builds-turns',
  'builds-interrupt',
  'builds-delete',
  'builds-overdue',
] as const;
export type BuildWorkload = (typeof BUILD_WORKLOADS)[number];

export function isBuildWorkload(workload: string): workload is BuildWorkload {
  return (BUILD_WORKLOADS as readonly string[]).includes(workload);
}

/** The third one in `builds-turns`: of an upload. */
const THIRD = `${RECORD}-three`;
const MERGE = 'application/merge-patch+json';
/** One place, so that who waits and who runs is no matter of luck. */
const ONE: BuildLimits = { perTenant: 1, total: 1 };
const OVERDUE_SECONDS = 6;

export function worldFor(workload: BuildWorkload): { limits: BuildLimits; timeoutSeconds?: number } {
  return workload === 'builds-overdue' ? { limits: ONE, timeoutSeconds: OVERDUE_SECONDS } : { limits: ONE };
}

/** The ways in which the code host and the registry fail for good, and what the revision then says. */
const AILMENTS: readonly { readonly ails: Partial<BuildWorld['ails']>; readonly reason: string }[] = [
  { ails: { api: 401 }, reason: 'CodeHostRefused' },
  { ails: { git: 'down' }, reason: 'FetchFailed' },
  { ails: { git: 401 }, reason: 'CodeHostRefused' },
  { ails: { registry: 'down' }, reason: 'PushFailed' },
  { ails: { registry: 500 }, reason: 'PushFailed' },
  { ails: { registry: 401 }, reason: 'PushFailed' },
  { ails: { registry: 507 }, reason: 'PushFailed' },
];
const WELL: BuildWorld['ails'] = { api: undefined, git: undefined, registry: undefined };

export async function performBuilds(workload: BuildWorkload, stage: Stage, world: BuildWorld): Promise<void> {
  const { api, namespace, enter } = stage;
  const records = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;
  let serial = 0;

  const create = (name: string, spec: object): Promise<Seen> =>
    api.call<Seen>('POST', records, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace },
      spec,
    });
  const createOf = (name: string): Promise<Seen> =>
    create(name, {
      source: 'codehost',
      sourceConfig: { integrationId: world.integrationId, repoUrl: world.repoUrl(name) },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'Dockerfile' },
    });
  /** Asks for a new revision. */
  const again = (name: string = RECORD): Promise<Seen> => {
    serial += 1;
    return api.call<Seen>('PATCH', `${records}/${name}`, { spec: { revisionSerial: serial } }, MERGE);
  };
  const latest = (name: string): Seen | undefined =>
    stage.census
      .current(namespace)
      .filter(({ kind, object }) => kind === 'AppRevision' && object.spec.deploymentName === name)
      .map(({ object }) => object)
      .toSorted((a, b) => b.spec.deploymentGeneration - a.spec.deploymentGeneration)[0];
  /** What the newest generation's build says; nothing while that has no revision. */
  const buildOf = (name: string, asked: Seen): Seen['status'] => {
    const revision = latest(name);
    return revision?.spec.deploymentGeneration === asked.metadata.generation ? revision?.status?.build : undefined;
  };
  const untilBuild = (what: string, asked: Seen, phase: string, reason?: string): Promise<void> =>
    until(stage, `${what}: ${phase} ${reason ?? ''}`, () => {
      const build = buildOf(asked.metadata.name, asked);
      return build?.phase === phase && (reason === undefined || build.reason === reason);
    });
  const untilServes = (what: string, asked: Seen, source: string): Promise<void> =>
    until(stage, `${what}: Ready with what was built from ${source.slice(0, 12)}`, () => {
      const { name, uid, generation } = asked.metadata;
      const found = childIn(stage, 'AppDeployment', name);
      const ready = (found?.status?.conditions ?? []) as { type: string; status: string }[];
      return (
        found?.metadata.uid === uid &&
        found?.metadata.generation === generation &&
        found?.status?.observedGeneration === generation &&
        ready.some(({ type, status }) => type === 'Ready' && status === 'True') &&
        imageOf(stage, name)?.endsWith(`@${digestOf(name, source)}`) === true
      );
    });
  /** A build that fails, while what served goes on serving. */
  const fails = async (
    what: string,
    reason: string,
    source: string,
    during?: (asked: Seen) => Promise<void>,
  ): Promise<void> => {
    const before = podsOf(stage);
    const asked = await again();
    await during?.(asked);
    await untilBuild(what, asked, 'Failed', reason);
    await until(stage, `${what}: the record says so`, () => {
      const found = childIn(stage, 'AppDeployment', RECORD);
      const conditions = (found?.status?.conditions ?? []) as { type: string; status: string; reason: string }[];
      return (
        found?.status?.observedGeneration === asked.metadata.generation &&
        conditions.some((one) => one.type === 'Ready' && one.status === 'False' && one.reason === 'BuildFailed')
      );
    });
    await until(
      stage,
      `${what}: what served goes on serving`,
      () => imageOf(stage)?.endsWith(digestOf(RECORD, source)) === true && podsOf(stage) === before,
    );
  };
  const served = async (what: string, script: Script = 'builds'): Promise<string> => {
    const commit = world.push(RECORD, script);
    await untilServes(what, await again(), commit);
    return commit;
  };

  enter('create');
  if (workload === 'builds-turns') {
    const held = world.push(RECORD, 'is held, then fails');
    const first = await createOf(RECORD);
    await untilBuild('turns: the first builds', first, 'Building');
    enter(workload);
    const waits = world.push(SECOND, 'builds');
    const second = await createOf(SECOND);
    await until(stage, 'turns: the second waits', () => {
      const build = buildOf(SECOND, second);
      return build?.phase === 'Queued' && build.commit === waits;
    });
    // Its branch moves on: what is built is the commit that it was queued with.
    world.push(SECOND, 'builds');
    const upload = world.upload('builds');
    const third = await create(THIRD, {
      source: 'internal_source',
      sourceConfig: {},
      sourceRevisionConfig: { sourceTarballPath: upload, workflowConfigPath: 'davit.json' },
    });
    await untilBuild('turns: the third waits', third, 'Queued');
    world.release();
    await untilBuild(`turns: the first fails (${held.slice(0, 8)})`, first, 'Failed', 'StepFailed');
    await untilServes('turns: the second', second, waits);
    await untilServes('turns: the third', third, upload);
    await served('turns: the first, corrected');
    return;
  }
  const first = world.push(RECORD, 'builds');
  await untilServes('create', await createOf(RECORD), first);
  enter(workload);
  switch (workload) {
    case 'builds': {
      const second = await served('another commit');
      // The same source again: its image is there.
      await untilServes('the same commit', await again(), second);
      world.push(RECORD, 'step fails');
      await fails('a step that fails', 'StepFailed', second);
      await served('corrected');
      return;
    }
    case 'builds-fail': {
      for (const { ails, reason } of AILMENTS) {
        Object.assign(world.ails, ails);
        world.push(RECORD, 'builds');
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await fails(JSON.stringify(ails), reason, first);
        Object.assign(world.ails, WELL);
      }
      world.push(RECORD, 'plan fails');
      await fails('no configuration file', 'ConfigurationMissing', first);
      world.push(RECORD, 'never ends');
      await fails('a Job that somebody deletes', 'BuilderGone', first, async (asked) => {
        await untilBuild('it builds', asked, 'Building');
        const jobs = `/apis/batch/v1/namespaces/${world.namespace}/jobs`;
        await api.call('DELETE', `${jobs}/${buildOf(RECORD, asked).job}?propagationPolicy=Background`);
      });
      Object.assign(world.ails, { git: 'slow', registry: 'slow' });
      await served('slow servers');
      return;
    }
    case 'builds-interrupt': {
      world.push(RECORD, 'never ends');
      const asked = await again();
      await untilBuild('interrupt: it builds', asked, 'Building');
      const annotate = (id: string | null): Promise<unknown> =>
        api.call('PATCH', `${records}/${RECORD}`, { metadata: { annotations: { 'davit.dev/interrupt': id } } }, MERGE);
      await annotate(latest(RECORD)?.spec.id);
      await untilBuild('interrupt', asked, 'Interrupted');
      await until(stage, 'interrupt: its Job is gone', () => jobsIn(stage, world).length === 1);
      await annotate(null);
      // It would have begun again by now.
      await pause(700);
      await served('interrupt: another commit');
      return;
    }
    case 'builds-delete': {
      world.push(RECORD, 'never ends');
      await untilBuild('delete: it builds', await again(), 'Building');
      await api.call('DELETE', `${records}/${RECORD}`);
      await until(stage, 'delete: gone, and nothing is left of its builds', () => {
        const left = stage.census.current(world.namespace).filter(({ object }) => isOfBuild(object));
        return childIn(stage, 'AppDeployment', RECORD) === undefined && left.length === 0;
      });
      return;
    }
    case 'builds-overdue': {
      world.push(RECORD, 'never ends');
      await fails('overdue', 'TimedOut', first);
      await served('overdue: another commit');
      return;
    }
    default:
      workload satisfies never;
  }
}

/** Of the main service, as its Deployment has it. */
function imageOf(stage: Stage, name: string = RECORD): string | undefined {
  return childIn(stage, 'Deployment', name)?.spec.template.spec.containers[0]?.image as string | undefined;
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

function jobsIn({ census }: Stage, world: BuildWorld): readonly Seen[] {
  return census
    .current(world.namespace)
    .filter(({ kind }) => kind === 'Job')
    .map(({ object }) => object);
}

/** Not what the namespace has once. */
export function isOfBuild({ metadata }: Seen): boolean {
  return /^build-[0-9a-f]{8}-/.test(metadata.name);
}
