// Setting `sizes`: sizes and scale of records that set none, for each deployment type. The defaults fit a laptop. The bounds
// equal those of the record's fields, so that a client can send back a value that it has read.

import { z } from 'zod';
import type { Component } from './meta.ts';
import { type Measure, NUMBER_FIELDS, ORDERED_MEASURES, ResourceSpec } from './resource-spec.ts';

const SMALL = {
  server: { cpu: 0.25, cpuLimit: 1, memoryMb: 512, memoryLimitMb: 1024, minScale: 1, maxScale: 1 },
  postgres: { cpu: 0.1, cpuLimit: 1, memoryMb: 256, memoryLimitMb: 1024, storageGi: 10, maxConnections: 100 },
  redis: { cpu: 0.05, cpuLimit: 0.5, memoryMb: 128, memoryLimitMb: 128 },
};
const LARGE = {
  server: { cpu: 1, cpuLimit: 2, memoryMb: 2048, memoryLimitMb: 4096, minScale: 1, maxScale: 10 },
  postgres: { cpu: 1, cpuLimit: 2, memoryMb: 2048, memoryLimitMb: 4096, storageGi: 10, maxConnections: 100 },
  redis: { cpu: 0.5, cpuLimit: 1, memoryMb: 512, memoryLimitMb: 512 },
};
type Numbers<Field extends string> = { readonly [Key in Field]: number };
type Part<Field extends string> = z.ZodPrefault<z.ZodType<Numbers<Field>, Partial<Numbers<Field>>>>;

/** One part of a preset. An absent value has its default. A limit below its request is rejected. */
function part<Field extends Measure>(of: Component, defaults: Numbers<Field>): Part<Field> {
  const shape = Object.fromEntries(
    Object.entries<number>(defaults).map(([measure, value]) => {
      const number = NUMBER_FIELDS.find((one) => one.part === of && one.measure === measure);
      if (!number) throw new Error(`no field of a ResourceSpec is ${measure} of ${of}`);
      const bounds = ResourceSpec.shape[number.field] as z.ZodOptional<z.ZodNumber>;
      return [measure, bounds.unwrap().default(value)];
    }),
  );
  const schema = z
    .strictObject(shape)
    .superRefine((values, context) => {
      for (const [low, high] of ORDERED_MEASURES) {
        const [least, most] = [values[low], values[high]];
        if (least !== undefined && most !== undefined && most < least)
          context.addIssue({ code: 'custom', path: [high], message: `must not be below ${low}, which is ${least}` });
      }
    })
    .prefault({});
  return schema as z.ZodPrefault<z.ZodType> as Part<Field>;
}

type Preset = z.ZodPrefault<
  z.ZodObject<
    {
      server: Part<keyof typeof SMALL.server>;
      postgres: Part<keyof typeof SMALL.postgres>;
      redis: Part<keyof typeof SMALL.redis>;
    },
    z.core.$strict
  >
>;

function preset({ server, postgres, redis }: typeof SMALL, of: string): Preset {
  return z
    .strictObject({
      server: part('server', server).describe('The main service, queue workers, orchestrator and executor.'),
      postgres: part('postgres', postgres).describe("The deployment's own PostgreSQL."),
      redis: part('redis', redis).describe("The deployment's own Redis."),
    })
    .prefault({})
    .describe(of);
}

export const Sizes = z
  .strictObject({
    plain: preset(SMALL, 'Records without a deployment type.'),
    dev_free: preset(SMALL, 'Deployment type dev_free.'),
    dev: preset(SMALL, 'Deployment type dev.'),
    prod: preset(LARGE, 'Deployment type prod.'),
  })
  .prefault({})
  .describe('Sizes and scale of records that set none, by deployment type. Applies to new revisions.');
export type Sizes = z.output<typeof Sizes>;
