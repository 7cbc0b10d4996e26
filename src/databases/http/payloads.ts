// Operations on the database of a deployment.

import { z } from 'zod';
import { time } from '../../api/payload-fields.ts';
import { response } from '../../deploy/http/components.ts';
import { DeploymentPath } from '../../deploy/http/payloads.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import {
  ACTION_DESCRIPTION,
  Accept,
  DatabaseOfDeployment,
  type DatastoreOperation,
  DatastoreOperationStatus,
  OperationDeletePrevious,
  OperationPatch,
  OperationRestore,
} from '../../kinds/datastore-operation.ts';
import { OPERATION_ACTIONS, OPERATION_PHASES } from '../../kinds/operation-phases.ts';
import { ObjectName } from '../../kinds/primitives.ts';
import { toSnake } from '../../runtime/http/casing.ts';

export const OperationPath = DeploymentPath.extend({
  operation_name: ObjectName.describe('Name of an operation of the deployment.'),
});

export const CreateOperation = z
  .object({
    action: z.enum(OPERATION_ACTIONS).describe(ACTION_DESCRIPTION),
    backup: z
      .object({
        archive: z
          .boolean()
          .optional()
          .describe(
            'Whether to make a base backup of the archive (driver cloudnative-pg) although the deployment also has dumps.',
          ),
      })
      .optional()
      .describe('How action Backup makes the backup.'),
    restore: OperationRestore.optional(),
    delete_previous: OperationDeletePrevious.optional(),
    patch: OperationPatch.optional(),
    accept: Accept.optional(),
  })
  .meta({ id: 'CreateOperation', examples: [{ action: 'Backup' }] });
export type CreateOperation = z.output<typeof CreateOperation>;

const {
  startedAt: _started,
  endedAt: _ended,
  conditions: _conditions,
  phase: _phase,
  ...shown
} = DatastoreOperationStatus.shape;
/** The part of the status that is shown as it is. */
const Shown = z.object(shown);

export const OperationResponse = z
  .object({
    name: z.string().describe('Name of the DatastoreOperation.'),
    action: z.enum(OPERATION_ACTIONS).describe('Action of the operation.'),
    phase: z
      .enum(OPERATION_PHASES)
      .describe(
        'Its progress. Succeeded and Failed are final. From Stopping until Starting no pod of the deployment runs.',
      ),
    reason: z
      .string()
      .nullable()
      .describe('Cause of the phase, as one word for programs. null: Davit has not handled the operation yet.'),
    message: z.string().nullable().describe('Cause of the phase and what to do, as text for people.'),
    requested_by: z.string().nullable().describe('Who requested it. null: not known.'),
    created_at: time.describe('When it was requested.'),
    started_at: time.nullable().describe('When its work started.'),
    ended_at: time.nullable().describe('When it ended.'),
    ...response(Shown).shape,
  })
  .meta({ id: 'Operation' });
export type OperationResponse = z.output<typeof OperationResponse>;

const Act = z
  .object({
    request: CreateOperation.describe(
      'Body of the request. A Restore names the newest listed backup, which you may replace by another one.',
    ),
    refused: z.string().nullable().describe('Why it would fail now, and what to do. null: it can be requested.'),
    loses: z.string().nullable().describe('Losses that accept of the request permits. null: nothing is lost.'),
  })
  .meta({ id: 'OperationAct' });

export const OperationList = z
  .object({
    resources: z.array(OperationResponse).describe('The operations of the deployment, the newest first.'),
    database: response(DatabaseOfDeployment)
      .nullable()
      .describe("The deployment's own PostgreSQL in use. null: the deployment has none, or has no revision yet."),
    acts: z
      .array(Act)
      .describe('Every operation on the datastores of the deployment, including those that would fail now.'),
  })
  .meta({
    id: 'OperationList',
  });
export type OperationList = z.output<typeof OperationList>;

export function presentOperation({ metadata, spec, status = {} }: DatastoreOperation): OperationResponse {
  const { phase = 'Pending', conditions, startedAt = null, endedAt = null } = status;
  const { reason = null, message = null } = conditionOf(conditions, phase === 'Failed' ? 'Failed' : 'Complete') ?? {};
  return {
    name: metadata.name,
    action: spec.action,
    phase,
    reason,
    message,
    requested_by: spec.requestedBy ?? null,
    created_at: metadata.creationTimestamp ?? '',
    started_at: startedAt,
    ended_at: endedAt,
    ...toSnake(Shown, status),
  };
}
