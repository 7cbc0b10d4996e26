// A revision at the scale that its record asks for now (scale.ts: a number, or a range for an autoscaler).

import { type AppDeploymentSpec, type AppDeploymentStatus, deploymentTypeMeant } from '../../kinds/app-deployment.ts';
import type { AppRevision, Resolved, Scaled } from '../../kinds/app-revision.ts';
import type { Settings } from '../../kinds/settings.ts';
import { isRole, workerScale } from '../../kinds/worker-parts.ts';
import { fileIn } from './code-file.ts';
import { partsOf, sizeOf } from './parts.ts';
import { samePart, sameScaleAsked, scaleAsked } from './requested-scale.ts';
import { scaleFrom } from './resolve.ts';

/**
 * `revision` with the record's minima and maxima, by which everything about it is decided. A part that asks for what it asked for when
 * the revision was made keeps the numbers of then, so that a changed default changes nothing that runs. A part that
 * the record no longer has keeps its own: it runs until the next revision does. The same object if nothing differs.
 */
export function scaledBy(spec: Readonly<AppDeploymentSpec>, revision: AppRevision, settings: Settings): AppRevision {
  const { requested, resolved, file } = revision.spec;
  const { resourceSpec, runtime } = spec.sourceConfig;
  // Sizes of a part in the file ask for the part too.
  const isOfFile = file?.given !== undefined;
  const now = {
    runtime,
    resourceSpec: isOfFile ? { ...fileIn(file)?.values?.resourceSpec, ...resourceSpec } : resourceSpec,
  };
  const type = deploymentTypeMeant(requested.deploymentType) ?? settings.deploymentType;
  const defaults = settings.sizes[type ?? 'plain'].server;
  const isKept = (part: string): boolean => !samePart(part, now, requested) || sameScaleAsked(part, now, requested);
  // What queue workers do not ask for is as the main service has it.
  const follows = (part: string): boolean => part === 'queue' && samePart(part, now, requested) && !isKept('server');
  let server: Scaled = resolved.server;
  const own = withScales(resolved, (part, is) => {
    if (isKept(part) && !follows(part)) return is;
    const asked = scaleAsked(part, now);
    const base = part === 'queue' ? server : isRole(part) ? defaults : workerScale(asked);
    const scaled = { ...is, ...scaleFrom(asked, base, settings.limits.scale) };
    if (part === 'server') server = scaled;
    return scaled;
  });
  return own === resolved ? revision : { ...revision, spec: { ...revision.spec, resolved: own } };
}

/** What the status says of the scale in force. */
type Reported = Pick<AppDeploymentStatus, 'resourceSpec' | 'workers'>;

/** `revision` with the minima and maxima that were reported. A part without numbers keeps its own. */
export function scaledTo({ resourceSpec, workers }: Reported, revision: AppRevision): AppRevision {
  const reported = { runtime: { workers }, ...(resourceSpec && { resourceSpec }) };
  const own = withScales(revision.spec.resolved, (part, is) => ({ ...is, ...scaleAsked(part, reported) }));
  return { ...revision, spec: { ...revision.spec, resolved: own } };
}

/** `revision` without any pod, for as long as an operation holds the record. */
export function stopped(revision: AppRevision): AppRevision {
  const own = withScales(revision.spec.resolved, (_part, is) => ({ ...is, minScale: 0, maxScale: 0 }));
  return { ...revision, spec: { ...revision.spec, resolved: own } };
}

/** Changes the scale of every part, the main service first. Returns `resolved` itself if no part changes. */
function withScales(resolved: Resolved, change: (part: string, is: Scaled) => Scaled): Resolved {
  const changed = partsOf(resolved).flatMap((part) => {
    const is = sizeOf(resolved, part);
    if (is === undefined || !('maxScale' in is)) return [];
    const scaled = change(part, is);
    return scaled === is ? [] : [[part, scaled] as const];
  });
  if (changed.length === 0) return resolved;
  const [roles, workers] = [true, false].map((is) =>
    Object.fromEntries(changed.filter(([part]) => isRole(part) === is)),
  );
  return { ...resolved, ...roles, ...(resolved.workers && { workers: { ...resolved.workers, ...workers } }) };
}
