// What builds promise, held against what the registry was given and what the builds' namespace has seen.

import { FINAL_PHASES, isBegun } from '../../../src/kinds/build.ts';
import { isOfBuild } from './build-workloads.ts';
import { REGISTRY_HOST } from './build-world/registry.ts';
import { FILE_VARIABLE, valueAt } from './build-world/sources.ts';
import type { BuildsSeen, Run } from './evidence.ts';
import type { Sighting } from './object-history.ts';

interface Problem {
  readonly invariant: string;
  readonly what: string | undefined;
}

/** One problem at most of each kind; none where nothing is built. */
export function buildProblems(run: Run): readonly Problem[] {
  const { builds } = run;
  if (!builds) return [];
  return [
    { invariant: 'I1 converges', what: leavesItsEnd(run) ?? otherCommit(run) },
    { invariant: 'I4 no leak', what: run.stuck === undefined ? credentialsLeft(builds) : undefined },
    { invariant: 'I6 honest', what: otherImage(run, builds) ?? servesWhatWasNotBuilt(run, builds) ?? otherFile(run) },
    { invariant: 'I7 exactly once', what: twoJobs(builds) ?? tooMany(run, builds) },
    { invariant: 'I8 no secret elsewhere', what: builds.wrong[0] },
  ];
}

/** Lines of the end state: how many of what builds are made of are left. */
export function leftOfBuilds({ builds }: Run): readonly string[] {
  const left = (builds?.current ?? []).filter(({ object }) => isOfBuild(object));
  return [...Map.groupBy(left, ({ kind }) => kind)].map(([kind, group]) => `${kind} of builds × ${group.length}`);
}

/** Whether a write is of what a build fetches and pushes with: it goes, whatever it is, when the build has ended. */
export function isCredentialOfBuild(label: string): boolean {
  return / secrets build-ID-(source|push)#/.test(label);
}

function revisionsIn({ history }: Run): readonly Sighting[] {
  return history.filter(({ kind, gone }) => kind === 'AppRevision' && !gone);
}

function leavesItsEnd(run: Run): string | undefined {
  const ended = new Map<string, string>();
  for (const { object } of revisionsIn(run)) {
    const { phase } = object.status?.build ?? {};
    const before = ended.get(object.spec.id);
    if (before !== undefined && phase !== before)
      return `the build of ${object.metadata.name} was ${before} and became ${phase}`;
    if (FINAL_PHASES.has(phase)) ended.set(object.spec.id, phase);
  }
  return undefined;
}

/** What a revision was queued with is what it is built from. */
function otherCommit(run: Run): string | undefined {
  const known = new Map<string, string>();
  for (const { object } of revisionsIn(run)) {
    const commit = object.status?.build?.commit as string | undefined;
    const before = known.get(object.spec.id);
    if (before !== undefined && commit !== before)
      return `the build of ${object.metadata.name} was of ${before} and became one of ${commit}`;
    if (commit !== undefined) known.set(object.spec.id, commit);
  }
  return undefined;
}

function credentialsLeft({ current }: BuildsSeen): string | undefined {
  const left = current.find(({ kind, object }) => kind === 'Secret' && isOfBuild(object));
  return left && `Secret ${left.object.metadata.name} is left after the build`;
}

/** The digest of a build is the one that its own pod has pushed, or that of the build whose image it takes over. */
function otherImage(run: Run, { made }: BuildsSeen): string | undefined {
  for (const { object } of revisionsIn(run)) {
    const { phase, digest, image, builtBy, commit } = object.status?.build ?? {};
    if (phase !== 'Built') continue;
    const { name } = object.metadata;
    const own = made.filter(({ revision }) => revision === (builtBy ?? object.spec.id));
    const pushed = own.find((one) => one.digest === digest);
    if (!pushed)
      return `${name}: Built with ${digest}, its build pushed ${own.map((one) => one.digest).join() || 'none'}`;
    if (image !== `${REGISTRY_HOST}/${pushed.repository}@${digest}`) return `${name}: Built as ${image}`;
    if (commit !== undefined && commit !== pushed.source) return `${name}: of ${commit}, built from ${pushed.source}`;
  }
  return undefined;
}

/** A revision of a record that names a file has the values of the file at its commit, or is not built. */
function otherFile(run: Run): string | undefined {
  for (const { object } of revisionsIn(run)) {
    const { spec, status, metadata } = object;
    if (spec.requested?.sourceRevisionConfig?.davitFile === undefined) continue;
    const commit = (status?.build?.commit ?? spec.commit) as string | undefined;
    if (spec.file === undefined) return `${metadata.name}: made without the file of its commit ${commit}`;
    if (spec.file.failure !== undefined) {
      if (status?.build?.phase === 'Built') return `${metadata.name}: built, though its file is wrong`;
      continue;
    }
    const value = spec.requested.env?.find(({ name }: { name: string }) => name === FILE_VARIABLE)?.value;
    if (commit !== undefined && value !== valueAt(commit))
      return `${metadata.name}: of commit ${commit}, with the file that says "${value}"`;
  }
  return undefined;
}

/** No pod is given an image by a tag, of another deployment, or that nobody has pushed. */
function servesWhatWasNotBuilt({ history }: Run, { made }: BuildsSeen): string | undefined {
  for (const { kind, object, gone } of history) {
    if (kind !== 'Deployment' || gone) continue;
    const image = object.spec.template.spec.containers[0]?.image as string;
    const record = object.metadata.labels?.['davit.dev/deployment'];
    const isBuilt = made.some(
      ({ repository, digest }) =>
        image === `${REGISTRY_HOST}/${repository}@${digest}` && repository.endsWith(`/${record}`),
    );
    if (!isBuilt) return `Deployment ${object.metadata.name} runs ${image}, which was not built for it`;
  }
  return undefined;
}

function twoJobs({ history }: BuildsSeen): string | undefined {
  for (const kind of ['Job', 'Pod']) {
    const seen = new Map<string, string | undefined>();
    for (const { object } of history.filter((one) => one.kind === kind)) {
      const build = object.metadata.labels?.['davit.dev/build'] ?? object.metadata.name;
      if (seen.has(build) && seen.get(build) !== object.metadata.uid) return `two ${kind}s of the build of ${build}`;
      seen.set(build, object.metadata.uid);
    }
  }
  return undefined;
}

/** As the revisions say it, in the order in which it was written. */
function tooMany(run: Run, { limits }: BuildsSeen): string | undefined {
  const running = new Map<string, string>();
  for (const { kind, object, gone } of run.history) {
    if (kind !== 'AppRevision') continue;
    const { id } = object.spec;
    if (gone || !isBegun(object.status?.build)) running.delete(id);
    else running.set(id, object.metadata.name);
    if (running.size > Math.min(limits.total, limits.perTenant))
      return `${[...running.values()].join(' and ')} build at once`;
  }
  return undefined;
}
