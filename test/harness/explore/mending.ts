// What a careful person does when a record is in trouble: frees the quota, restores Secrets, gives up what is lost.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { CODE_HOST_INTEGRATIONS } from '../../../src/kinds/code-host-integration.ts';
import { EMPTY_DATABASE_ANNOTATION, PAUSED_ANNOTATION } from '../../../src/kinds/meta.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { ORGANIZATION } from './build-events.ts';
import { mendMove } from './database-moves.ts';
import { answerAgain } from './external-stores.ts';
import { putSecret } from './people-events.ts';
import { CNPG_MARK } from './postgres-cluster.ts';
import type { Scene } from './scene.ts';

export async function mend(scene: Scene, namespace: string): Promise<void> {
  for (const mark of ['quota', 'webhook', 'rights', 'stores', 'behind', CNPG_MARK])
    scene.setMark(namespace, mark, undefined);
  scene.setMark('', 'code host', undefined);
  answerAgain(scene, namespace);
  if (scene.get(CODE_HOST_INTEGRATIONS, ORGANIZATION, 'git') && !scene.get(SECRETS, ORGANIZATION, 'git'))
    putSecret(scene, ORGANIZATION, 'git', 'token');
  const tenant = scene.get(NAMESPACES, '', namespace);
  if (tenant && tenant.metadata.labels?.['davit.dev/tenant'] !== 'true')
    scene.change(NAMESPACES, tenant, { metadata: { labels: { 'davit.dev/tenant': 'true' } } });
  for (const record of scene.all<AppDeployment>(APP_DEPLOYMENTS, namespace)) {
    for (const { secretName, secretKey } of record.spec.secrets)
      if (!scene.get(SECRETS, namespace, secretName)) putSecret(scene, namespace, secretName, secretKey ?? 'key');
    const { name } = record.metadata;
    const stalled = record.status?.conditions?.find(({ type, status }) => type === 'Stalled' && status === 'True');
    const asked = stalled?.reason === 'VolumeMissing' ? givenUp(stalled.message) : undefined;
    const annotations = {
      [PAUSED_ANNOTATION]: null,
      ...(asked !== undefined && { [EMPTY_DATABASE_ANNOTATION]: asked }),
    };
    const again = stalled?.reason === 'MigrationFailed' && {
      spec: { revisionSerial: (record.spec.revisionSerial ?? 0) + 1 },
    };
    await scene.kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace, name },
      { metadata: { annotations }, ...again },
      { fieldManager: 'person' },
    );
    mendMove(scene, record);
  }
}

/** The value that the message asks for. */
function givenUp(message: string): string | undefined {
  return new RegExp(`${EMPTY_DATABASE_ANNOTATION}=([\\w-]+)`).exec(message)?.[1];
}
