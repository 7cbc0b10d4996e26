// Requests and answers of the endpoints for tokens, as zod schemas.

import { z } from 'zod';
import { id, time } from '../../../api/payload-fields.ts';
import { ProviderId } from '../../../kinds/oauth-provider.ts';
import { listOf, oneOf, Printable, Uuid } from '../../../kinds/primitives.ts';
import { TokenEvent } from '../../oauth/trail.ts';

const providerId = ProviderId.describe('provider_id of the OAuth provider.');
const userId = Printable.min(1)
  .max(256)
  .describe("The person, as the caller names them. If absent, the caller's own username in the cluster.");
/** RFC 6749, 3.3. */
const scope = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without a space, a quote or a backslash');

export const Authenticate = z
  .object({
    provider: providerId,
    scopes: listOf(scope, 100).describe('Scopes that the token must have.'),
    user_id: userId.nullish(),
    agent_id: Printable.min(1)
      .max(256)
      .nullish()
      .describe(
        'The agent, as the caller names it. With it, only a token that is connected to the agent is used. Ids are separate for each caller: another account may use the same id for another agent.',
      ),
    force_new: z.boolean().nullish().describe('Whether to ask the person again even if a token exists.'),
    token_id: Uuid.nullish().describe('Use this token. If absent, the default one.'),
    is_default: z
      .boolean()
      .nullish()
      .describe(
        "Whether a token that needs the person's consent becomes the default one. Default: true. Has no effect with agent_id.",
      ),
  })
  .meta({
    id: 'Authenticate',
    examples: [{ provider: 'issue-tracker', scopes: ['issues:read'], user_id: 'ada', agent_id: 'triage' }],
  });
export type Authenticate = z.output<typeof Authenticate>;

const text = (description: string): z.ZodNullable<z.ZodString> => z.string().nullable().describe(description);

export const Authenticated = z
  .object({
    status: oneOf(['completed', 'pending', 'connection_required', 'token_expired']).describe(
      'completed: token is set. Otherwise the person has to open url: no token exists yet (pending), the existing one cannot be used, for example because of other scopes or a change of the provider (connection_required), or it has expired (token_expired).',
    ),
    url: text('Page on which the person consents. It expires after ten minutes.'),
    auth_id: text('For GET /v2/auth/wait/{auth_id}. It opens the page: treat it as a secret.'),
    token: text('Access token.'),
    token_id: text('Id of the token.'),
    user_id: z.string(),
    metadata: z.record(z.string(), z.unknown()).nullable().describe('Metadata of the token.'),
  })
  .meta({
    id: 'Authenticated',
  });
export type Authenticated = z.output<typeof Authenticated>;

export const WaitPath = z.object({ auth_id: z.string().max(128).describe('auth_id of POST /v2/auth/authenticate.') });
export const WaitQuery = z.object({
  timeout: z.coerce.number().int().min(0).max(300).default(30).describe('Seconds to wait at most.'),
});
export const Waited = z
  .object({
    status: oneOf(['completed', 'timeout', 'not_found', 'connection_required']).describe(
      'connection_required: the person did not allow every scope; request a new link. not_found: the authorization does not exist, was refused or has expired, or belongs to the agent of another account or deployment.',
    ),
    token: text('Access token, if completed.'),
  })
  .meta({ id: 'Waited' });

export const Confirm = z
  .object({
    confirmation: z.string().min(1).max(128).describe("Value that Davit added to the address of the tenant's page."),
    user_id: Printable.min(1)
      .max(256)
      .describe('The person who is signed in at that page, as the name that agents use as user_id.'),
  })
  .meta({
    id: 'ConfirmPerson',
    examples: [
      {
        confirmation: '6a1f0c9e-5b1d-8e77-a3c4-2d1e0f9a8b7c.a5sQ7mJmXcJ3nq6vG3nTz2Yw1m7d0yqVb0jv2m9p4q0',
        user_id: 'ada',
      },
    ],
  });
