// Whether Davit repairs what serves of a record that breaks a rule of the platform.

import type { AppRevision } from '../../schema/app-revision.ts';
import type { Settings } from '../../schema/settings.ts';
import { rollingBack } from '../record/revision-request.ts';
import type { Observed } from './observed.ts';
import { checkDeployed, inForce } from './policy.ts';
import { heldRevision, servedBefore } from './workloads.ts';

/** The pods that serve must break no rule themselves, or Davit would make pods that the platform refuses. */
export function mayRepair(observed: Observed, settings: Settings): boolean {
  const { record, revisions } = observed;
  const [newest] = revisions;
  if (newest === undefined) return false;
  // A pass makes pods of the newest revision, or of the one that serves until the newest can be rolled out.
  return [newest, heldRevision(observed, newest), servedBefore(observed, newest)].every(
    (made) => !made || !checkDeployed({ ...observed, record: asItRuns(record, made) }, settings),
  );
}

/** The record as it would be if it asked for this revision, at the scale in force. */
function asItRuns(record: Observed['record'], { spec: made }: AppRevision): Observed['record'] {
  const spec = rollingBack(record.spec, made);
  // With the values of its file.
  const { runtime = {}, resourceSpec = {} } = made.requested;
  return {
    ...record,
    spec: { ...spec, sourceConfig: inForce(record, { ...spec.sourceConfig, runtime, resourceSpec }) },
  };
}
