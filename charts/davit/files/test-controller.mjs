// `helm test`: the controller observes a record and reports its status. The record is paused: the controller makes nothing for it, not
// even a finalizer, and it can be deleted without the controller.

import { readFileSync } from 'node:fs';

const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, NAMESPACE, CONTROLLER, SOURCE, PATIENCE_MS = '90000' } = process.env;
const host = KUBERNETES_SERVICE_HOST.includes(':') ? `[${KUBERNETES_SERVICE_HOST}]` : KUBERNETES_SERVICE_HOST;
const records = `https://${host}:${KUBERNETES_SERVICE_PORT}/apis/davit.dev/v1alpha1/namespaces/${NAMESPACE}/appdeployments`;
const token = readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8');
const NAME = 'davit-test';
const record = {
  apiVersion: 'davit.dev/v1alpha1',
  kind: 'AppDeployment',
  metadata: { name: NAME, annotations: { 'davit.dev/paused': 'true' } },
  spec: {
    source: SOURCE,
    // A platform may have no databases.
    sourceConfig: { runtime: { database: 'none', redis: 'none' } },
    sourceRevisionConfig: SOURCE === 'external_docker' ? { imageUri: 'davit.invalid/test:1' } : {},
  },
};

async function ask(method, url, body) {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  if (method === 'DELETE' && answer.status === 404) return {};
  if (!answer.ok) throw new Error(`${method} ${url} is answered with ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

// A test that was interrupted leaves its record behind.
await ask('DELETE', `${records}/${NAME}`);
await ask('POST', records, record);
const start = Date.now();
try {
  for (;;) {
    const { status } = await ask('GET', `${records}/${NAME}`);
    if (status?.observedGeneration >= 1) break;
    if (Date.now() - start >= Number(PATIENCE_MS))
      throw new Error(
        `The controller does not answer: it reported no status of AppDeployment ${NAMESPACE}/${NAME} within ${PATIENCE_MS / 1000} s. To find out why: kubectl logs -n ${CONTROLLER} deployment/davit-controller`,
      );
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  process.stdout.write(`The controller answered AppDeployment ${NAMESPACE}/${NAME} after ${((Date.now() - start) / 1000).toFixed(1)} s\n`);
} finally {
  await ask('DELETE', `${records}/${NAME}`).catch((error) => process.stderr.write(`${error.message}\n`));
}
