// What runs once for each revision, before its rollout.

import { z } from 'zod';
import { celRules, integer, text } from './primitives.ts';

/** Time that a migration has if the record sets none, in seconds. */
const MIGRATION_SECONDS = 600;
export const NO_COMMAND_MESSAGE =
  'set command or args: without them, the image would start its server instead of the migration';

const MigrationCommand = z.array(text(8192)).min(1).max(100);
export const Migrate = z
  .object({
    command: MigrationCommand.describe("Replaces the image's entrypoint. $(NAME) is replaced as in a part.").optional(),
    args: MigrationCommand.describe('Arguments of the entrypoint. $(NAME) is replaced as in a part.').optional(),
    timeoutSeconds: integer(1, 86_400)
      .describe(
        `Seconds after which the migration fails, including the pull of its image. Default: ${MIGRATION_SECONDS}.`,
      )
      .optional(),
  })
  .meta(celRules([{ rule: 'has(self.command) || has(self.args)', message: NO_COMMAND_MESSAGE }]));
export type Migrate = z.infer<typeof Migrate>;

export function timeoutOf({ timeoutSeconds = MIGRATION_SECONDS }: Readonly<Migrate>): number {
  return timeoutSeconds;
}
