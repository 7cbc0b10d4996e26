// Where measurements come from: the last hour of metrics-server, and the Prometheus of the settings, which is asked by fixed queries alone. It
// may hang, refuse or lie: then there is a sentence.

import type { Settings } from '../../../kinds/settings.ts';
import { CodeHostFailed } from '../../../runtime/errors.ts';
import { makeGuardedFetch } from '../../../runtime/outbound/guarded-fetch.ts';
import { type History, makeHistory } from './history.ts';
import {
  MEASURES,
  type Measured,
  Misanswered,
  type PodsOfParts,
  queriesFor,
  type Steps,
  seriesIn,
  type Window,
} from './queries.ts';

interface Question {
  readonly namespace: string;
  readonly pods: PodsOfParts;
  readonly window: Window;
  readonly steps: Steps;
}

interface Prometheus {
  /** A sentence where it gives nothing that can be believed; undefined where the settings name none. */
  ask(question: Question): Promise<Measured | string | undefined>;
  close(): Promise<void>;
}

export interface UsageSources {
  readonly prometheus: Prometheus;
  readonly history: History;
}

/** For all queries of a question, at Davit and at Prometheus itself. */
const LIMIT_MS = 4000;
/** More than 80 series of 240 points have. */
const MAX_BYTES = 1024 * 1024;

export function makeUsageSources(settings: Pick<Settings, 'http' | 'proxy'>): UsageSources {
  return { prometheus: makePrometheus(settings), history: makeHistory() };
}

function makePrometheus({ http, proxy }: Pick<Settings, 'http' | 'proxy'>): Prometheus {
  const { prometheus } = http;
  if (prometheus === undefined) return { ask: () => Promise.resolve(undefined), close: () => Promise.resolve() };
  const { host, protocol } = new URL(prometheus);
  const guarded = makeGuardedFetch({
    // The platform's administrator names this one address, wherever it is.
    hosts: [{ host, addresses: ['0.0.0.0/0', '::/0'], plain: protocol === 'http:' }],
    proxies: proxy,
    peer: { name: 'Prometheus server', setting: 'http.prometheus' },
    maxBytes: MAX_BYTES,
  });

  async function send(query: string, steps: Steps, signal: AbortSignal): Promise<string> {
    const form = new URLSearchParams({ query, timeout: `${LIMIT_MS}ms` });
    for (const [name, seconds] of Object.entries(steps)) form.set(name, String(seconds));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = { method: 'POST', headers, body: form.toString(), signal };
    const { status, body } = await guarded.fetch(`${prometheus}/api/v1/query_range`, sent);
    if (status !== 200) throw new Misanswered(`Prometheus refused a query with status ${status}.`);
    return body;
  }

  return {
    close: guarded.close,
    async ask({ namespace, pods, window, steps }) {
      const queries = queriesFor(namespace, pods, window);
      const signal = AbortSignal.timeout(LIMIT_MS);
      try {
        const bodies = await Promise.all(MEASURES.map((measure) => send(queries[measure], steps, signal)));
        return seriesIn(bodies, { namespace, pods, steps });
      } catch (error) {
        if (error instanceof Misanswered || error instanceof CodeHostFailed) return error.message;
        throw error;
      }
    },
  };
}
