// The values of variables: rotated, referenced, and of before there was a policy.

import { type ApiClient, ApiError, pause } from '../../../cluster/api-client.ts';
import type { Acts } from './acts.ts';
import { childIn, hasCondition, MERGE, RECORD, type Scene, SECOND, until } from './stage.ts';

/** Values that may stand in no place but a Secret. What is in them would change in a URL, in JSON and in base64. */
export const CANARY = 'canary "6b1f" & co/';

const UNFIXED = `${RECORD}--vars-unfixed`;
/** Values of the second record, which the first names too. */
export const SHARED = `${SECOND}--values`;

export const OWN_SECRET = { metadata: { name: 'mine' }, stringData: { token: `${CANARY}none` } };

export function secretOfValues(serial: number, name = valuesName(serial), deployment: string = RECORD): object {
  const labels = { 'davit.dev/deployment': deployment, 'davit.dev/variables': '' };
  return { metadata: { name, labels }, stringData: { TOKEN: `${CANARY}${serial}` } };
}

export function referencesTo(serial: number, secretName = valuesName(serial)): object[] {
  return [{ name: 'TOKEN', secretName, secretKey: 'TOKEN' }];
}

function valuesName(serial: number): string {
  return `${RECORD}--values-${serial}`;
}

export async function rotate({ api, paths, change }: Acts): Promise<void> {
  // As the facade does: new values are a new Secret, and the record names that.
  await api.call('POST', paths.secrets, secretOfValues(2));
  await change({ secrets: referencesTo(2), revisionSerial: 2 });
}

export async function referenced({ stage, api, paths }: Acts): Promise<void> {
  const before = digestOf(stage);
  // Two values that belong together seldom come in one write.
  for (const token of ['first', 'second']) {
    await api.call('PATCH', `${paths.secrets}/mine`, { stringData: { token: `${CANARY}${token}` } }, MERGE);
    await pause(400);
  }
  await until(stage, 'referenced: new values', () => digestOf(stage) !== before);
  // Its generation is what it was: for a moment an old Ready looks like a new one.
  await pause(500);
}

export async function unfixed({ stage, api, paths, change }: Acts): Promise<void> {
  // Of before there was a policy against it: by its name the record's own values, and anybody may fill it.
  await createPastPolicy(api, paths.secrets, secretOfValues(1, UNFIXED));
  await change({ secrets: referencesTo(1, UNFIXED), revisionSerial: 2 });
  await until(stage, 'unfixed: SecretNotFixed', () => hasCondition(stage, 'Stalled', 'SecretNotFixed'));
  await api.call('PATCH', `${paths.secrets}/${UNFIXED}`, { immutable: true }, MERGE);
}

/** What the policy `davit-secrets` refuses, let through for as long as it takes. */
async function createPastPolicy(api: ApiClient, path: string, secret: object): Promise<void> {
  const binding =
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/davit-secrets?fieldManager=faults';
  const enforce = (action: 'Audit' | 'Deny'): Promise<unknown> =>
    api.call('PATCH', binding, { spec: { validationActions: [action] } }, MERGE);
  const end = performance.now() + 30_000;
  try {
    for (;;) {
      await enforce('Audit');
      try {
        await api.call('POST', path, secret);
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 403 || performance.now() > end) throw error;
      }
      await pause(100);
    }
  } finally {
    await enforce('Deny');
  }
}

/** What the pods of the main service were started with. */
function digestOf(scene: Scene): string | undefined {
  return childIn(scene, 'Deployment', RECORD)?.spec.template.metadata.annotations?.['davit.dev/secrets'];
}
