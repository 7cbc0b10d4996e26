// The workloads of builds: what a person, a branch and a code host do to records whose images are built.

import { pause } from '../../cluster/api-client.ts';
import { type BuildActs, buildOf, latestOf, makeBuildActs } from './build-workloads/acts.ts';
import { notices } from './build-workloads/notices.ts';
import type { FileScript } from './build-world/sources.ts';
import type { BuildLimits, BuildWorld, BuildWorldOptions } from './build-world.ts';
import type { Seen } from './object-history.ts';
import { childIn, MERGE, RECORD, SECOND, type Stage, until } from './workloads/stage.ts';

export const BUILD_WORKLOADS = [
  'builds',
  'builds-fail',
  'builds-turns',
  'builds-interrupt',
  'builds-delete',
  'builds-overdue',
  'builds-file',
  'builds-notices',
] as const;
export type BuildWorkload = (typeof BUILD_WORKLOADS)[number];

export function isBuildWorkload(workload: string): workload is BuildWorkload {
  return (BUILD_WORKLOADS as readonly string[]).includes(workload);
}

/** The third one in `builds-turns`: of an upload. */
const THIRD = `${RECORD}-three`;
/** One turn, so that who waits and who runs is no matter of luck. */
const ONE: BuildLimits = { perTenant: 1, total: 1 };
const OVERDUE_SECONDS = 6;

