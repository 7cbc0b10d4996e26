// The versions of PostgreSQL and Redis that deployments run, and operations that patch them. Davit carries them out, a few at once.

import type { OperationResponse } from '../../databases/http/payloads.ts';
import type { Deployment as Answer } from '../../deploy/http/payloads.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { STORE_PARTS, type StorePart } from '../../kinds/meta.ts';
import { anOperation } from '../../kinds/operation-manifest.ts';
import { LOSSES, type Loss } from '../../kinds/operation-phases.ts';
import { API_FLAGS, type Command, type Context, Misuse, OUTPUT, printList, tell } from '../line/command.ts';
import { noDeployment } from '../line/not-found.ts';
import { PROGRAM } from '../line/program.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { Failure } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { readDeployments } from './build-log.ts';

/** One datastore of a deployment. */
interface Datastore {
  readonly namespace: string | null;
  readonly name: string;
  readonly datastore: StorePart;
  readonly image: string;
  /** As the server reports it. */
  readonly version: string | null;
  readonly since: string | null;
  /** The image that a patch brings; null if there is none. */
  readonly available: string | null;
}

interface Found {
  readonly all: readonly Datastore[];
  /** Names of all deployments, also of those without a datastore. */
  readonly names: readonly string[];
  /** Creates an operation, and resolves to its name. */
  create(datastore: Datastore, accept: readonly Loss[]): Promise<string>;
}

