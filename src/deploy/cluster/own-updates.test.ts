import { expect, it } from 'vitest';
import { FIELD_MANAGER } from '../../kinds/meta.ts';
import { Conflict } from '../../runtime/errors.ts';
import { DEPLOYMENTS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject, ManagedField } from '../../runtime/kube/client.ts';
import { leaveToApplies } from './own-updates.ts';

const APPLY: ManagedField = { manager: FIELD_MANAGER, operation: 'Apply', fieldsV1: { 'f:spec': { 'f:a': {} } } };
const UPDATE: ManagedField = { manager: FIELD_MANAGER, operation: 'Update', fieldsV1: { 'f:spec': { 'f:b': {} } } };
const STATUS: ManagedField = { manager: FIELD_MANAGER, operation: 'Update', subresource: 'status', fieldsV1: {} };
const OTHER: ManagedField = { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:c': {} } } };
const BOTH: ManagedField = { ...APPLY, fieldsV1: { 'f:spec': { 'f:a': {}, 'f:b': {} } } };

const made = (resourceVersion: string, managedFields: readonly ManagedField[]): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop', namespace: 'team', uid: 'u', resourceVersion, managedFields },
});

/** An API server whose object changes before each of the first patches. */
function changing(times: number): {
  readonly patches: unknown[];
  readonly client: Parameters<typeof leaveToApplies>[2];
} {
  const patches: unknown[] = [];
  let version = 1;
  const client = {
    get: () => Promise.resolve(made(String(version), [APPLY, UPDATE])),
    mergePatch: (_resource: unknown, _place: unknown, patch: object) => {
      patches.push(patch);
      version += 1;
      return patches.length > times ? Promise.resolve(made('9', [BOTH])) : Promise.reject(new Conflict('patch'));
    },
  };
  return { patches, client: client as unknown as Parameters<typeof leaveToApplies>[2] };
}

it('what a patch owns becomes what an apply owns, and entries of others stay', async () => {
  const { patches, client } = changing(0);
  expect(await leaveToApplies(made('1', [APPLY, OTHER, UPDATE, STATUS]), DEPLOYMENTS, client)).toBe(true);
  expect(patches).toEqual([{ metadata: { uid: 'u', resourceVersion: '1', managedFields: [BOTH, OTHER, STATUS] } }]);
});

it('without such a patch nothing is written', async () => {
  const { patches, client } = changing(0);
  expect(await leaveToApplies(made('1', [APPLY, OTHER, STATUS]), DEPLOYMENTS, client)).toBe(false);
  expect(patches).toEqual([]);
});

it('a status that is written meanwhile does not prevent it', async () => {
  const { patches, client } = changing(2);
  expect(await leaveToApplies(made('1', [APPLY, UPDATE]), DEPLOYMENTS, client)).toBe(true);
  expect(patches).toMatchObject(['1', '2', '3'].map((resourceVersion) => ({ metadata: { resourceVersion } })));
});

it('an object that changes all the time is left to the next apply', async () => {
  const { patches, client } = changing(Infinity);
  await expect(leaveToApplies(made('1', [APPLY, UPDATE]), DEPLOYMENTS, client)).rejects.toThrow(Conflict);
  expect(patches).toHaveLength(5);
});
