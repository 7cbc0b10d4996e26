// What a caller is told who lacks a right.

import { Failure } from './kubectl.ts';

/** As kubectl prints the answer of an API server by RBAC. A quota and an admission policy refuse with the same status, in other words. */
const LACKS = / cannot (\S+) resource "([^"]+)" in API group "[^"]*"(?: in the namespace "([^"]+)")?/;

/** `need`: what needs it, such as "a backup". Undefined for another failure. */
function lackedRight(error: unknown, need: string): Failure | undefined {
  if (!(error instanceof Failure)) return undefined;
  const [words, verb = '', resource = '', namespace] =
    LACKS.exec(error.message.split('(Forbidden):', 2)[1] ?? '') ?? [];
  if (words === undefined) return undefined;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return new Failure(
    `You may not ${verb} ${resource}${where}, which ${need} needs. Have an administrator give you the right there (docs/tenants.md, "Rights").`,
  );
}

/** For `catch`: throws Failure that names a right which is lacking, and anything else as it is. */
export function explainRight(need: string): (error: unknown) => never {
  return (error) => {
    throw lackedRight(error, need) ?? error;
  };
}
