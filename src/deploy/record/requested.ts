// What a revision stores of its record as requested, and which differences need no other revision.

import { type AppDeploymentSpec, deploymentTypeMeant } from '../../kinds/app-deployment.ts';
import type { AppRevision, Requested } from '../../kinds/app-revision.ts';
import { SOURCE_RULES } from '../../kinds/source-rules.ts';
import { present, sameJson } from '../../runtime/json-value.ts';
import { sameBuildRequested } from './build-source.ts';
import { canonical } from './canonical.ts';
import { asksOfDatabase } from './database-driver.ts';
import { ownRequested } from './file-values.ts';
import { withoutScale } from './requested-scale.ts';

/**
 * What a revision of `spec` stores of it, in canonical form (canonical.ts). All of it needs a new revision when it changes, except for
 * the scale.
 */
export function requestedOf(spec: Readonly<AppDeploymentSpec>): Requested {
  const { resourceSpec, runtime, env, tasks, database, installCommand, buildCommand } = spec.sourceConfig;
  const requestedDatabase = asksOfDatabase(database);
  const deploymentType = deploymentTypeMeant(spec.sourceConfig.deploymentType);
  return canonical({
    sourceRevisionConfig: spec.sourceRevisionConfig,
    ...present({ resourceSpec, runtime, env, tasks, database: requestedDatabase }),
    secrets: spec.secrets,
    secretReferences: spec.secretReferences ?? [],
    ...present({ installCommand, buildCommand, deploymentType }),
  });
}

/** Whether both have the same meaning, regardless of their form: an older Davit may have stored the snapshot. */
export function sameRequested(a: Readonly<Requested>, b: Readonly<Requested>): boolean {
  return sameJson(a, b) || sameJson(canonical(a), canonical(b));
}

/** Whether one revision can have both sets of values. Ignores the scale. */
export function sameRevision(a: Readonly<Requested>, b: Readonly<Requested>): boolean {
  return sameRequested(a, b) || sameJson(withoutScale(canonical(a)), withoutScale(canonical(b)));
}

/** Whether no image or source has been pushed yet, so that there is nothing to deploy. */
export function awaitsSource(spec: Readonly<AppDeploymentSpec>): boolean {
  const { repoUrl } = spec.sourceConfig;
  const values = { ...spec.sourceRevisionConfig, repoUrl };
  return SOURCE_RULES[spec.source].content.every((field) => values[field] === undefined);
}

/**
 * Whether a revision with `requested` deploys the build of `from`, finished or not: a change of sizes or secrets alone needs no new
 * one. A request without a change asks for the newest commit, unless it `moves` the database.
 */
export function keepsBuild(requested: Requested, from: AppRevision, moves = false): boolean {
  const before = ownRequested(from.spec);
  const isSame = requested.sourceRevisionConfig.imageUri === undefined && sameBuildRequested(requested, before);
  return isSame && (moves || !sameRequested(requested, before));
}
