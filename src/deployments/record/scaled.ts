// A revision at the scale that its record asks for now.

import type { AppDeploymentSpec } from '../../schema/app-deployment.ts';
import { deploymentTypeMeant } from '../../schema/app-deployment.ts';
import type { AppRevision, Resolved, Scaled } from '../../schema/app-revision.ts';
import type { ResourceSpec } from '../../schema/resource-spec.ts';
import type { Settings } from '../../schema/settings.ts';
import { asksForPart, SCALED_PARTS, type ScaledPart, sameScaleAsked, scaleAsked } from './requested-scale.ts';
import { scaleFrom } from './resolve.ts';

/**
 * `revision` with the record's minima and maxima, by which everything about it is decided. A part that asks for what it asked for when
 * the revision was made keeps the numbers of then, so that a changed default changes nothing that runs. A part that
 * the record no longer has keeps its own: it runs until the next revision does. The same object if nothing differs.
 */
export function scaledBy(spec: Readonly<AppDeploymentSpec>, revision: AppRevision, settings: Settings): AppRevision {
  const now = spec.sourceConfig.resourceSpec;
  const { requested, resolved } = revision.spec;
  const then = requested.resourceSpec;
  if (SCALED_PARTS.every((part) => sameScaleAsked(part, now, then))) return revision;
  const type = deploymentTypeMeant(requested.deploymentType) ?? settings.deploymentType;
  const defaults = settings.sizes[type ?? 'plain'].server;
  const scaled = <Part extends Scaled>(part: ScaledPart, of: Part, base: Scale, isBaseKept = true): Part => {
    if (!asksForPart(part, now) || (isBaseKept && sameScaleAsked(part, now, then))) return of;
    return { ...of, ...scaleFrom(scaleAsked(part, now), base, settings.limits.scale) };
  };
  const server = scaled('server', resolved.server, defaults);
  const { queue, orchestrator } = resolved;
  const own: Resolved = {
    ...resolved,
    server,
    // What queue workers do not ask for is as the main service has it.
    ...(queue && { queue: scaled('queue', queue, server, sameScaleAsked('server', now, then)) }),
    ...(orchestrator && { orchestrator: scaled('orchestrator', orchestrator, defaults) }),
  };
  return { ...revision, spec: { ...revision.spec, resolved: own } };
}

/** `revision` with these minima and maxima, by their names in resourceSpec. A part without numbers keeps its own. */
export function scaledTo(numbers: Readonly<Partial<ResourceSpec>>, revision: AppRevision): AppRevision {
  const { resolved } = revision.spec;
  const parts = SCALED_PARTS.flatMap((part) =>
    resolved[part] ? [[part, { ...resolved[part], ...scaleAsked(part, numbers) }] as const] : [],
  );
  return { ...revision, spec: { ...revision.spec, resolved: { ...resolved, ...Object.fromEntries(parts) } } };
}

type Scale = Pick<Scaled, 'minScale' | 'maxScale'>;
