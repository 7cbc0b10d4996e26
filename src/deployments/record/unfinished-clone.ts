// A clone in another namespace whose data is not loaded yet: it has no pods, and it is finished by the command that began it. Imports no
// zod at run time, because kubectl-davit bundles it. Pure.

import { asObject, jsonOf } from '../../lib/json-value.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { CLONING_ANNOTATION } from '../../schema/meta.ts';
import { isScaledToZero } from './moving-database.ts';

/** How the plugin is called where nobody has called it. */
const PLUGIN = 'kubectl davit';

/** What the annotation of such a clone says. Anybody in its namespace may write it. */
export interface Cloning {
  /** uid of the origin. */
  readonly uid: string;
  readonly from?: { readonly namespace: string; readonly name: string };
  /** Absent where the origin's record does not say it. */
  readonly minScale?: number;
  readonly maxScale?: number;
}

/** Undefined for a deployment that is no such clone, or is finished. */
export function cloningOf({ metadata }: AppDeployment): Cloning | undefined {
  const cloning = jsonOf(metadata.annotations?.[CLONING_ANNOTATION]);
  return cloning === undefined ? undefined : (asObject(cloning) as unknown as Cloning);
}

/** As Kubernetes has names of namespaces; those of deployments are narrower. */
const NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** The deployment that it is a clone of; null where the annotation does not say it. */
export function cloneOrigin({ from }: Cloning): { readonly namespace: string; readonly name: string } | null {
  const { namespace, name } = from ?? {};
  return typeof namespace === 'string' && typeof name === 'string' && NAME.test(namespace) && NAME.test(name)
    ? { namespace, name }
    : null;
}

/** Finishes an unfinished clone; undefined where its annotation does not say of what it is one. */
export function commandToGoOn(record: AppDeployment, program = PLUGIN): string | undefined {
  const cloning = cloningOf(record);
  const origin = cloning && cloneOrigin(cloning);
  if (!origin) return undefined;
  const { name, namespace } = record.metadata;
  return `${program} clone ${origin.name} --namespace=${origin.namespace} --to=${name} --to-namespace=${namespace}`;
}

/**
 * What it is, and how to go on or to give up, as lines, with the commands of `program`; undefined for a deployment that is no unfinished
 * clone. The annotation proves nothing on a deployment that may have pods: who follows the advice to give up would delete what serves.
 */
export function unfinishedClone(
  record: AppDeployment,
  program = PLUGIN,
): readonly [is: string, ...todo: string[]] | undefined {
  const cloning = cloningOf(record);
  const { name, deletionTimestamp } = record.metadata;
  if (cloning === undefined || deletionTimestamp !== undefined || !isScaledToZero(record)) return undefined;
  const origin = cloneOrigin(cloning);
  const of = origin ? ` of ${origin.name} in namespace ${origin.namespace}` : '';
  const again = commandToGoOn(record, program) ?? 'run the command again that began it';
  return [
    `It is an unfinished clone${of}: its data is not loaded, and no pod runs until then.`,
    `To go on, with the contexts that it was begun with: ${again}`,
    `To give up: ${program} delete ${name}`,
  ];
}
