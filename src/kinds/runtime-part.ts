// How one part of a deployment is run: its command, how it is asked whether it can work, and how its pods end.

import { z } from 'zod';
import { asInPods } from '../runtime/http/casing.ts';
import { ChosenPlacement } from './placement.ts';
import { type CelRule, celRules, integer, text } from './primitives.ts';
import { Container } from './resource-spec.ts';

/** Time that a container has to stop after SIGTERM, in seconds. */
export const STOP_SECONDS = 30;
/** Delay before SIGTERM in a server, in which load balancers learn that it accepts no new connections, in seconds. */
export const SERVER_DRAIN_SECONDS = 5;

const MAX_GRACE_SECONDS = 7200;

/** Age at which a heartbeat file is too old if the record sets none, in seconds. */
export const HEARTBEAT_SECONDS = 60;

/** A path and query of an HTTP request, without spaces and fragment. */
export const HEALTH_PATH_PATTERN = '^/[!-"$-~]*$';

/** An absolute path of a file, printable. */
export const HEARTBEAT_FILE_PATTERN = '^/[^\\x00-\\x1f\\x7f]+$';

export const PRE_STOP_MESSAGE = 'set exactly one of sleep and exec';
export const GRACE_MESSAGE = 'the sleep of preStop must be shorter than terminationGracePeriodSeconds';
export const HEALTH_MESSAGE = 'set at most one of healthPath and healthCommand';
export const HEARTBEAT_MESSAGE = 'set only one of heartbeatFile, healthPath and healthCommand';
export const NO_HEARTBEAT_MESSAGE = 'heartbeatMaxAgeSeconds needs heartbeatFile';
export const RESTART_MESSAGE =
  'healthRestart needs healthCommand or heartbeatFile: a part with a port is restarted only when the port does not open';

const PreStop = asInPods(
  z
    .object({
      sleep: z
        .object({ seconds: integer(1, MAX_GRACE_SECONDS).describe('Seconds to wait before SIGTERM.') })
        .describe('Waits before SIGTERM, as in a pod.')
        .optional(),
      exec: z
        .object({
          command: z.array(text(8192)).min(1).max(100).describe('Command in the container, without a shell.'),
        })
        .describe('Runs a command before SIGTERM, as in a pod.')
        .optional(),
    })
    .meta(celRules([{ rule: 'has(self.sleep) != has(self.exec)', message: PRE_STOP_MESSAGE }])),
);

const { command, args } = Container.shape;
export const Port = integer(1, 65_535);
const ProbeSeconds = integer(1, 3600);
export const HealthPath = text(1024).regex(new RegExp(HEALTH_PATH_PATTERN));

/** Rules of one part. */
export const PART_RULES: readonly CelRule[] = [
  {
    rule: '!has(self.terminationGracePeriodSeconds) || !has(self.preStop) || !has(self.preStop.sleep) || self.preStop.sleep.seconds < self.terminationGracePeriodSeconds',
    message: GRACE_MESSAGE,
    fieldPath: '.preStop',
  },
  {
    rule: '!has(self.healthPath) || !has(self.healthCommand)',
    message: HEALTH_MESSAGE,
    fieldPath: '.healthCommand',
  },
  {
    rule: '!has(self.heartbeatFile) || (!has(self.healthPath) && !has(self.healthCommand))',
    message: HEARTBEAT_MESSAGE,
    fieldPath: '.heartbeatFile',
  },
  {
    rule: '!has(self.heartbeatMaxAgeSeconds) || has(self.heartbeatFile)',
    message: NO_HEARTBEAT_MESSAGE,
    fieldPath: '.heartbeatMaxAgeSeconds',
  },
  {
    rule: '!has(self.healthRestart) || !self.healthRestart || has(self.healthCommand) || has(self.heartbeatFile)',
    message: RESTART_MESSAGE,
    fieldPath: '.healthRestart',
  },
];

export const RuntimePart = z
  .object({
    command: command.describe(
      "Replaces the image's entrypoint. $(NAME) is replaced by the value of a variable, such as $(PORT).",
    ),
    args: args.describe('Arguments of the entrypoint. $(NAME) is replaced as in command.'),
    port: Port.describe(
      'Port that this part listens on, for its probes and PORT. Default: the port of the runtime.',
    ).optional(),
    healthPath: HealthPath.describe(
      'Path that answers 200 when a pod of this part can serve. Default: the health path of the runtime.',
    ).optional(),
    healthCommand: z
      .array(text(8192))
      .min(1)
      .max(100)
      .describe(
        'Command in the container, without a shell, that succeeds when a pod of this part can work. It replaces the probes of the port.',
      )
      .optional(),
    heartbeatFile: text(1024)
      .regex(new RegExp(HEARTBEAT_FILE_PATTERN))
      .describe(
        'File in the container that the program writes regularly: a pod of this part can work while the file is recent. The image needs sh, date and stat. It replaces the probes of the port.',
      )
      .optional(),
    heartbeatMaxAgeSeconds: integer(1, 86_400)
      .describe(`Seconds after its last write at which heartbeatFile is too old. Default: ${HEARTBEAT_SECONDS}.`)
      .optional(),
    healthPeriodSeconds: ProbeSeconds.describe(
      'Seconds between two health checks. Default: 5 for a health path, otherwise 10.',
    ).optional(),
    healthTimeoutSeconds: ProbeSeconds.describe(
      'Seconds that a health check may take. Default: 3 for a health path, otherwise 10.',
    ).optional(),
    healthFailureThreshold: integer(1, 1000)
      .describe('Failed health checks in a row after which a pod of this part cannot work. Default: 3.')
      .optional(),
    healthRestart: z
      .boolean()
      .describe(
        'true: the container is also restarted after such failures. At its start it has as long as a rollout to succeed. Needs healthCommand or heartbeatFile.',
      )
      .optional(),
    terminationGracePeriodSeconds: integer(1, MAX_GRACE_SECONDS)
      .describe(
        `Seconds that a pod has to stop, including preStop, before it is killed. If absent, ${STOP_SECONDS} after preStop.`,
      )
      .optional(),
    preStop: PreStop.describe(
      `What happens in the container before it gets SIGTERM. If absent, a server waits ${SERVER_DRAIN_SECONDS} s and the other parts do not wait.`,
    ).optional(),
    placement: ChosenPlacement.optional(),
  })
  .meta(celRules(PART_RULES));
export type RuntimePart = z.infer<typeof RuntimePart>;

type PreStopHook = { readonly sleep: { seconds: number } } | { readonly exec: { command: string[] } };

/** How a pod of a part ends: the time that it has, and the preStop hook of its container. */
export interface Draining {
  readonly terminationGracePeriodSeconds: number;
  readonly preStop?: PreStopHook;
}

/** The draining of a part, defaults filled in. A default wait before SIGTERM leaves at least a second to end. */
export function drainingOf(part: string, own: Readonly<RuntimePart> | undefined): Draining {
  const { preStop, terminationGracePeriodSeconds: given } = own ?? {};
  const drain = part === 'server' ? Math.min(SERVER_DRAIN_SECONDS, (given ?? Infinity) - 1) : 0;
  const sleep = preStop ? preStop.sleep : drain > 0 ? { seconds: drain } : undefined;
  const hook: PreStopHook | undefined = preStop?.exec ? { exec: preStop.exec } : sleep && { sleep };
  return {
    terminationGracePeriodSeconds: given ?? (sleep?.seconds ?? 0) + STOP_SECONDS,
    ...(hook && { preStop: hook }),
  };
}
