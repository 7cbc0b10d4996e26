// Labels of children. Selectors are immutable in the API, so the result of selectorLabels must never change.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import {
  ARGO_CD_TRACKING_LABEL,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  type ImageComponent,
} from '../../kinds/meta.ts';
import { uidOf } from './metadata.ts';

/** Labels of every child; `component` if it belongs to one part. Source of app.kubernetes.io/*: "Recommended Labels". */
export function commonLabels(record: AppDeployment, component?: ImageComponent): Record<string, string> {
  const { name } = record.metadata;
  return {
    'app.kubernetes.io/name': name,
    [ARGO_CD_TRACKING_LABEL]: name,
    ...(component !== undefined && { 'app.kubernetes.io/component': component }),
    'app.kubernetes.io/part-of': 'davit',
    'app.kubernetes.io/managed-by': 'davit',
    [DEPLOYMENT_LABEL]: name,
    [DEPLOYMENT_UID_LABEL]: uidOf(record),
    ...(component !== undefined && { [COMPONENT_LABEL]: component }),
  };
}

/** Selects the pods of one part. Must never change: with another selector every apply of a workload fails. */
export function selectorLabels(recordName: string, component: ImageComponent): Record<string, string> {
  return { [DEPLOYMENT_LABEL]: recordName, [COMPONENT_LABEL]: component };
}
