// What a Cluster would not get of a server of driver pod. Imports no zod at run time, because kubectl-davit bundles it.

/** For people. Undefined if a Cluster gets all of it, or nothing is known. The role of the application counts as one. */
export function furtherWords({
  databases = 1,
  roles = 1,
}: {
  readonly databases?: number | undefined;
  readonly roles?: number | undefined;
}): string | undefined {
  const further = [
    [databases - 1, 'database'],
    [roles - 1, 'role'],
  ] as const;
  const words = further.flatMap(([count, what]) =>
    count > 0 ? [`${count} further ${what}${count > 1 ? 's' : ''}`] : [],
  );
  return words.length === 0
    ? undefined
    : `${words.join(' and ')}, but a Cluster gets only the database of the application. Move them elsewhere and drop them first, or keep driver pod.`;
}
