// Whether a record is to be left as it is. Its status is reported all the same.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { isPaused, PAUSED_ANNOTATION } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';

/** Why nothing of this record may be made, changed or deleted, as a sentence; undefined where it is not paused. */
export function pausedBy({ metadata }: AppDeployment, settings: Settings): string | undefined {
  if (settings.paused) return 'Davit is paused (setting paused) and changes nothing until the setting is removed.';
  if (!isPaused(metadata.annotations)) return undefined;
  return `This record is paused (annotation ${PAUSED_ANNOTATION}), so Davit does not change it. To continue: kubectl annotate appd ${metadata.name} -n ${metadata.namespace} ${PAUSED_ANNOTATION}-.`;
}
