// What a PATCH makes of the current record: its new spec, after all checks.

import type { RequestContext } from '../../api/auth.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { databaseDeletion } from '../record/database-deletion.ts';
import { withRequest } from '../record/needs-revision.ts';
import { awaitsSource } from '../record/requested.ts';
import { effectiveNumbers, resolve } from '../record/resolve.ts';
import { revisionsOf as newestFirst } from '../record/revisions.ts';
import { applyPatch, type Patch, patchFindings } from './patch.ts';
import { type Checking, findingsOfChange } from './platform-checks.ts';
import { resourceSpecInForce, shownRevisionConfig, specWithNewestFile, urlOf } from './presenter.ts';
import { cachedRevisions } from './reading.ts';
import { readSecretValues } from './secret-values.ts';
import type { Decide } from './update.ts';

/** `revision: 'always'` requests a new revision even if nothing changes. */
export function decidePatch(
  checking: Checking,
  { caller, tenant }: RequestContext,
  payload: Patch | ((record: AppDeployment) => Patch),
  revision: 'if needed' | 'always',
): Decide {
  const { settings } = checking;
  return async (record, secretName) => {
    const patch = typeof payload === 'function' ? payload(record) : payload;
    // Values are read only if a sent value must be compared.
    const { variable, secrets = [] } = patch;
    const compares =
      typeof variable?.value === 'string' || (secrets ?? []).some(({ value }) => value !== '' && value !== null);
    const made = cachedRevisions(checking, record);
    const own = newestFirst(record, made);
    const [newest] = own;
    const inForce = {
      resourceSpec: resourceSpecInForce(record, made, settings),
      sourceRevisionConfig: shownRevisionConfig(record, made),
      url: urlOf(record),
      databaseDeletion: databaseDeletion(record, settings.database.deletionPolicy),
      numbersOf: (spec: AppDeploymentSpec) => effectiveNumbers(resolve(specWithNewestFile(spec, newest), settings)),
      values: compares ? await readSecretValues(caller, record) : new Map<string, string>(),
    };
    const changed = applyPatch(record, patch, inForce, secretName);
    const { spec } = changed;
    const findings = [
      ...patchFindings(record, patch, changed, inForce.values),
      ...(await findingsOfChange(checking, record, spec, tenant.id)),
    ];
    if (findings.length === 0 && revision === 'always' && awaitsSource(spec)) throw nothingToDeploy();
    return { ...changed, findings, spec: withRequest(record.spec, spec, own, revision === 'always') };
  };
}

function nothingToDeploy(): HttpError {
  return new HttpError(
    409,
    'The deployment has no image or source yet, so there is nothing to deploy. First push an image or upload a source.',
  );
}
