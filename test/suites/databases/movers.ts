// Who moves a database in these tests, and what of it is looked at. `Kubectl`: with the rights of an administrator, in the tenant.

type Kubectl = (...args: string[]) => Promise<string>;

/** anna may edit the namespace; bert may edit deployments alone. */
export async function grantRights(kubectl: Kubectl): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- two of them
  for (const role of ['edit', 'davit-editor'])
    await kubectl('create', 'rolebinding', `anna-${role}`, `--clusterrole=${role}`, '--user=anna');
  await kubectl('create', 'rolebinding', 'bert', '--clusterrole=davit-editor', '--user=bert');
}

/** The manifest of a deployment whose database is backed up, and hardly ever by the schedule. */
export function backedUpRecord(name: string, namespace: string): string {
  return JSON.stringify({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace },
    spec: {
      source: 'external_docker',
      sourceConfig: { database: { backup: { schedule: '0 0 1 1 *' } } },
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      secrets: [],
    },
  });
}

/** Name of the Secret from which the pods of `shop` have the URI of their database. */
export function secretOfUri(kubectl: Kubectl): Promise<string> {
  return kubectl(
    'get',
    'deployment',
    'shop',
    '-o',
    `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="POSTGRES_URI")].valueFrom.secretKeyRef.name}`,
  );
}
