// How a write asks for a revision (design.md 4): by a serial raised by exactly one; for a rollback with what an old
// revision was made of. Imports nothing at run time: kubectl-davit carries it.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import type { AppRevisionSpec } from '../api/app-revision.ts';

/** `after` asking for a revision that `before` has not asked for. What an earlier rollback went back to is over. */
export function askingForRevision(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
): AppDeploymentSpec {
  const { rollbackTo: _over, ...spec } = after;
  return { ...spec, revisionSerial: (before.revisionSerial ?? 0) + 1 };
}

/** `before` asking for a revision of what `old` was made of. What needs no revision stays as it is. */
export function rollingBack(
  before: Readonly<AppDeploymentSpec>,
  { id, requested }: Readonly<AppRevisionSpec>,
): AppDeploymentSpec {
  const {
    resourceSpec: _spec,
    installCommand: _install,
    buildCommand: _build,
    deploymentType: _type,
    ...kept
  } = before.sourceConfig;
  const { resourceSpec, installCommand, buildCommand, deploymentType } = requested;
  const { secretReferences: _references, ...rest } = before;
  return {
    ...askingForRevision(before, {
      ...rest,
      sourceConfig: {
        ...kept,
        ...(resourceSpec !== undefined && { resourceSpec }),
        ...(installCommand !== undefined && { installCommand }),
        ...(buildCommand !== undefined && { buildCommand }),
        ...(deploymentType !== undefined && { deploymentType }),
      },
      sourceRevisionConfig: requested.sourceRevisionConfig,
      secrets: requested.secrets,
      ...(requested.secretReferences.length > 0 && { secretReferences: requested.secretReferences }),
    }),
    rollbackTo: id,
  };
}
