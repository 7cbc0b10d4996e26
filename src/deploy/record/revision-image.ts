// The image that a revision runs: the one it was made with, or the one that was built for it.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { imagesOf } from '../../kinds/registry-images.ts';
import { parseImage } from './image.ts';

/** By digest where it was built; undefined while it is still to be built. */
export function imageOf({ spec, status }: Pick<AppRevision, 'spec' | 'status'>): string | undefined {
  return spec.resolved.image ?? (status?.build?.phase === 'Built' ? status.build.image : undefined);
}

/** The images of all containers of a revision's pods, those of init containers and sidecars too. */
export function imagesOfRevision(revision: AppRevision): string[] {
  const own = imageOf(revision);
  const { resourceSpec } = revision.spec.requested;
  const containers = Array.from(imagesOf({ sourceConfig: { resourceSpec } }), ({ image }) => image);
  return own === undefined ? containers : [own, ...containers];
}

/** The repositories of these images, each once. */
export function withoutTags(images: readonly string[]): string[] {
  return [...new Set(images.map((image) => parseImage(image).repository))];
}
