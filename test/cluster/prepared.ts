// What takes long to make (a program that is compiled, a package that is fetched, an image) is made before tests run, never
// within the limit of a test or a hook: there, what is missing fails at once, and says where it belongs.

import { AsyncLocalStorage } from 'node:async_hooks';

/** What could not be prepared, and why: for the workers, which inherit it. */
const FAILED = 'DAVIT_NOT_PREPARED';
/** Set for tests: what test/support/needs.ts names for their project. */
export const NEEDS = 'DAVIT_NEEDS';
export const BETWEEN = ';';

/** Is told what is being made. */
export type Progress = (line: string) => void;

const asked = new AsyncLocalStorage<true>();

export class NotPreparedError extends Error {
  override name = 'NotPreparedError';
  /** Why preparing it failed; undefined if nobody tried. */
  readonly failure: string | undefined;

  constructor(what: string) {
    const failure = failures()[what];
    super(
      failure === undefined
        ? `Tests make nothing that takes long: name "${what}" among the needs of the test's project in test/support/needs.ts.`
        : `${what} could not be prepared: ${failure}`,
    );
    this.failure = failure;
  }
}

/** Throws in tests whose project does not name it, also where it is there: on another machine it would not be. */
export function needsPrepared(what: string): void {
  const named = process.env[NEEDS]?.split(BETWEEN);
  if (isWithinTests() && named && !named.includes(what)) throw new NotPreparedError(what);
}

/** To be called before `what` is made. Throws within tests and their hooks, and in `isPrepared`. */
export function refuseWithinTests(what: string): void {
  if (asked.getStore() === true || isWithinTests()) throw new NotPreparedError(what);
}

/** Whether `make` finds all there that it makes. */
export async function isPrepared(make: () => Promise<unknown>): Promise<boolean> {
  return asked.run(true, () =>
    make().then(
      () => true,
      () => false,
    ),
  );
}

export function noteFailure(what: string, failure: string): void {
  process.env[FAILED] = JSON.stringify({ ...failures(), [what]: failure });
}

/** Vitest's workers have it, and whatever they start. */
function isWithinTests(): boolean {
  return process.env['VITEST_WORKER_ID'] !== undefined;
}

function failures(): Readonly<Record<string, string>> {
  return JSON.parse(process.env[FAILED] ?? '{}') as Record<string, string>;
}
