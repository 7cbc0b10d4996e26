// Selects the base image: the one that the configuration file names, or the platform's for the language.

import { ImageReference } from '../../kinds/primitives.ts';
import { PlanFailure, shown } from './failure.ts';
import type { WorkflowConfig } from './workflow-config.ts';

export type Language = 'python' | 'node';

/**
 * Image references with the placeholders {version} and {distro}. A base image contains the runtime and its start
 * command.
 */
export type BaseImages = Readonly<Partial<Record<Language, string>>>;

/** Versions if the configuration file names none. */
export const DEFAULT_VERSIONS: Readonly<Record<Language, string>> = { python: '3.11', node: '20' };
const DEFAULT_DISTRO = 'debian';
const TITLES: Readonly<Record<Language, string>> = { python: 'Python', node: 'Node.js' };

export interface BaseImage {
  readonly image: string;
  readonly warnings: readonly string[];
}

export function baseImageFor(
  language: Language,
  config: Readonly<Partial<WorkflowConfig>>,
  baseImages: BaseImages,
): BaseImage {
  const given = language === 'python' ? config.python_version : config.node_version;
  const version = given || DEFAULT_VERSIONS[language];
  const distro = config.image_distro ?? DEFAULT_DISTRO;
  if (config.base_image) return { image: ownImage(config.base_image, version, distro), warnings: [] };

  const pattern = baseImages[language];
  if (!pattern)
    throw new PlanFailure(
      'BaseImageMissing',
      `This platform has no base image for ${TITLES[language]}. Ask the platform team to set one, or set base_image in the configuration file.`,
    );
  const image = pattern.replaceAll('{version}', version).replaceAll('{distro}', distro);
  if (!ImageReference.safeParse(image).success)
    throw new PlanFailure(
      'BaseImageMissing',
      `The platform's base image for ${TITLES[language]} is ${shown(image)}, which is not an image reference. Ask the platform team to correct the setting.`,
    );
  return {
    image,
    warnings: [
      ...(given && !pattern.includes('{version}') ? [notApplied(`${language}_version`, language)] : []),
      ...(config.image_distro && !pattern.includes('{distro}') ? [notApplied('image_distro', language)] : []),
      ...(config.api_version ? [notApplied('api_version', language)] : []),
      ...(config._INTERNAL_docker_tag ? [notApplied('_INTERNAL_docker_tag', language)] : []),
    ],
  };
}

/** Adds the version as the tag to an image reference without tag and digest. Throws PlanFailure for any other text. */
function ownImage(image: string, version: string, distro: string): string {
  if (!ImageReference.safeParse(image).success)
    throw new PlanFailure(
      'ConfigurationInvalid',
      `base_image is ${shown(image)}, which is not an image reference such as registry.example.com/team/base, with the path in lower case.`,
    );
  const last = image.slice(image.lastIndexOf('/') + 1);
  if (/[:@]/.test(last)) return image;
  return `${image}:${version}${distro === DEFAULT_DISTRO ? '' : `-${distro}`}`;
}

function notApplied(key: string, language: Language): string {
  return `${key} is not applied: the platform has one base image for ${TITLES[language]}.`;
}