export const Confirmed = z
  .object({
    status: oneOf(['confirmed', 'wrong_person']).describe(
      'confirmed: redirect the browser of the person to url, where the token is stored. wrong_person: the agent requested another person; nothing is stored.',
    ),
    url: text('Address for the browser that consented. It works once, and only in that browser.'),
    message: z.string().describe('What to show to the person, as plain text: it contains names that people chose.'),
  })
  .meta({
    id: 'PersonConfirmed',
  });

export const OwnerQuery = z.object({ user_id: userId.optional() });
export const TokensQuery = z.strictObject({
  provider_id: providerId
    .optional()
    .describe('Only tokens of this provider. Needed by callers whose role names single providers.'),
  user_id: userId.optional(),
});
export const ProviderQuery = z.object({ provider_id: providerId, user_id: userId.optional() });
export const TokenPath = z.object({ token_id: Uuid.describe('Id of the token.') });

export const TokenInfo = z
  .object({
    id,
    provider_id: z.string(),
    user_id: z.string(),
    agent_id: text('The agent for which the person consented.'),
    scopes: z.array(z.string()),
    is_default: z.boolean(),
    metadata: z.record(z.string(), z.unknown()),
    created_at: time,
    updated_at: time,
    expires_at: time.nullable().describe('When the access token expires. It is refreshed if the provider allows it.'),
    last_used_at: time
      .nullable()
      .describe('When an agent last got it, to within five minutes. null if no agent has since the consent.'),
  })
  .meta({
    id: 'OAuthToken',
    description: 'A token without its value.',
  });
export type TokenInfo = z.output<typeof TokenInfo>;

export const TokenEventsQuery = z.strictObject({
  provider_id: providerId
    .optional()
    .describe('Only events of this provider. Needed by callers whose role names single providers.'),
  user_id: userId.optional().describe('Only events of this person.'),
  token_id: Uuid.optional().describe('Only events of this token.'),
});

export const TokenEvents = z.array(
  TokenEvent.meta({
    id: 'TokenEvent',
    description:
      'An event of a token. A tenant keeps the last 200 events. Of given and refreshed, it keeps the last for each token and caller.',
  }),
);

export const HasToken = z.object({ has_token: z.boolean() }).meta({ id: 'HasToken' });
export const TokensDeleted = z.object({ message: z.string(), provider_id: z.string() }).meta({
  id: 'TokensDeleted',
});

const LARGEST_METADATA = 4096;
export const PatchMetadata = z
  .object({
    metadata: z
      .record(z.string().min(1).max(64), z.union([Printable.max(1024), z.number(), z.boolean()]))
      .refine((value) => JSON.stringify(value).length <= LARGEST_METADATA, {
        error: `must have at most ${LARGEST_METADATA} characters as JSON`,
      })
      .describe('Replaces the metadata. It is not secret: lists show it.'),
  })
  .meta({ id: 'PatchTokenMetadata', examples: [{ metadata: { account: 'ada@example.com' } }] });

export const AgentPath = z.object({ agent_id: Printable.min(1).max(256).describe('agent_id of the agent.') });
export const ConnectionPath = AgentPath.extend({ connection_id: Uuid.describe('Id of the connection.') });
export const Connect = z
  .object({ oauth_token_id: Uuid.describe('Id of the token that the agent may use.') })
  .meta({ id: 'ConnectAgent', examples: [{ oauth_token_id: '3f0c8a52-77aa-8d21-a9b0-5b1d0e6f2c11' }] });
export const Connection = z
  .object({
    id,
    agent_id: z.string(),
    oauth_token_id: id,
    provider_id: z.string(),
    user_id: z.string(),
    created_at: time,
  })
  .meta({
    id: 'AgentConnection',
  });
export type Connection = z.output<typeof Connection>;
export const Connections = z.object({ data: z.array(Connection) }).meta({ id: 'AgentConnections' });
