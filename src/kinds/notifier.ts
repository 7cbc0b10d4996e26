// Notifier: who is told what becomes of the AppDeployments of its namespace.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { HttpsUrl } from './oauth-provider.ts';
import { celRules, ObjectName, ObservedStatus, text } from './primitives.ts';

/** Key of the Secret with which requests are signed. */
export const SIGNING_KEY = 'secret';
/** Deployments that one Notifier tells of. */
export const MOST_TOLD = 1000;

export const NotifierSpec = z
  .object({
    webhook: z
      .object({
        url: HttpsUrl.describe('Where events are sent, as POST requests. settings.webhooks.hosts lists the host.'),
        secretRef: z
          .object({ name: ObjectName.describe('Secret in the same namespace.') })
          .describe(`Secret whose key ${SIGNING_KEY} signs requests: whsec_ and 24 to 64 bytes in base64.`),
      })
      .describe('Events as Standard Webhooks.')
      .optional(),
    commitStatuses: z
      .boolean()
      .describe('true: commits of source codehost get a status at their code host.')
      .optional(),
  })
  .meta(
    celRules([
      {
        rule: 'has(self.webhook) || (has(self.commitStatuses) && self.commitStatuses)',
        message: 'set webhook, or commitStatuses to true',
      },
    ]),
  );
export type NotifierSpec = z.infer<typeof NotifierSpec>;

export const NotifierStatus = z.object({
  ...ObservedStatus.shape,
  told: z
    .record(text(253), z.record(text(64), text(256)).meta({ maxProperties: 32 }))
    .meta({ maxProperties: MOST_TOLD })
    .describe('The last event sent for each AppDeployment, by subject.')
    .optional(),
});
export type Told = NonNullable<z.infer<typeof NotifierStatus>['told']>[string];

export type Notifier = OwnObject<'Notifier', NotifierSpec, z.infer<typeof NotifierStatus>>;

export const NOTIFIERS = ownKind('Notifier');

export const NOTIFIER_CONDITIONS = {
  WebhookSent: 'The webhook has accepted every event.',
  CommitStatusesSent: 'The code hosts have accepted every commit status.',
} as const;
