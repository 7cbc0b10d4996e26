// What a revision is built from: whether it is built at all, and whether two revisions would be built from the same.

import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision, Requested } from '../../kinds/app-revision.ts';
import type { CommitWords } from '../../kinds/build.ts';
import { imagesOf } from '../../kinds/registry-images.ts';
import type { Settings } from '../../kinds/settings.ts';
import { mayBeBuilt, uses } from '../../kinds/source-rules.ts';
import { imageIn, type RegistrySettings } from './registry-names.ts';

/** Whether images are built here at all: there is a registry for them, and what builds them. */
export function canBuild({ builds }: Pick<Settings, 'builds'>): boolean {
  return builds.registry !== undefined && builds.images.builder !== undefined && builds.images.davit !== undefined;
}

/** Whether the revision's image is made by a build, and not given or taken over. */
export function isBuilt({ spec }: Pick<AppRevision, 'spec'>): boolean {
  return spec.resolved.image === undefined;
}

/** Whether an image of the record is in the platform's registry: it is built or pushed there, or named there, such as one of `base/`. */
export function usesRegistry(spec: Readonly<AppDeploymentSpec>, registry: Pick<RegistrySettings, 'host'>): boolean {
  const { source, sourceRevisionConfig } = spec;
  const isBuilt = sourceRevisionConfig.imageUri === undefined && mayBeBuilt(source);
  if (isBuilt || uses(source, 'push')) return true;
  return Array.from(imagesOf(spec)).some(({ image }) => imageIn(registry, image) !== undefined);
}

/** Whether both ask for the same to be built; what a branch means may have changed since. */
export function sameBuildRequested(a: Readonly<Requested>, b: Readonly<Requested>): boolean {
  const [one, other] = [a, b].map(({ sourceRevisionConfig }) => sourceRevisionConfig.davitFile);
  return one === other && JSON.stringify(asked(a)) === JSON.stringify(asked(b));
}

/** A commit as its code host shows it. */
export interface Commit extends CommitWords {
  /** 40 or 64 hexadecimal digits. */
  readonly commit: string;
}

/** What the commit of a revision says of itself, as far as it is known. */
export function commitWordsOf({ spec, status }: Pick<AppRevision, 'spec' | 'status'>): CommitWords {
  const { commitAuthor, commitMessage } = status?.build?.commit === undefined ? spec : status.build;
  return {
    ...(commitAuthor !== undefined && { commitAuthor }),
    ...(commitMessage !== undefined && { commitMessage }),
  };
}

/** The commit of a revision, as far as it is known. */
export function commitOf({ spec, status }: Pick<AppRevision, 'spec' | 'status'>): string | undefined {
  return status?.build?.commit ?? spec.commit;
}

/** Whether the code host has to say which commit is built. */
export function lacksCommit({ spec }: Pick<AppDeployment, 'spec'>, revision: AppRevision): boolean {
  return uses(spec.source, 'integration') && commitOf(revision) === undefined;
}

/**
 * Whether both are built from the same bytes by the same commands. For a repository this compares the commits, for an upload
 * the path, which is never reused.
 */
export function sameBuild(a: AppRevision, b: AppRevision): boolean {
  const [one, other] = [a.spec.requested, b.spec.requested];
  const [commit, otherCommit] = [commitOf(a), commitOf(b)];
  const { sourceTarballPath: upload } = one.sourceRevisionConfig;
  if (upload === undefined && (commit === undefined || commit !== otherCommit)) return false;
  return JSON.stringify(asked(one, 'bytes')) === JSON.stringify(asked(other, 'bytes'));
}

/** Of `bytes` the branch does not matter: the commit says what they are. */
function asked({ sourceRevisionConfig, installCommand, buildCommand }: Readonly<Requested>, what?: 'bytes'): unknown[] {
  const { repoRef, workflowConfigPath, sourceTarballPath, imageUri } = sourceRevisionConfig;
  return [
    what === 'bytes' ? null : repoRef,
    workflowConfigPath,
    sourceTarballPath,
    imageUri,
    installCommand?.trim() || null,
    buildCommand?.trim() || null,
  ];
}