export function worldFor(workload: BuildWorkload): BuildWorldOptions {
  return {
    limits: ONE,
    ...(workload === 'builds-overdue' && { timeoutSeconds: OVERDUE_SECONDS }),
    hasNeighbour: workload === 'builds-notices',
  };
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
/** Files that give nothing, and what the code host answers instead of one. Each fails its revision at once. */
const WRONG_FILES: readonly { readonly file?: FileScript; readonly ails?: 401; readonly reason: string }[] = [
  { file: 'missing', reason: 'FileInvalid' },
  { file: 'too large', reason: 'FileInvalid' },
  { file: 'no text', reason: 'FileInvalid' },
  { file: 'not valid', reason: 'FileInvalid' },
  { ails: 401, reason: 'CodeHostRefused' },
];
/** What the code host does instead of answering with a file. Each delays the revision until it is over. */
const UNREAD = ['down', 500, 'garbled'] as const;
const WELL: BuildWorld['ails'] = { api: undefined, file: undefined, git: undefined, registry: undefined };

export async function performBuilds(workload: BuildWorkload, stage: Stage, world: BuildWorld): Promise<void> {
  const acts = makeBuildActs(stage, world);
  stage.enter('create');
  if (workload === 'builds-turns') return turns(acts);
  const first = world.push(RECORD, 'builds');
  const more = workload === 'builds-file' ? { davitFile: 'davit.yaml' } : {};
  await acts.untilServes('create', await acts.createOf(RECORD, more), first);
  stage.enter(workload);
  await SERVED[workload](acts, first);
}

type Phase = (acts: BuildActs, first: string) => Promise<void>;

/** Their record serves what was built from its first commit. */
const SERVED: Readonly<Record<Exclude<BuildWorkload, 'builds-turns'>, Phase>> = {
  builds,
  'builds-fail': fail,
  'builds-interrupt': interrupt,
  'builds-delete': remove,
  'builds-overdue': overdue,
  'builds-file': file,
  'builds-notices': notices,
};

async function turns(acts: BuildActs): Promise<void> {
  const { stage, world } = acts;
  const { enter } = stage;
  const held = world.push(RECORD, 'is held, then fails');
  const first = await acts.createOf(RECORD);
  await acts.untilBuild('turns: the first builds', first, 'Building');
  enter('builds-turns');
  const waits = world.push(SECOND, 'builds');
  const second = await acts.createOf(SECOND);
  await until(stage, 'turns: the second waits', () => {
    const build = buildOf(stage, second);
    return build?.phase === 'Queued' && build.commit === waits;
  });
  // Its branch moves on: what is built is the commit that it was queued with.
  world.push(SECOND, 'builds');
  const upload = world.upload('builds');
  const third = await acts.create(THIRD, {
    source: 'internal_source',
    sourceConfig: {},
    sourceRevisionConfig: { sourceTarballPath: upload, workflowConfigPath: 'davit.json' },
  });
  await acts.untilBuild('turns: the third waits', third, 'Queued');
  world.release();
  await acts.untilBuild(`turns: the first fails (${held.slice(0, 8)})`, first, 'Failed', 'StepFailed');
  await acts.untilServes('turns: the second', second, waits);
  await acts.untilServes('turns: the third', third, upload);
  await acts.served('turns: the first, corrected');
}

async function builds(acts: BuildActs): Promise<void> {
  const { world } = acts;
  const second = await acts.served('another commit');
  // The same source again: its image is there.
  await acts.untilServes('the same commit', await acts.again(), second);
  world.push(RECORD, 'step fails');
  await acts.fails('a step that fails', 'StepFailed', second);
  await acts.served('corrected');
}

async function fail(acts: BuildActs, first: string): Promise<void> {
  const { stage, world } = acts;
  for (const { ails, reason } of AILMENTS) {
    Object.assign(world.ails, ails);
    world.push(RECORD, 'builds');
    await acts.fails(JSON.stringify(ails), reason, first);
    Object.assign(world.ails, WELL);
  }
  world.push(RECORD, 'plan fails');
  await acts.fails('no configuration file', 'ConfigurationMissing', first);
  world.push(RECORD, 'never ends');
  await acts.fails('a Job that somebody deletes', 'BuilderGone', first, async (asked) => {
    await acts.untilBuild('it builds', asked, 'Building');
    const jobs = `/apis/batch/v1/namespaces/${world.namespace}/jobs`;
    await stage.api.call('DELETE', `${jobs}/${buildOf(stage, asked).job}?propagationPolicy=Background`);
  });
  Object.assign(world.ails, { git: 'slow', registry: 'slow' });
  await acts.served('slow servers');
}

async function interrupt(acts: BuildActs): Promise<void> {
  const { stage, world, records } = acts;
  const { api } = stage;
  world.push(RECORD, 'never ends');
  const asked = await acts.again();
  await acts.untilBuild('interrupt: it builds', asked, 'Building');
  const annotate = (id: string | null): Promise<unknown> =>
    api.call('PATCH', `${records}/${RECORD}`, { metadata: { annotations: { 'davit.dev/interrupt': id } } }, MERGE);
  await annotate(latestOf(stage, RECORD)?.spec.id);
  await acts.untilBuild('interrupt', asked, 'Interrupted');
  await until(stage, 'interrupt: its Job is gone', () => jobsIn(stage, world).length === 1);
  await annotate(null);
  // It would have begun again by now.
  await pause(700);
  await acts.served('interrupt: another commit');
}

async function remove(acts: BuildActs): Promise<void> {
  const { stage, world, records } = acts;
  world.push(RECORD, 'never ends');
  await acts.untilBuild('delete: it builds', await acts.again(), 'Building');
  await stage.api.call('DELETE', `${records}/${RECORD}`);
  await until(stage, 'delete: gone, and nothing is left of its builds', () => {
    const left = stage.census.current(world.namespace).filter(({ object }) => isOfBuild(object));
    return childIn(stage, 'AppDeployment', RECORD) === undefined && left.length === 0;
  });
}

async function overdue(acts: BuildActs, first: string): Promise<void> {
  const { world } = acts;
  world.push(RECORD, 'never ends');
  await acts.fails('overdue', 'TimedOut', first);
  await acts.served('overdue: another commit');
}

async function file(acts: BuildActs, first: string): Promise<void> {
  const { stage, world, records } = acts;
  for (const { file: script, ails, reason } of WRONG_FILES) {
    world.ails.file = ails;
    world.push(RECORD, 'builds', script);
    await acts.fails(`a file: ${script ?? ails}`, reason, first);
    world.ails.file = undefined;
  }
  let served = first;
  for (const ails of UNREAD) {
    world.ails.file = ails;
    served = world.push(RECORD, 'builds');
    const asked = await acts.again();
    await until(stage, `a file: ${ails}: the record says that it waits`, () => isUnread(stage, asked));
    world.ails.file = undefined;
    await acts.untilServesFile(`a file: ${ails}, then well`, asked, served);
  }
  // The branch moves on before the file is read: it is that of the commit that is built.
  world.ails.file = 'slow';
  served = world.push(RECORD, 'builds');
  const asked = await acts.again();
  await until(stage, 'a file: its commit is known', () => world.isTold(served));
  world.push(RECORD, 'builds');
  await acts.untilServesFile('a file: the branch moves on', asked, served);
  // The commit stays, and so does its file: nobody is asked.
  world.ails.file = 'down';
  const resourceSpec = { cpu: 0.3 };
  const resized = await stage.api.call<Seen>(
    'PATCH',
    `${records}/${RECORD}`,
    { spec: { sourceConfig: { resourceSpec } } },
    MERGE,
  );
  await acts.untilServesFile('a file: other sizes', resized, served);
  world.ails.file = undefined;
}

function isUnread(stage: Stage, { metadata }: Seen): boolean {
  const { status } = childIn(stage, 'AppDeployment', RECORD) ?? {};
  const conditions = (status?.conditions ?? []) as { reason: string; message: string }[];
  return (
    status?.observedGeneration === metadata.generation &&
    conditions.some(({ reason, message }) => reason === 'FileUnread' && message.includes('cannot be read yet'))
  );
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
