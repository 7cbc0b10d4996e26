// What the number of queue workers follows.

import { z } from 'zod';
import { EXTERNAL_POSTGRES_VARIABLE } from './meta.ts';
import { integer } from './primitives.ts';

/** Jobs for each queue worker if the record sets none: as many as a worker processes at a time. */
export const JOBS_PER_POD = 10;
export const OWN_DATABASE_MESSAGE = `queueDepth queries the deployment's own PostgreSQL: remove it, or ${EXTERNAL_POSTGRES_VARIABLE}`;

export const QueueDepth = z.object({
  query: z
    .string()
    .min(1)
    .max(4096)
    .describe("SQL query that returns the number of pending jobs in the deployment's own PostgreSQL."),
  perPod: integer(1, 1_000_000).describe(`Pending jobs for each queue worker. Default: ${JOBS_PER_POD}.`).optional(),
});
export type QueueDepth = z.infer<typeof QueueDepth>;
