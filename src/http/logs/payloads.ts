// What the logs' endpoints take and give.

import { z } from 'zod';
import { Uuid } from '../../api/primitives.ts';

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
export type Level = (typeof LEVELS)[number];

export const ProjectPath = z.object({ project_id: Uuid.describe("The deployment's id.") });
export const ProjectRevisionPath = ProjectPath.extend({ revision_id: Uuid.describe('Id of the revision.') });

const moment = (description: string): z.ZodOptional<z.ZodNullable<z.ZodISODateTime>> =>
  z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-01-01T00:00:00Z' })
    .describe(description)
    .nullish();
const upper = (value: unknown): unknown => (typeof value === 'string' ? value.toUpperCase() : value);

export const DeployLogsQuery = z
  .object({
    limit: z.int().min(1).max(1000).nullish().describe('How many lines to return at most; 50 when not given.'),
    order: z.enum(['asc', 'desc']).nullish().describe('asc: oldest first; desc, when not given: newest first.'),
    level: z.preprocess(upper, z.enum(LEVELS).nullish()).describe('Only lines of this level.'),
    query: z.string().max(1000).nullish().describe('Only lines with this text, in upper or lower case.'),
    start_time: moment('Only lines from then on.'),
    end_time: moment('Only lines until then.'),
    offset: z.string().max(1000).nullish().describe('next_offset of the page before.'),
  })
  .meta({ id: 'DeployLogsQuery', examples: [{ limit: 100, order: 'desc', level: 'ERROR' }] });
export type DeployLogsQuery = z.output<typeof DeployLogsQuery>;

const LogLine = z.object({
  id: z.string(),
  timestamp: z.string().meta({ format: 'date-time' }),
  level: z.enum(LEVELS).describe('As far as the line says; INFO where it does not.'),
  message: z.string(),
  pod: z.string().nullable().describe('Pod that wrote it; null in the log that was kept of a build.'),
  container: z.string().describe('Container that wrote it.'),
});
export type LogLine = z.output<typeof LogLine>;

export const DeployLogs = z
  .object({
    logs: z.array(LogLine),
    next_offset: z.string().nullable().describe('The next page; null where there is none.'),
    truncated: z
      .boolean()
      .describe(
        'true: there may be more than is told, because reading ended at a limit (200 containers of the newest 20 pods, 4 MiB of one, 16 MiB or 15 s in all, 64 KiB a line) or a node did not answer. Ask for one revision, or with start_time.',
      ),
  })
  .meta({
    id: 'DeployLogs',
    examples: [
      {
        logs: [
          {
            id: 'MjAyNi0',
            timestamp: '2026-01-01T00:00:00.5Z',
            level: 'INFO',
            message: 'Listening on 8000',
            pod: 'shop-5f4d7c9b8-x2x7k',
            container: 'server',
          },
        ],
        next_offset: null,
        truncated: false,
      },
    ],
  });
export type DeployLogs = z.output<typeof DeployLogs>;
