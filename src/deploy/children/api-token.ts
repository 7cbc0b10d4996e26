// The credential of a pod for Davit's HTTP API: a token of its service account, bound to the pod, which the API server does not accept. The
// kubelet renews the file before the token expires.

import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { IVolume } from 'kubernetes-models/v1/Volume';
import type { Resolved } from '../../kinds/app-revision.ts';
import { API_TOKEN_AUDIENCE, API_TOKEN_LABEL } from '../../kinds/meta.ts';

type Api = NonNullable<Resolved['api']>;

const VOLUME = 'davit-api-token';
const FOLDER = '/var/run/secrets/davit.dev';
const TOKEN_SECONDS = 3600;

/** The template with the credential in the container of the record's image, which is the first. */
export function withApiToken(template: IPodTemplateSpec, api: Api | undefined): IPodTemplateSpec {
  const { metadata, spec } = template;
  const [main, ...others] = spec?.containers ?? [];
  if (api === undefined || !spec || !main) return template;
  const { env = [], volumeMounts = [] } = main;
  // A variable of the record takes precedence: an agent may reach the API by another address.
  const added = variables(api).filter(({ name }) => env.every((one) => one.name !== name));
  return {
    metadata: { ...metadata, labels: { ...metadata?.labels, [API_TOKEN_LABEL]: 'true' } },
    spec: {
      ...spec,
      containers: [
        {
          ...main,
          env: [...added, ...env],
          volumeMounts: [...volumeMounts, { name: VOLUME, mountPath: FOLDER, readOnly: true }],
        },
        ...others,
      ],
      volumes: [...(spec.volumes ?? []), volume(api)],
    },
  };
}

function variables({ url, caConfigMap }: Api): IEnvVar[] {
  return [
    { name: 'DAVIT_API_URL', value: url },
    { name: 'DAVIT_API_TOKEN_FILE', value: `${FOLDER}/token` },
    ...(caConfigMap === undefined ? [] : [{ name: 'DAVIT_API_CA_FILE', value: `${FOLDER}/ca.crt` }]),
  ];
}

function volume({ caConfigMap }: Api): IVolume {
  const token = { audience: API_TOKEN_AUDIENCE, expirationSeconds: TOKEN_SECONDS, path: 'token' };
  return {
    name: VOLUME,
    projected: {
      sources: [
        { serviceAccountToken: token },
        ...(caConfigMap === undefined
          ? []
          : [{ configMap: { name: caConfigMap, items: [{ key: 'ca.crt', path: 'ca.crt' }] } }]),
      ],
    },
  };
}
