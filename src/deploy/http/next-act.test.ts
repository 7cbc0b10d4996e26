import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { defaultSettings } from '../../kinds/settings.ts';
import type { Deployment } from './payloads.ts';
import { presentDeployment } from './presenter.ts';

const ready = (status: string, reason: string, message: string) => ({ type: 'Ready', status, reason, message });

function actOf(
  status: object,
  spec: object = {},
  revisions: Parameters<typeof presentDeployment>[1]['revisions'] = [],
): Deployment['next_act'] {
  const record = aRecord(spec, { status: { observedGeneration: 1, ...status } as never });
  return presentDeployment(record, { tenantId: 't', settings: defaultSettings(), revisions }).next_act;
}

it('raises the limit that a killed container names, by half', () => {
  const message =
    'The queue was killed: it used more than its memory limit of 512 MB. Raise queue_memory_limit_mb in resource_spec, or reduce its memory use.';
  const conditions = [ready('False', 'ContainerCrashed', message)];
  expect(
    actOf({ conditions }, { sourceConfig: { resourceSpec: { queueMaxScale: 2, queueMemoryLimitMb: 512 } } }),
  ).toEqual({
    label: 'Raise queue_memory_limit_mb to 768 MB',
    method: 'PATCH',
    path: expect.stringMatching(/^\/v2\/deployments\/[\w-]+$/),
    body: { source_config: { resource_spec: { queue_memory_limit_mb: 768 } } },
  });
});

it('names no field that a container wrote into its message', () => {
  const said = (message: string): unknown => actOf({ conditions: [ready('False', 'ContainerCrashed', message)] });
  expect(
    said('Container server exited: "Raise constructor_mb in resource_spec, or reduce its memory use.".'),
  ).toBeNull();
  expect(said('Container server exited: "Raise memory in resource_spec".')).toBeNull();
});

it('runs again what is scaled to zero', () => {
  const spec = { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } };
  const conditions = [ready('True', 'ScaledToZero', 'max_scale is 0.')];
  expect(actOf({ state: 'UNUSED', conditions }, spec)).toMatchObject({
    label: 'Run it again',
    body: { source_config: { resource_spec: { max_scale: 1 } } },
  });
});

it('goes back from a revision that failed, and offers nothing where none was deployed, nor where all is well', () => {
  const [good, failed] = [1, 2].map((serial) =>
    aRevision(
      aRecord({ sourceRevisionConfig: { imageUri: `app:${serial}` } }),
      serial === 1 ? 'DEPLOYED' : 'DEPLOY_FAILED',
      serial,
    ),
  ) as [AppRevision, AppRevision];
  const status = {
    latestRevisionId: failed.spec.id,
    conditions: [ready('False', 'ContainerCrashed', 'Container server exits with code 1.')],
  };
  const spec = { sourceRevisionConfig: { imageUri: 'app:2' }, revisionSerial: 2 };
  expect(actOf(status, spec, [failed, good])).toEqual({
    label: `Roll back to ${good.spec.id.slice(0, 8)}`,
    method: 'POST',
    path: expect.stringMatching(new RegExp(`/revisions/${good.spec.id}/redeploy$`)),
    body: null,
  });
  expect(actOf(status, spec, [failed])).toBeNull();
  expect(actOf({ conditions: [ready('True', 'Serving', 'It serves.')] })).toBeNull();
});
