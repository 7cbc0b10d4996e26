// How a person's authorization ends: the code is exchanged for a token, which is stored.

import { providerIdOf } from '../../../kinds/provider-id.ts';
import { CodeHostFailed } from '../../../runtime/errors.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { OpenState } from '../../oauth/flow.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import { quirksOf } from '../../oauth/quirks.ts';
import { checkedCallback, GrantFailed } from '../../oauth/server.ts';
import { grantedScopes, missingScopes } from '../../oauth/token.ts';

/** What the person reads at the end, and the status of the answer. */
export interface End {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

/** What the provider returned: the parameters of the redirect. */
export interface Returned {
  readonly taken: OpenState;
  readonly parameters: URLSearchParams;
}

/** The error that the provider returned instead of a code. Throws GrantFailed if the answer is not this provider's. */
export function refusalOf({ taken, parameters }: Returned): string | undefined {
  const checked = checkedCallback(taken.provider, parameters, parameters.get('state') ?? '');
  return 'error' in checked ? checked.error : undefined;
}

/** The end of an authorization that the person refused. */
export const REFUSED = { status: 200, title: 'Access was refused' } as const;

/** Stores the token, or says why there is none. Only a state or a confirmation that was taken leads here. */
export async function endingOf(oauth: OAuth, returned: Returned, log: Logger): Promise<End> {
  return told(returned.taken, log, () => finished(oauth, returned));
}

/** What `run` returns, or an end that tells what it throws. */
export async function told<Result>(
  { provider }: Pick<OpenState, 'provider'>,
  log: Logger,
  run: () => Promise<Result>,
): Promise<Result | End> {
  try {
    return await run();
  } catch (error) {
    const isExpected = error instanceof GrantFailed || error instanceof CodeHostFailed || error instanceof HttpError;
    if (!isExpected) throw error;
    log.warn({ provider: providerIdOf(provider), reason: error.message }, 'An authorization failed');
    const text = `${error.message} Nothing was stored. Open the agent's link again, or tell your administrator.`;
    return { status: 502, title: 'The provider did not grant access', text };
  }
}

async function finished(oauth: OAuth, { taken, parameters }: Returned): Promise<End> {
  const { subject, provider, request, flow, verifier, redirectUri } = taken;
  const checked = checkedCallback(provider, parameters, parameters.get('state') ?? '');
  if ('error' in checked) {
    const answer = `${provider.spec.name} answered ${checked.error}.`;
    // Any other error is not the person's decision, so the link stays.
    if (checked.error !== 'access_denied') throw new GrantFailed('refused', answer);
    await oauth.flows.drop(flow);
    return { ...REFUSED, text: `${answer} The agent gets no access.` };
  }
  const grant = await oauth.server.exchange(await oauth.clientOf(provider), checked.callback, {
    redirectUri,
    verifier,
  });
  const { id } = await oauth.keep(subject, provider, request, grant);
  await oauth.flows.finish(flow, id);
  const missing = missingScopes(
    request.scopes,
    { ...grant, scopes: grantedScopes(grant.scope, request.scopes) },
    quirksOf(provider),
  );
  if (missing.length > 0) {
    const text = `${provider.spec.name} did not grant: ${missing.join(', ')}. Ask the agent for a new link, and allow every permission.`;
    return { status: 200, title: 'Connected with fewer permissions', text };
  }
  const text = `${provider.spec.name} is connected. You may close this page.`;
  return { status: 200, title: 'Connected', text };
}
