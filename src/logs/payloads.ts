// Requests and answers of the logs' endpoints.

import { z } from 'zod';
import { number, once } from '../deploy/http/payloads.ts';
import { DNS_LABEL_PATTERN, integer, text, Uuid } from '../kinds/primitives.ts';
import { LAST_LINES } from './budget.ts';
import { momentOf } from './moments.ts';
import { LONGEST_POSITION } from './positions.ts';

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
export type Level = (typeof LEVELS)[number];

export const ProjectPath = z.object({ project_id: Uuid.describe("The deployment's id.") });
export const ProjectRevisionPath = ProjectPath.extend({ revision_id: Uuid.describe('Id of the revision.') });

const moment = (description: string): z.ZodOptional<z.ZodNullable<z.ZodISODateTime>> =>
  z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-01-01T00:00:00Z', abort: true })
    .refine((time) => momentOf(time) !== undefined, 'must be between the years 0000 and 9999 in UTC')
    .describe(description)
    .nullish();
const label = text(63).regex(new RegExp(DNS_LABEL_PATTERN));
const upper = (value: unknown): unknown => (typeof value === 'string' ? value.toUpperCase() : value);

/** Lines of a page. */
export const MOST_LINES = 1000;
/** Last lines of a container. */
export const MOST_TAIL = 100_000;

export const DeployLogsQuery = z
  .object({
    limit: integer(1, MOST_LINES).nullish().describe('Maximum number of lines. Default: 50.'),
    order: z.enum(['asc', 'desc']).nullish().describe('asc: oldest first. desc: newest first. Default: desc.'),
    level: z.preprocess(upper, z.enum(LEVELS).nullish()).describe('Only lines of this level.'),
    query: text(1000).nullish().describe('Only lines that contain this text, case-insensitively.'),
    task: label.nullish().describe('Only lines of the runs of this task. By default, the log has no lines of tasks.'),
    run: label
      .nullish()
      .describe('Only lines of this run of a command or a task, from its beginning: the name of its Job.'),
    component: label
      .nullish()
      .describe(
        'Only lines of this part: server, queue, orchestrator, executor or the name of a worker, without its sidecars; migrate, postgres or redis, with all their containers. By default, the log has no lines of PostgreSQL and Redis.',
      ),
    previous: z.boolean().nullish().describe('true: only lines that containers wrote before their last restart.'),
    tail: integer(1, MOST_TAIL)
      .nullish()
      .describe(
        `For pods: number of last lines of each container that was not read before. Default: ${LAST_LINES} without a position, all with one.`,
      ),
    escapes: z
      .boolean()
      .nullish()
      .describe('true: messages keep terminal escape sequences, such as colours. Default: they are removed.'),
    start_time: moment('Only lines from this time on.'),
    end_time: moment('Only lines until this time.'),
    offset: text(1000).nullish().describe('next_offset of the previous page.'),
    position: text(LONGEST_POSITION)
      .nullish()
      .describe(
        'position of an earlier answer to the same query: only lines that no answer up to that position had, oldest first.',
      ),
  })
  .meta({ id: 'DeployLogsQuery', examples: [{ limit: 100, order: 'desc', level: 'ERROR' }] });
export type DeployLogsQuery = z.output<typeof DeployLogsQuery>;

const LogLine = z.object({
  id: z.string(),
  timestamp: z.string().meta({ format: 'date-time' }),
  level: z
    .enum(LEVELS)
    .nullable()
    .describe('The level in the line. ERROR for the lines of a Python traceback. null if the line has no level.'),
  message: z.string().describe('The line, without terminal escape sequences unless the request has escapes.'),
  pod: z.string().nullable().describe('Pod that wrote it. null in the stored log of a build.'),
  container: z.string().describe('Container that wrote it.'),
});
export type LogLine = z.output<typeof LogLine>;

export const DeployLogs = z
  .object({
    logs: z.array(LogLine),
    next_offset: z.string().nullable().describe('Offset of the next page. null on the last page.'),
    position: z
      .string()
      .nullable()
      .describe(
        'How far each container has been read. Send it to read the lines that follow, at once while next_offset is not null. null after an offset or an end_time, and when the build is over, so that no more lines follow.',
      ),
    truncated: z
      .boolean()
      .describe(
        'true: lines may be missing, because a limit was reached (200 containers of the newest 20 pods, 4 MiB for each, 16 MiB or 15 s in total, 64 KiB a line) or a node did not answer. Request one revision, or a later start_time.',
      ),
  })
  .meta({
    id: 'DeployLogs',
  });
export type DeployLogs = z.output<typeof DeployLogs>;

const { level, query, start_time, end_time, order, offset } = DeployLogsQuery.shape;
const filters = { level, query, start_time, end_time };
const oldestFirst = order.default('asc').meta({ default: 'asc', description: 'asc: oldest first.' });
const lines = (most: number, usual: number): z.ZodType<number> =>
  once(integer(1, most), number).default(usual).meta({ default: usual, description: 'Maximum number of lines.' });

/** The queries of GET. Strict: an unknown filter must not be ignored. */
export const RevisionLogsQuery = z.strictObject({
  type: z
    .enum(['build', 'deploy'])
    .default('deploy')
    .meta({ default: 'deploy', description: 'build: log of its build. deploy: logs of its pods.' }),
  ...filters,
  order: oldestFirst,
  limit: lines(MOST_LINES, 50),
  offset,
});

export const LogEntriesQuery = z.strictObject({
  deployment_id: Uuid.describe('Id of the deployment.'),
  revision_id: Uuid.optional().describe('Id of the revision. Default: all for DEPLOY, the newest one for BUILD.'),
  log_type: z.enum(['BUILD', 'DEPLOY']).default('DEPLOY').meta({ default: 'DEPLOY', description: 'Of what.' }),
  ...filters,
  sort_order: oldestFirst,
  page_size: lines(100, 20),
  cursor: offset.describe('next_cursor of the previous page.'),
});

export const LogEntries = z
  .object({ items: DeployLogs.shape.logs, next_cursor: DeployLogs.shape.next_offset })
  .meta({ id: 'LogEntries' });
