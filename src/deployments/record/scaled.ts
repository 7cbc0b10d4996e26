// A revision at the scale that its record asks for now.

import { ownValue } from '../../lib/json-value.ts';
import { type AppDeploymentSpec, type AppDeploymentStatus, deploymentTypeMeant } from '../../schema/app-deployment.ts';
import type { AppRevision, Resolved, Scaled } from '../../schema/app-revision.ts';
import type { Runtime } from '../../schema/runtime.ts';
import type { Settings } from '../../schema/settings.ts';
import { workerIn, workerScale } from '../../schema/worker-parts.ts';
import { fileIn } from './code-file.ts';
import {
  asksForPart,
  SCALED_PARTS,
  type ScaledPart,
  sameScaleAsked,
  sameWorkerScale,
  sameWorkerScales,
  scaleAsked,
} from './requested-scale.ts';
import { scaleFrom } from './resolve.ts';

/**
 * `revision` with the record's minima and maxima, by which everything about it is decided. A part that asks for what it asked for when
 * the revision was made keeps the numbers of then, so that a changed default changes nothing that runs. A part that
 * the record no longer has keeps its own: it runs until the next revision does. The same object if nothing differs.
 */
export function scaledBy(spec: Readonly<AppDeploymentSpec>, revision: AppRevision, settings: Settings): AppRevision {
  const { requested, resolved, file } = revision.spec;
  // Sizes of a part in the file ask for the part too.
  const now =
    file?.given === undefined
      ? spec.sourceConfig.resourceSpec
      : { ...fileIn(file)?.values?.resourceSpec, ...spec.sourceConfig.resourceSpec };
  const then = requested.resourceSpec;
  const { runtime } = spec.sourceConfig;
  const isSame = sameWorkerScales(runtime, requested.runtime);
  if (isSame && SCALED_PARTS.every((part) => sameScaleAsked(part, now, then))) return revision;
  const type = deploymentTypeMeant(requested.deploymentType) ?? settings.deploymentType;
  const defaults = settings.sizes[type ?? 'plain'].server;
  const scaled = <Part extends Scaled>(part: ScaledPart, of: Part, base: Scale, isBaseKept = true): Part => {
    if (!asksForPart(part, now) || (isBaseKept && sameScaleAsked(part, now, then))) return of;
    return { ...of, ...scaleFrom(scaleAsked(part, now), base, settings.limits.scale) };
  };
  const server = scaled('server', resolved.server, defaults);
  const { queue, orchestrator, workers } = resolved;
  const own: Resolved = {
    ...resolved,
    server,
    // What queue workers do not ask for is as the main service has it.
    ...(queue && { queue: scaled('queue', queue, server, sameScaleAsked('server', now, then)) }),
    ...(orchestrator && { orchestrator: scaled('orchestrator', orchestrator, defaults) }),
    ...(workers && { workers: scaledWorkers(workers, runtime, requested.runtime, settings) }),
  };
  return { ...revision, spec: { ...revision.spec, resolved: own } };
}

type Workers = NonNullable<Resolved['workers']>;

/** A worker that the record no longer has, or has as one of the other kind, keeps its own. */
function scaledWorkers(
  workers: Workers,
  now: Readonly<Runtime> | undefined,
  then: Readonly<Runtime> | undefined,
  { limits }: Settings,
): Workers {
  const entries = Object.entries(workers).map(([name, own]) => {
    const [is, was] = [workerIn(now, name), workerIn(then, name)];
    const isOther = is === undefined || (is.singleton === true) !== (own.singleton === true);
    if (isOther || sameWorkerScale(is, was)) return [name, own] as const;
    const { minScale, maxScale } = is;
    const asked = { ...(minScale !== undefined && { minScale }), ...(maxScale !== undefined && { maxScale }) };
    return [name, { ...own, ...scaleFrom(asked, workerScale(asked), limits.scale) }] as const;
  });
  return Object.fromEntries(entries);
}

/** What the status says of the scale in force. */
type Reported = Pick<AppDeploymentStatus, 'resourceSpec' | 'workers'>;

/** `revision` with the minima and maxima that were reported. A part without numbers keeps its own. */
export function scaledTo({ resourceSpec: numbers = {}, workers = {} }: Reported, revision: AppRevision): AppRevision {
  const { resolved } = revision.spec;
  const parts = SCALED_PARTS.flatMap((part) =>
    resolved[part] ? [[part, { ...resolved[part], ...scaleAsked(part, numbers) }] as const] : [],
  );
  const named = Object.entries(resolved.workers ?? {}).map(([name, own]) => {
    const { minScale = own.minScale, maxScale = own.maxScale } = ownValue(workers, name) ?? {};
    return [name, { ...own, minScale, maxScale }] as const;
  });
  const own: Resolved = {
    ...resolved,
    ...Object.fromEntries(parts),
    ...(named.length > 0 && { workers: Object.fromEntries(named) }),
  };
  return { ...revision, spec: { ...revision.spec, resolved: own } };
}

type Scale = Pick<Scaled, 'minScale' | 'maxScale'>;