export const datastoresCommand: Command = {
  name: 'datastores',
  purpose: 'list the versions of PostgreSQL and Redis, or patch them',
  words: [
    { word: 'ACTION', names: 'action', need: 'optional', choices: ['patch'] },
    { word: 'NAME', names: 'deployment', need: 'any number' },
  ],
  flags: [
    { name: 'all', help: 'patch: every deployment with an outdated datastore' },
    {
      name: 'all-namespaces',
      short: 'A',
      help: 'the whole platform; needs the right to list deployments in all namespaces, and a kubeconfig',
    },
    { name: 'datastore', value: 'KIND', help: 'only this datastore', choices: STORE_PARTS },
    { name: 'accept', value: 'LOSS', help: 'patch: a loss that you accept', choices: LOSSES, isRepeated: true },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `VERSION is the version in the log of the server, and PATCH the image that a patch would install: another one of the same major version and base, from
the settings of the platform. patch creates a DatastoreOperation for each datastore and ends. Davit carries out a few at a time. kubectl get dsop
shows their progress. A patch restarts only the datastore; the pods of the deployment keep running.

PostgreSQL needs a verified backup from the last 24 hours, or --accept NoBackup. Redis has no volume, so a restart loses its queue: a patch needs
--accept QueueLost.

  PROGRAM datastores
  PROGRAM datastores patch shop
  PROGRAM datastores patch --all --accept NoBackup --accept QueueLost`,
  changes: {
    nothing: 'Nothing was patched.',
    by: ['create'],
    sent: () => 'The operations that were created continue. To see them: kubectl get dsop',
  },
  async run(context) {
    const { words, flags } = context;
    const [action, ...names] = words;
    if (action === undefined) {
      if (flags.has('all') || flags.has('accept')) throw new Misuse('--all and --accept are for patch.');
      return list(context, (await find(context)).all);
    }
    if (flags.has('all') === names.length > 0)
      throw new Misuse('patch needs the names of deployments, or --all for every outdated one.');
    return patch(context, names, await find(context));
  },
};

async function find(context: Context): Promise<Found> {
  const { flags } = context;
  const found = flags.has('all-namespaces') ? await findEverywhere(context) : await findInTenant(context);
  const only = flags.text('datastore');
  return { ...found, all: found.all.filter(({ datastore }) => only === undefined || datastore === only) };
}

async function findInTenant(context: Context): Promise<Found> {
  const api = await context.api();
  const deployments = await readDeployments<Answer>(api);
  const ids = new Map(deployments.map(({ name, id }) => [name, id]));
  return {
    names: [...ids.keys()],
    all: deployments.flatMap(({ name, datastores }) =>
      STORE_PARTS.flatMap((datastore) => {
        const one = datastores[datastore];
        return one ? [{ namespace: api.namespace ?? null, name, datastore, ...one }] : [];
      }),
    ),
    create: async ({ name, datastore }, accept) => {
      const body = { action: 'Patch', patch: { datastore }, ...(accept.length > 0 && { accept }) };
      return (await api.call<OperationResponse>('POST', `/v2/deployments/${ids.get(name)}/operations`, body)).name;
    },
  };
}

/** With kubectl: the HTTP API shows one tenant. */
async function findEverywhere({ kubectl }: Context): Promise<Found> {
  const text = await kubectl(['get', RECORDS, '--all-namespaces', '-o', 'json']);
  const { items } = JSON.parse(text) as { readonly items: readonly AppDeployment[] };
  return {
    names: items.map(({ metadata }) => metadata.name),
    all: items.flatMap(({ metadata: { name, namespace = '' }, status }) =>
      STORE_PARTS.flatMap((datastore) => {
        const one = status?.datastores?.[datastore];
        if (!one) return [];
        const { image, version = null, since = null, available = null } = one;
        return [{ namespace, name, datastore, image, version, since, available }];
      }),
    ),
    create: async ({ namespace, name, datastore }, accept) => {
      const operation = anOperation(
        { generateName: `${name}-`, namespace },
        { deployment: name, action: 'Patch', patch: { datastore }, accept: [...accept] },
      );
      return (
        await kubectl(['create', '--field-manager=kubectl-davit', '-o', 'name', '-f', '-'], JSON.stringify(operation))
      ).trim();
    },
  };
}

function list(context: Context, all: readonly Datastore[]): number {
  const now = Date.now();
  const isWide = context.flags.has('all-namespaces');
  const rowOf = ({ namespace, name, datastore, version, since, image, available }: Datastore): string[] => [
    ...(isWide ? [namespace ?? '-'] : []),
    name,
    datastore,
    version ?? '-',
    since === null ? '-' : ageOf(since, now),
    image,
    available ?? '-',
  ];
  const head = [...(isWide ? ['NAMESPACE'] : []), 'NAME', 'DATASTORE', 'VERSION', 'UP', 'IMAGE', 'PATCH'];
  printList(
    context,
    all,
    (rows) => tableOf([head, ...rows.map(rowOf)]),
    'No deployment has a PostgreSQL or Redis of Davit.',
  );
  return 0;
}

async function patch(context: Context, names: readonly string[], found: Found): Promise<number> {
  const missing = names.find((name) => !found.names.includes(name));
  if (missing !== undefined) throw new Failure(noDeployment(missing, context.flags.text('namespace'), found.names));
  const behind = found.all.filter(
    ({ name, available }) => available !== null && (names.length === 0 || names.includes(name)),
  );
  const losses = context.flags.texts('accept') as readonly Loss[];
  const isLeftOut = ({ datastore }: Datastore): boolean => datastore === 'redis' && !losses.includes('QueueLost');
  const operations: object[] = [];
  let made = 0;
  for (const one of behind.filter((datastore) => !isLeftOut(datastore))) {
    const { namespace, name, datastore } = one;
    const accept = losses.filter((loss) => (loss === 'QueueLost') === (datastore === 'redis'));
    try {
      operations.push({ namespace, name, datastore, operation: await found.create(one, accept) });
      made += 1;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      context.warn(`${name}: ${error.message}`);
      operations.push({ namespace, name, datastore, refused: error.message });
    }
  }
  const left = behind.filter(isLeftOut).length;
  if (left > 0)
    context.warn(
      `${left} Redis ${left === 1 ? 'was' : 'were'} left out, because a restart loses the queue. To patch them too: --accept QueueLost`,
    );
  tell(context, {
    says:
      made === 0
        ? `No operation was created. To see the versions: ${PROGRAM} datastores`
        : `${made} ${made === 1 ? 'operation was' : 'operations were'} created. To see the progress: kubectl get dsop`,
    result: { operations, leftOut: left, ...(made < operations.length && { exitCode: 1 }) },
  });
  return made === operations.length ? 0 : 1;
}
