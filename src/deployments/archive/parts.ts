// What stands where in a dump: archives of databases, one after the other, with the statements that belong to each, and last those of roles.
// Pure; part-files.ts reads and writes them.

import { z } from 'zod';

const Bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** A name of PostgreSQL, which a line of a file must hold. */
const DatabaseName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\n\r\0]+$/);

/** What a dump has: the databases in their order, the one that the application uses last, and how many bytes each of their parts has. */
export const DumpParts = z.object({
  databases: z
    .array(z.object({ name: DatabaseName, create: Bytes, before: Bytes, archive: Bytes, after: Bytes }))
    .min(1)
    .optional(),
  /** Absent for a Cluster, whose owner cannot read them. */
  roles: z.object({ count: Bytes, bytes: Bytes, passwords: Bytes }).optional(),
  extensions: z.array(z.string().min(1).max(255)).optional(),
});
export type DumpParts = z.infer<typeof DumpParts>;

/** Together. */
export function bytesOf({ databases = [], roles = { count: 0, bytes: 0, passwords: 0 } }: DumpParts): number {
  return databases.reduce(
    (sum, { create, before, archive, after }) => sum + create + before + archive + after,
    roles.bytes + roles.passwords,
  );
}

/** How many databases and roles a dump has; empty for a Cluster's, of which that is not known. */
export function countsOf({ databases, roles }: DumpParts): { databases?: number; roles?: number } {
  return databases && roles ? { databases: databases.length, roles: roles.count } : {};
}
