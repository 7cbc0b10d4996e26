import { expect, it } from 'vitest';
import { withApiToken } from './api-token.ts';

const API = { url: 'https://davit-api.davit-system.svc', caConfigMap: 'authorities' };
const pod = (env: readonly { name: string; value: string }[]): Parameters<typeof withApiToken>[0] => ({
  metadata: { labels: { a: 'b' } },
  spec: {
    containers: [
      { name: 'server', image: 'a', env: [...env], volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      { name: 'sidecar', image: 'b' },
    ],
    volumes: [{ name: 'v', emptyDir: {} }],
  },
});
const PLAIN = pod([{ name: 'PORT', value: '1' }]);

it('gives the credential to the first container alone', () => {
  const { metadata, spec } = withApiToken(PLAIN, API);
  expect(metadata?.labels).toEqual({ a: 'b', 'davit.dev/api-token': 'true' });
  const [main, sidecar] = spec?.containers ?? [];
  expect(main?.env?.map(({ name }) => name)).toEqual([
    'DAVIT_API_URL',
    'DAVIT_API_TOKEN_FILE',
    'DAVIT_API_CA_FILE',
    'PORT',
  ]);
  expect(main?.volumeMounts).toHaveLength(2);
  expect(sidecar).toEqual({ name: 'sidecar', image: 'b' });
  expect(spec?.volumes?.[1]?.projected?.sources).toHaveLength(2);
});

it('without an authority has neither its file nor its variable', () => {
  const { spec } = withApiToken(PLAIN, { url: API.url });
  expect(spec?.containers[0]?.env?.map(({ name }) => name)).toEqual(['DAVIT_API_URL', 'DAVIT_API_TOKEN_FILE', 'PORT']);
  expect(spec?.volumes?.[1]?.projected?.sources).toHaveLength(1);
});

it("leaves a record's variable of one of the names as it is", () => {
  const own = { name: 'DAVIT_API_URL', value: 'https://davit.example' };
  const env = withApiToken(pod([own]), API).spec?.containers[0]?.env ?? [];
  expect(env.filter(({ name }) => name === 'DAVIT_API_URL')).toEqual([own]);
});

it('changes no pod that gets none', () => {
  expect(withApiToken(PLAIN, undefined)).toBe(PLAIN);
});
