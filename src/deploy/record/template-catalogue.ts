// Whether the catalogue of templates contains the image or repository of a record.

import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppTemplate, AppTemplateSpec } from '../../kinds/app-template.ts';
import { present } from '../../runtime/json-value.ts';

/** Fields of a record that a template can offer. */
export type Offered = Pick<AppTemplateSpec, 'imageUri' | 'repoUrl' | 'repoRef' | 'workflowConfigPath'>;

export function templateFields({
  sourceConfig,
  sourceRevisionConfig,
}: Pick<AppDeploymentSpec, 'sourceConfig' | 'sourceRevisionConfig'>): Offered {
  const { repoUrl } = sourceConfig;
  const { imageUri, repoRef, workflowConfigPath } = sourceRevisionConfig;
  return {
    ...present({ imageUri, repoUrl, repoRef, workflowConfigPath }),
  };
}

/**
 * The fields of `wanted` that no template offers. Several templates may offer different branches of one repository. A record
 * may choose the fields that a template leaves open.
 */
export function notOffered(wanted: Offered, templates: readonly AppTemplate[]): (keyof Offered)[] {
  const { imageUri, repoUrl } = wanted;
  const offers = templates.map(({ spec }) => spec);
  const missing: (keyof Offered)[] = [];
  if (imageUri !== undefined && !offers.some((offer) => offer.imageUri === imageUri)) missing.push('imageUri');
  if (repoUrl === undefined) return missing;
  const ofRepository = offers.filter((offer) => offer.repoUrl === repoUrl);
  if (ofRepository.length === 0) return [...missing, 'repoUrl'];
  const unfit = ofRepository.map((offer) =>
    (['repoRef', 'workflowConfigPath'] as const).filter(
      (field) => wanted[field] !== undefined && offer[field] !== undefined && wanted[field] !== offer[field],
    ),
  );
  const fewest = unfit.toSorted((a, b) => a.length - b.length)[0] ?? [];
  return [...missing, ...fewest];
}
