// What `npm test` leaves to `npm test -- --whole`, which runs everything: what takes a processor many seconds, and shows little that a
// cheaper test does not. `npx vitest run` leaves nothing out.

/** Set by `npm test` for its lanes. */
export const USUAL_TESTS = 'DAVIT_USUAL_TESTS';
export const isUsual = process.env[USUAL_TESTS] !== undefined;

const api = 'test/suites/integration';

/** Files, each with what shows the same at less expense. */
export const LEFT_TO_WHOLE = {
  'src/deploy/children/database/whole-server.test.ts': 'load-scripts.test.ts beside it',
  'test/suites/http/bundle.test.ts': 'the same processes from the sources: lifecycle.test.ts, on a real API server',
  'test/suites/http/event-loop.test.ts': 'test/suites/http/log-budget.test.ts, src/runtime/http/json-scan.test.ts',
  'test/suites/http/impossible-values.test.ts': 'test/suites/http/every-route.test.ts',
  'test/suites/plan/command.test.ts': 'src/build/planner, in the process of the tests',
  'test/support/options.test.ts': 'its programs are started by npm run alone',
  'test/suites/e2e/failures.test.ts':
    'src/deploy/assess/pod-failures.test.ts; a revision that crashes: lifecycle.test.ts',
  [`${api}/backup-consent.test.ts`]: 'test/suites/reconcile/database-moves.test.ts',
  [`${api}/cli-doors.test.ts`]:
    'src/cli/commands, test/suites/http/deploy-command.test.ts; the built file: cli.test.ts',
  [`${api}/code-host-repositories.test.ts`]: 'test/suites/http/code-host-repositories.test.ts',
  [`${api}/data.test.ts`]: 'test/suites/reconcile/database-deletion.test.ts',
  [`${api}/documents.test.ts`]: 'test/suites/hygiene/documents.test.ts parses the commands',
  [`${api}/http-together.test.ts`]: 'test/suites/http/preconditions.test.ts',
  [`${api}/observability.test.ts`]: 'src/main/monitoring, src/runtime/controller/metrics.test.ts',
  [`${api}/revision-history.test.ts`]: 'test/suites/reconcile/revision-history.test.ts',
  [`${api}/rotation.test.ts`]: 'test/suites/reconcile/rotation.test.ts',
  [`${api}/scaling.test.ts`]: 'test/suites/reconcile/scaling.test.ts',
  [`${api}/start-up.test.ts`]: 'src/main/preflight',
  [`${api}/walk.test.ts`]: 'test/suites/reconcile, with each change alone',
  [`${api}/workers.test.ts`]: 'test/suites/reconcile/workers.test.ts',
  [`${api}/api-server/listeners.test.ts`]: 'test/suites/reconcile/listeners.test.ts and listener-agent.test.ts',
  [`${api}/api-server/oauth.test.ts`]:
    'test/suites/http/oauth-flow.test.ts, oauth-attacks.test.ts and oauth-ends.test.ts',
  [`${api}/api-server/sign-in.test.ts`]: 'test/suites/http/authentication.test.ts',
} as const satisfies Readonly<Record<string, string>>;
