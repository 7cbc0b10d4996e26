import { afterEach, expect, it, vi } from 'vitest';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { nextAct, rollingBack } from './actions.tsx';
import { type Api, makeApi } from './api.ts';
import type { Question } from './dialog.tsx';

const deployment = { id: 'd1', name: 'shop', source_config: { resource_spec: {} } } as Deployment;
const revision = { id: 'r1', status: 'DEPLOYED', source_revision_config: { repo_commit_sha: null } } as Revision;
const raise = { label: 'Raise', method: 'PATCH', path: '/v2/deployments/d1', body: {} } as const;

afterEach(() => vi.unstubAllGlobals());

it.each([
  ['rollback', (api) => rollingBack({ api, deployment }, revision)],
  ['next act', (api) => nextAct({ api, deployment }, raise)],
] satisfies [string, (api: Api) => Question][])(
  'a %s changes the version that its dialog was opened with, and says what to do if there is another',
  async (_name, ask) => {
    let version = '"1"';
    const sent: (string | null)[] = [];
    vi.stubGlobal('fetch', async (_url: URL, { method = '', headers }: RequestInit) => {
      if (method === 'HEAD') return new Response(null, { headers: { etag: version } });
      const wanted = new Headers(headers).get('if-match');
      sent.push(wanted);
      return wanted === version ? new Response('{}') : new Response('{"detail":"other version"}', { status: 412 });
    });
    const api = makeApi({ credentials: { token: async () => 't' }, tenant: '' } as never, () => undefined);
    const question = ask(api);
    await new Promise(setImmediate);
    version = '"2"';
    await expect(question.send(new FormData())).rejects.toThrow('Close this dialog');
    await ask(api).send(new FormData());
    expect(sent).toEqual(['"1"', '"2"']);
  },
);
