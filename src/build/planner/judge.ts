// Judges a Dockerfile, a generated one too: the images that it names, and whether it uses the platform's package indexes.

import { foreignImageMessage, isForeignImage } from '../../kinds/registry-images.ts';
import { type Instruction, instructionsOf } from '../../kinds/source-files.ts';
import { type IndexReader, imagesUsed, undeclared } from './dockerfile-text.ts';
import { PlanFailure } from './failure.ts';
import type { PlanOptions } from './steps.ts';

/** uv and npm accept an index of plain http; pip ignores it unless its host is trusted. */
const READERS: readonly IndexReader[] = [
  {
    index: 'PIP_INDEX_URL',
    also: { argument: 'PIP_TRUSTED_HOST', option: '--trusted-host' },
    programs: /(^|[\s;&|/"'[])pip3?(?![\w.-])|-m\s+pip\b/,
  },
  { index: 'UV_DEFAULT_INDEX', programs: /(^|[\s;&|/"'[])uv(?![\w.-])/ },
  { index: 'NPM_CONFIG_REGISTRY', programs: /(^|[\s;&|/"'[])(npm|npx|pnpm|yarn)(?![\w.-])/ },
];

/** Throws PlanFailure if the Dockerfile names an image that is not for the tenant. Returns warnings. */
export function judged(dockerfile: string, { registry, indexes = [] }: PlanOptions): readonly string[] {
  const instructions = instructionsOf(dockerfile);
  if (registry) refuseForeign(instructions, registry);
  return READERS.flatMap(({ also, ...reader }) => {
    if (!indexes.includes(reader.index)) return [];
    // The builder passes the second one for an index of plain http alone.
    const isPlain = also !== undefined && indexes.includes(also.argument);
    const found = undeclared(instructions, { ...reader, ...(isPlain && { also }) });
    if (found === undefined) return [];
    const { line, missing } = found;
    const what = missing.includes(reader.index)
      ? "does not use the platform's package index, because its stage does not declare it"
      : "uses the platform's package index, which is plain http, so pip ignores it, because its stage does not declare the host as trusted";
    return [`Line ${line} of the Dockerfile ${what}. Add a line ARG ${missing.join(' ')} after FROM.`];
  });
}

function refuseForeign(instructions: readonly Instruction[], registry: NonNullable<PlanOptions['registry']>): void {
  for (const { line, image } of imagesUsed(instructions)) {
    // With tokens the registry itself gives the builder nothing of other tenants.
    if (image === undefined && registry.tokens !== true)
      throw new PlanFailure(
        'ImageNotAllowed',
        `Line ${line} of the Dockerfile names an image that its text does not determine. Write the name of the image, or an ARG with a default before the first FROM.`,
      );
    if (image === undefined || !isForeignImage(image, registry, registry.own)) continue;
    throw new PlanFailure(
      'ImageNotAllowed',
      `Line ${line} of the Dockerfile: ${foreignImageMessage(image, registry, registry.own)}.`,
    );
  }
}
