// Without the schema, which programs that need only the states do not load.

/** The states of a revision in order, then its other final states. */
export const REVISION_STATES = [
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
] as const;

/** Final states of a revision that failed. */
export const FAILED_STATES: readonly (typeof REVISION_STATES)[number][] = [
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
];

/** Minimum of the setting `revisions.kept`: that many of the newest revisions always exist. */
export const FEWEST_REVISIONS = 10;
