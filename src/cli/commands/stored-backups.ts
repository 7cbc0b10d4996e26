// What the object store has of all tenants, for an administrator of the platform: by a Job beside Davit, which has a key for the whole store.

import type { StoredOf } from '../../deploy/archive/list.ts';
import { bytesText } from '../../kinds/text.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { type Context, printList } from '../line/command.ts';
import { tableOf } from '../text/table.ts';
import { Failure, ignoreFailure } from '../transport/kubectl.ts';

const LIST = 'davit-backup-list';
const EVERY_MS = 1000;
/** Milliseconds after which a Job that has not ended is given up. */
const PATIENCE_MS = 120_000;

export async function listStore(context: Context): Promise<number> {
  const { flags, kubectl } = context;
  const namespace = flags.text('davit-namespace') ?? 'davit-system';
  const job = `${LIST}-${context.clock.now()}`;
  await kubectl(['create', 'job', job, `--from=cronjob/${LIST}`, '-n', namespace]);
  const remove = ['delete', 'job', job, '-n', namespace, '--wait=false'];
  context.onInterrupt(() => `Job ${job} may still exist. To delete it: kubectl ${remove.join(' ')}`);
  try {
    await ended(context, namespace, job);
    const stored = jsonOf(await kubectl(['logs', `job/${job}`, '-n', namespace])) as {
      readonly backups: readonly StoredOf[];
    };
    const here = await namespacesHere(context);
    const all = stored.backups.map((one) => ({ ...one, exists: here.has(`${one.namespace}/${one.tenant}`) }));
    printList(context, all, tableOfStored, 'The store has no backups.');
    return 0;
  } finally {
    await kubectl(remove).catch(ignoreFailure);
  }
}

/** Throws Failure with the last words of its container. */
async function ended({ kubectl, clock }: Context, namespace: string, job: string): Promise<void> {
  const condition = 'jsonpath={.status.conditions[?(@.status=="True")].type}';
  for (const end = clock.now() + PATIENCE_MS; ; await clock.sleep(EVERY_MS)) {
    const types = (await kubectl(['get', 'job', job, '-n', namespace, '-o', condition])).split(' ');
    if (types.includes('Complete')) return;
    if (types.includes('Failed'))
      throw new Failure(`The store was not listed. ${await kubectl(['logs', `job/${job}`, '-n', namespace])}`);
    if (clock.now() >= end)
      throw new Failure(
        `Job ${job} has not ended. It needs the Secret in settings.backups.store.credentialsSecret in namespace ${namespace}, with a key that may list the whole store. See: kubectl describe pods -n ${namespace} -l job-name=${job}`,
      );
  }
}

/** Each as NAME/UID. */
async function namespacesHere({ kubectl }: Context): Promise<ReadonlySet<string>> {
  const each = 'jsonpath={range .items[*]}{.metadata.name}/{.metadata.uid} {end}';
  return new Set((await kubectl(['get', 'namespaces', '-o', each])).split(' '));
}

function tableOfStored(all: readonly (StoredOf & { readonly exists: boolean })[]): readonly string[] {
  return tableOf([
    ['NAMESPACE', 'UID', 'EXISTS', 'DEPLOYMENT', 'BACKUPS', 'NEWEST', 'SIZE'],
    ...all.map((one) => [
      one.namespace,
      one.tenant,
      one.exists ? 'yes' : '-',
      one.deployment,
      String(one.count),
      one.newest,
      bytesText(one.sizeBytes),
    ]),
  ]);
}
