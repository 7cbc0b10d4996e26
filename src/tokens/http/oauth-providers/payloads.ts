// Requests and answers of the OAuth providers' endpoints as zod schemas. Single fields come from the custom resource's schema.

import { z } from 'zod';
import { id, time } from '../../../api/payload-fields.ts';
import { type Draft, withRules } from '../../../api/validation.ts';
import {
  CODE_CHALLENGE_METHODS,
  OAuthProviderSpec,
  ProviderId,
  TOKEN_ENDPOINT_AUTH_METHODS,
} from '../../../kinds/oauth-provider.ts';
import type { FieldError } from '../../../runtime/http/http-error.ts';

const { name, clientId, authUrl, tokenUrl, issuer, revocationUrl, providerType, mcpServerUrl } =
  OAuthProviderSpec.shape;

const clientSecret = z
  .string()
  .min(1)
  .max(4096)
  .describe('Client secret. It is stored in a Secret, and no answer contains it.');
const usesPkce = z.boolean().describe('Whether the flow uses PKCE. The default method is S256.');
const codeChallengeMethod = z.enum(CODE_CHALLENGE_METHODS).describe('How PKCE derives its challenge. Needs uses_pkce.');

export const NEEDS_PKCE = 'code_challenge_method needs uses_pkce';

/** Rejects a method in a request that disables PKCE. */
function* pkceRule(draft: Draft): Generator<FieldError> {
  const method = draft['code_challenge_method'];
  if (method !== undefined && method !== null && draft['uses_pkce'] === false)
    yield { loc: ['code_challenge_method'], msg: NEEDS_PKCE, type: 'value_error' };
}

const CreateProviderShape = z
  .object({
    provider_id: ProviderId.describe(
      'Letters, digits, ., _ and -, with a letter or digit among them. Cannot be changed.',
    ),
    name,
    client_id: clientId,
    client_secret: clientSecret.nullish(),
    auth_url: authUrl,
    token_url: tokenUrl,
    issuer,
    revocation_url: revocationUrl,
    uses_pkce: usesPkce.nullish(),
    code_challenge_method: codeChallengeMethod.nullish(),
    provider_type: providerType,
    mcp_server_url: mcpServerUrl,
    token_endpoint_auth_method: z
      .enum(TOKEN_ENDPOINT_AUTH_METHODS)
      .nullish()
      .describe('How the client authenticates at the token endpoint. Default: client_secret_post.'),
  })
  .meta({
    id: 'CreateOAuthProvider',
    examples: [
      {
        provider_id: 'issue-tracker',
        name: 'Issue tracker',
        client_id: 'a1b2c3',
        client_secret: 'correct horse battery staple',
        auth_url: 'https://tracker.example.com/oauth/authorize',
        token_url: 'https://tracker.example.com/oauth/token',
        uses_pkce: true,
      },
    ],
  });
export type CreateProvider = z.output<typeof CreateProviderShape>;

function* pkceByDefaultRule(draft: Draft): Generator<FieldError> {
  yield* pkceRule({ ...draft, uses_pkce: draft['uses_pkce'] ?? false });
}

export const CreateProvider = withRules(CreateProviderShape, [pkceByDefaultRule]);

/** The body of mcp-discover. */
export const McpDiscover = withRules(
  z
    .object({
      provider_id: CreateProviderShape.shape.provider_id,
      name,
      mcp_server_url: mcpServerUrl.unwrap().describe('Address of the MCP server, as its metadata names it.'),
    })
    .meta({
      id: 'DiscoverMcpProvider',
      examples: [{ provider_id: 'notes', name: 'Notes', mcp_server_url: 'https://notes.example.com/mcp' }],
    }),
  [],
);

const removable = (address: typeof issuer): z.ZodOptional<z.ZodNullable<z.ZodType<string>>> =>
  address.unwrap().or(z.literal('')).describe(`${address.description} "" removes it.`).nullish();

const PatchProviderShape = z
  .object({
    name: name.nullish(),
    client_id: clientId.nullish(),
    client_secret: clientSecret.nullish(),
    auth_url: authUrl.nullish(),
    token_url: tokenUrl.nullish(),
    issuer: removable(issuer),
    revocation_url: removable(revocationUrl),
    uses_pkce: usesPkce.nullish().describe('Whether the flow uses PKCE. false also clears code_challenge_method.'),
    code_challenge_method: codeChallengeMethod.nullish(),
  })
  .meta({
    id: 'PatchOAuthProvider',
    description:
      'Absent and null fields are unchanged; "" removes issuer and revocation_url. A change of auth_url, token_url, issuer or revocation_url needs the right to read the client secret, or the client secret itself in client_secret.',
    examples: [{ client_secret: 'battery horse staple' }, { uses_pkce: true, code_challenge_method: 'S256' }],
  });
export type PatchProvider = z.output<typeof PatchProviderShape>;

/** The body of PATCH. patch.ts has the rules that depend on the provider. */
export const PatchProvider = withRules(PatchProviderShape, [pkceRule]);

/** An id that is not valid cannot exist: it gets 404, not 422. */
export const ProviderPath = z.object({ provider_id: z.string().describe('provider_id of the provider.') });

export const OAuthProviderResponse = z
  .object({
    id,
    organization_id: id,
    provider_id: z.string(),
    name: z.string(),
    client_id: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    issuer: z.string().optional(),
    revocation_url: z.string().optional(),
    uses_pkce: z.boolean(),
    code_challenge_method: z.enum(CODE_CHALLENGE_METHODS).nullable(),
    created_at: time,
    updated_at: time,
    provider_type: z.string().nullable(),
    mcp_server_url: z.string().nullable(),
    token_endpoint_auth_method: z.enum(TOKEN_ENDPOINT_AUTH_METHODS),
    is_dynamic_client: z.boolean(),
  })
  .meta({
    id: 'OAuthProvider',
  });
export type OAuthProviderResponse = z.output<typeof OAuthProviderResponse>;

export const ProviderDeleted = z.object({ message: z.string() }).meta({
  id: 'Message',
});
