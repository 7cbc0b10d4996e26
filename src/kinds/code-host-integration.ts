// CodeHostIntegration: an account at a code host, and the tenants that may see its repositories. The object and the Secret with
// its credentials are in the organization's namespace.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { HttpsUrl, VALID_URL } from './oauth-provider.ts';
import { celRules, DNS_LABEL_PATTERN, integer, ObjectName, ObservedStatus, Time } from './primitives.ts';

export const CODE_HOST_KINDS = ['github', 'gitea'] as const;

/** Keys of the Secret with the credentials: an access token, or the private key of a GitHub App. */
export const TOKEN_KEY = 'token';
export const PRIVATE_KEY_KEY = 'private-key';
/** Key of the same Secret with what the host signs its webhooks with. */
export const WEBHOOK_SECRET_KEY = 'webhook-secret';

const appNumber = integer(1, Number.MAX_SAFE_INTEGER);

export const CodeHostIntegrationSpec = z
  .object({
    kind: z.enum(CODE_HOST_KINDS).describe('github: github.com or Enterprise Server. gitea: Gitea or Forgejo.'),
    apiUrl: HttpsUrl.meta({
      ...celRules([
        { rule: "!self.contains('?')", message: 'must not have a query' },
        { rule: VALID_URL, message: 'must be an absolute https URL without user, password or fragment' },
      ]),
    }).describe(
      'API URL: https://api.github.com, https://HOST/api/v3 (GitHub Enterprise Server) or https://HOST/api/v1 (Gitea).',
    ),
    app: z
      .object({
        id: appNumber.describe('App id.'),
        installationId: appNumber.describe('Installation whose repositories are listed.'),
      })
      .describe('GitHub App. If absent, the Secret holds a token.')
      .optional(),
    credentialsRef: z
      .object({ name: ObjectName.describe('Secret in the same namespace.') })
      .describe(
        `Secret with the credentials: key ${TOKEN_KEY}, or ${PRIVATE_KEY_KEY} (PEM) for a GitHub App; key ${WEBHOOK_SECRET_KEY}, with which the host signs webhooks.`,
      ),
    tenants: z
      .array(z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN)))
      .max(500)
      .default([])
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe('Names of the tenant namespaces whose users may see the repositories.'),
  })
  .meta(
    celRules([
      {
        rule: "!has(self.app) || self.kind == 'github'",
        message: 'app is for kind github',
        fieldPath: '.app',
        reason: 'FieldValueForbidden',
      },
    ]),
  );

export type CodeHostIntegrationSpec = z.infer<typeof CodeHostIntegrationSpec>;

export const CodeHostIntegrationStatus = z.object({
  ...ObservedStatus.shape,
  pushes: z
    .array(
      z.object({
        repository: z.string().min(1).max(512).describe('OWNER/NAME, in lower case.'),
        at: Time.describe('When the newest webhook arrived.'),
      }),
    )
    .max(100)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['repository'] })
    .describe('Repositories that a signed webhook reported a push to; the newest 100.')
    .optional(),
});

export type CodeHostIntegration = OwnObject<
  'CodeHostIntegration',
  CodeHostIntegrationSpec,
  z.infer<typeof CodeHostIntegrationStatus>
>;

export const CODE_HOST_INTEGRATIONS = ownKind('CodeHostIntegration');
