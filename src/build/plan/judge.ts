// Judges a Dockerfile, a generated one too: the images that it names, and whether it uses the platform's package indexes.

import { foreignImageMessage, isForeignImage } from '../../api/registry-images.ts';
import { type Instruction, imagesUsed, instructionsOf, undeclared } from './dockerfile-text.ts';
import { PlanFailure } from './failure.ts';
import type { PlanOptions } from './steps.ts';

/** The programs that read each build argument of an index. */
const READERS = {
  PIP_INDEX_URL: /(^|[\s;&|/"'[])pip3?(?![\w.-])|-m\s+pip\b/,
  UV_DEFAULT_INDEX: /(^|[\s;&|/"'[])uv(?![\w.-])/,
  NPM_CONFIG_REGISTRY: /(^|[\s;&|/"'[])(npm|npx|pnpm|yarn)(?![\w.-])/,
} as const;

/** Throws PlanFailure if the Dockerfile names an image that is not for the tenant. Returns warnings. */
export function judged(dockerfile: string, { registry, indexes = [] }: PlanOptions): readonly string[] {
  const instructions = instructionsOf(dockerfile);
  if (registry) refuseForeign(instructions, registry);
  return Object.entries(READERS).flatMap(([argument, programs]) => {
    const line = indexes.includes(argument) ? undeclared(instructions, programs, argument) : undefined;
    return line === undefined
      ? []
      : [
          `Line ${line} of the Dockerfile does not use the platform's package index: its stage does not declare it. Add a line ARG ${argument} after FROM.`,
        ];
  });
}

function refuseForeign(instructions: readonly Instruction[], registry: NonNullable<PlanOptions['registry']>): void {
  for (const { line, image } of imagesUsed(instructions)) {
    // With tokens the registry itself gives the builder nothing of other tenants.
    if (image === undefined && registry.tokens !== true)
      throw new PlanFailure(
        'ImageNotAllowed',
        `Line ${line} of the Dockerfile names an image that cannot be known from its text. Write its name, or an ARG with a default before the first FROM.`,
      );
    if (image === undefined || !isForeignImage(image, registry, registry.own)) continue;
    throw new PlanFailure(
      'ImageNotAllowed',
      `Line ${line} of the Dockerfile: ${foreignImageMessage(image, registry, registry.own)}.`,
    );
  }
}
