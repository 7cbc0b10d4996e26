// The only way to OAuth servers: listed hosts, one deadline, small answers.

import type { Settings } from '../../kinds/settings.ts';
import { type GuardedFetch, makeGuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import { DEADLINE_MS } from './server.ts';

const MAX_BYTES = 1024 * 1024;

export function guardedFetch({ oauth: { hosts }, proxy }: Pick<Settings, 'oauth' | 'proxy'>): GuardedFetch {
  return makeGuardedFetch({
    hosts,
    proxies: proxy,
    peer: { name: 'OAuth server', setting: 'oauth.hosts' },
    connectTimeoutMs: DEADLINE_MS,
    answerTimeoutMs: DEADLINE_MS,
    maxBytes: MAX_BYTES,
  });
}
