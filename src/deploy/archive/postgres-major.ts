// Which PostgreSQL a backup may be loaded into. Imports no zod at run time, because kubectl-davit bundles it.

/**
 * The major versions of a server and of a backup for which it is too old; undefined if the server reads it. A newer server reads what an
 * older one has dumped. Both as server_version_num: 170004 is 17.4. Source: the PostgreSQL documentation of pg_dump, "Notes".
 */
export function tooOldFor(
  server: number,
  backup: number,
): { readonly has: number; readonly needs: number } | undefined {
  const [has, needs] = [majorOf(server), majorOf(backup)];
  return has < needs ? { has, needs } : undefined;
}

/** 17 for the server_version_num 170004. */
export function majorOf(serverVersion: number): number {
  return Math.floor(serverVersion / 10_000);
}
