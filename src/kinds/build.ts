// What is said of a build: its phases, why it can fail and what to do then. docs/reasons.md is made from this table.

import { z } from 'zod';
import { LONGEST_USERNAME } from './meta.ts';
import { integer, Time, text, Uuid } from './primitives.ts';

/** The life of a build, in its order, then how it can end otherwise. */
export const BUILD_PHASES = [
  'Queued',
  'AwaitingBuild',
  'Building',
  'Built',
  'Failed',
  'Skipped',
  'Interrupted',
] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

interface BuildReasonMeaning {
  readonly meaning: string;
  readonly todo: string;
}

const NEW_REVISION = 'then create a new revision';

/** Why a build is where it is. Those of the plan step are in build/planner/failure.ts: they come as the pod says them. */
export const BUILD_REASONS = {
  WaitingForTurn: {
    meaning: 'The build is queued and waits for its turn.',
    todo: 'Wait. If the message names the limit of a tenant, interrupt another build of the namespace. The setting builds.concurrency has the limits.',
  },
  ReadingCommit: {
    meaning: 'The build is queued, and Davit is reading the commit of the ref from the code host.',
    todo: 'Wait. A code host that does not answer is reported as CodeHostUnreachable.',
  },
  SameSourceBuilding: {
    meaning: 'The build is queued: another revision builds the same source, and this one will use its image.',
    todo: 'Wait for the build of the revision that the message names, or interrupt it.',
  },
  Paused: {
    meaning: 'The build is queued. No build starts while the deployment or Davit is paused.',
    todo: 'Read the message of Ready, which names the pause and how to continue.',
  },
  PodStarting: {
    meaning: 'The build pod is being started.',
    todo: 'Wait. If it persists, check the pod that the message names.',
  },
  Fetching: { meaning: 'The source is being fetched.', todo: 'Wait.' },
  Planning: { meaning: 'The configuration file is being turned into a Dockerfile.', todo: 'Wait.' },
  Running: {
    meaning: 'The image is being built and pushed.',
    todo: 'Wait. kubectl davit logs NAME --build, or build_logs of the HTTP API, shows its progress.',
  },
  ImageBuilt: { meaning: 'The image was built and pushed.', todo: 'Nothing.' },
  ImageReused: {
    meaning: 'The same source was built before with the same commands: that image is used.',
    todo: 'Nothing.',
  },
  Superseded: { meaning: 'A newer revision replaced this one before the build ended.', todo: 'Nothing.' },
  InterruptedByUser: {
    meaning: 'A person interrupted the build.',
    todo: 'Create a new revision to build again.',
  },
  CodeHostUnreachable: {
    meaning: 'The code host does not answer, or limits requests. Davit retries.',
    todo: 'Wait. If it persists, check the integration and settings.codeHosts.',
  },
  CodeHostRefused: {
    meaning: "The code host refuses the integration's credentials.",
    todo: `Renew the credentials in the integration's Secret, ${NEW_REVISION}.`,
  },
  IntegrationNotFound: {
    meaning: 'The integration does not exist, does not list the tenant, or the repository is on another host.',
    todo: `Ask the platform team to list the namespace among the integration's tenants, ${NEW_REVISION}.`,
  },
  RepositoryNotFound: {
    meaning: "The repository does not exist, or the integration's account cannot see it.",
    todo: `Check repo_url, and that the integration's account may read it, ${NEW_REVISION}.`,
  },
  RefNotFound: {
    meaning: 'The repository has no such branch, tag or commit, or it is empty.',
    todo: 'Set repo_ref to an existing one.',
  },
  FileInvalid: {
    meaning: 'The file that davit_file names is missing at the commit of the revision, or not valid.',
    todo: `Correct the line that the message names and push, or change the deployment, ${NEW_REVISION}. Without davit_file the file is not read.`,
  },
  FetchFailed: {
    meaning: 'The source could not be fetched.',
    todo: `Read the message; check the repository and that the builder's pods may reach its host, ${NEW_REVISION}.`,
  },
  SourceInvalid: {
    meaning:
      'The uploaded source is not a gzip-compressed tar archive, is truncated, or contains entries that a source must not contain.',
    todo: 'Upload it again as a tar archive with gzip that has only files and folders, no links that lead out of it, and no ..',
  },
  SourceTooLarge: {
    meaning: 'The source is larger than the platform allows once it is unpacked.',
    todo: 'Leave out generated files, or ask the platform team to raise settings.builds.workspaceMb.',
  },
  SourceGone: { meaning: 'The uploaded source is no longer in the registry.', todo: 'Upload it again.' },
  PlanFailed: {
    meaning: 'The configuration file could not be turned into a Dockerfile.',
    todo: 'Correct what the message names; docs/builds.md lists the keys and the reasons of the plan step.',
  },
  BaseImageNotFound: {
    meaning: 'A base image of the Dockerfile does not exist, or may not be pulled.',
    todo: 'Correct the image that the message names, or ask the platform team to mirror it.',
  },
  BaseImageUnreachable: {
    meaning: 'The registry of a base image does not answer.',
    todo: `Use another image, or ask the platform team to mirror it or to allow builds to reach the host in the message (settings.builds.egress, settings.proxy), ${NEW_REVISION}.`,
  },
  StepFailed: {
    meaning: 'An instruction of the Dockerfile failed.',
    todo: 'Correct the line that the message names; kubectl davit logs NAME --build, or build_logs of the HTTP API, shows its output.',
  },
  DockerfileInvalid: { meaning: 'The Dockerfile cannot be read.', todo: 'Correct the line that the message names.' },
  PushFailed: {
    meaning: 'The registry did not accept the image: it is unavailable, full, or refuses it.',
    todo: `Ask the platform team to check the registry and the push credential of settings.builds.registry, ${NEW_REVISION}.`,
  },
  TimedOut: {
    meaning: 'The build took longer than the platform allows.',
    todo: 'Make it faster, or ask the platform team to raise settings.builds.timeoutSeconds.',
  },
  OutOfMemory: {
    meaning: 'The build exceeded its memory limit.',
    todo: 'Use less, or ask the platform team to raise settings.builds.resources.memoryLimitMb.',
  },
  OutOfDisk: {
    meaning: 'The build exceeded its disk limit.',
    todo: 'Use less, or ask the platform team to raise settings.builds.resources.storageGi.',
  },
  PodRefused: {
    meaning:
      'The API server rejects the Job of a build, its Secrets or its pod, or does not give the credentials of the code host.',
    todo: `Read the API server's message and correct the cause: a quota, an admission webhook, or Pod Security of the builds' namespace. If the build has failed meanwhile, create a new revision.`,
  },
  BuilderImagePullFailed: {
    meaning: "The builder's image, or Davit's own, cannot be pulled.",
    todo: `Ask the platform team to correct settings.builds.images, or to give the builds' namespace a pull secret, ${NEW_REVISION}.`,
  },
  Unschedulable: {
    meaning: 'No node had room for the build pod in time.',
    todo: `Ask the platform team to lower settings.builds.resources, or to add capacity, ${NEW_REVISION}.`,
  },
  BuilderGone: {
    meaning: 'The Job or the pod of the build was deleted, or its node was lost.',
    todo: 'Create a new revision to build again.',
  },
  BuilderFailed: {
    meaning: 'The builder ended with another error.',
    todo: `Read the message and the log, ${NEW_REVISION}.`,
  },
  CredentialMissing: {
    meaning: 'A Secret that a build needs does not exist, or has no credentials for the registry.',
    todo: 'Create or correct the Secret that the message names. The build then continues automatically.',
  },
} as const satisfies Record<string, BuildReasonMeaning>;
export type BuildReason = keyof typeof BUILD_REASONS;

