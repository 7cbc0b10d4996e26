// AppLog: the last lines of the containers that ended a revision or a run of a task. Davit creates it before their pods go, never
// changes it, and deletes it after a week.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { Time, text } from './primitives.ts';

/** Bytes of the lines of one container. */
export const MOST_BYTES_OF_CONTAINER = 16 * 1024;
/** Containers of one AppLog. */
export const MOST_CONTAINERS = 8;

const Name = text(253);

const EndedContainer = z.object({
  pod: Name.describe('Pod of the container.'),
  component: Name.describe('Part that the pod ran.'),
  container: Name.describe('Name of the container.'),
  exitCode: z.int().describe('Exit code of the container.'),
  reason: text(253).describe('Reason from Kubernetes, such as Error or OOMKilled.').optional(),
  finishedAt: Time.describe('When the container ended.').optional(),
  log: text(MOST_BYTES_OF_CONTAINER).describe(
    'The last lines that it wrote, each after its time. Empty if it wrote nothing, or if its log no longer existed.',
  ),
});

export const AppLogSpec = z.object({
  deploymentName: Name.describe('Name of the AppDeployment.'),
  revisionId: text(64).describe('Id of the revision that the containers ran.').optional(),
  task: Name.describe('Task whose run failed. Absent if a revision failed.').optional(),
  containers: z.array(EndedContainer).max(MOST_CONTAINERS).describe('The containers that ended.'),
});
export type AppLogSpec = z.infer<typeof AppLogSpec>;

export const AppLogStatus = z.object({});

export type AppLog = OwnObject<'AppLog', AppLogSpec>;

export const APP_LOGS = ownKind('AppLog');