/** Author and message of a commit. The committer can write any author, which Davit does not verify. */
export const CommitWords = z.object({
  commitAuthor: text(256)
    .describe('Author that the commit names. The committer can write any name, which is not verified.')
    .optional(),
  commitMessage: text(512).describe('First line of its message, which is not verified.').optional(),
});
export type CommitWords = z.infer<typeof CommitWords>;

export const BuildStatus = z
  .object({
    phase: z.enum(BUILD_PHASES).describe('Its progress, or its result.'),
    reason: text(64).describe('Why, as one CamelCase word. docs/reasons.md has the action for each.').optional(),
    message: text(4096).describe('Why, and what to do, as text for people.').optional(),
    commit: text(64)
      .regex(/^[0-9a-f]{40,64}$/)
      .describe('Commit that it is built from.')
      .optional(),
    ...CommitWords.shape,
    image: text(512).describe('The image that it made, by digest.').optional(),
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .max(71)
      .describe('Digest of that image.')
      .optional(),
    builtBy: Uuid.describe('Revision whose build created the image, if it is another one.').optional(),
    job: text(63).describe("Job of the build, in the builds' namespace.").optional(),
    line: integer(1, 1_000_000).describe('Line of the Dockerfile that failed.').optional(),
    instruction: text(1024).describe('Text of that line.').optional(),
    queuedAt: Time.describe('Time since which it has been waiting for its turn.').optional(),
    startedAt: Time.describe('When it first tried to start; once its Job runs, when the Job was created.').optional(),
    finishedAt: Time.describe('When it ended.').optional(),
    interruptedBy: text(LONGEST_USERNAME)
      .describe(
        'Username of the person who interrupted it. Absent if it was not interrupted, or the request does not name one.',
      )
      .optional(),
  })
  .describe('The build of the image. Absent if no build is needed.');
export type BuildStatus = z.infer<typeof BuildStatus>;

/** Phases that are never left. */
export const FINAL_PHASES: ReadonlySet<BuildPhase> = new Set(['Built', 'Failed', 'Skipped', 'Interrupted']);

/** Whether a build is queued or running. */
export function isUnderWay(build: Pick<BuildStatus, 'phase'> | undefined): boolean {
  return build !== undefined && !FINAL_PHASES.has(build.phase);
}

/** Whether a build has been given its turn and has not ended: it counts toward builds.concurrency. */
export function isBegun(build: Pick<BuildStatus, 'phase'> | undefined): boolean {
  return isUnderWay(build) && build?.phase !== 'Queued';
}
