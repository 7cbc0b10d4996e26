// ETag and If-Match: of two callers neither undoes the other's change unseen.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { type Answer, aBody, type Facade, makeFacade } from './facade.ts';

let facade: Facade;
let path: string;
let tag: string;
beforeEach(async () => {
  facade = await makeFacade();
  const made = await facade.call('POST', '/v2/deployments', aBody());
  path = `/v2/deployments/${made.body.id}`;
  tag = String(made.headers['etag']);
  facade.kube.writes.splice(0);
});

const image = (tag: number): object => ({ source_revision_config: { image_uri: `registry.example/app:${tag}` } });
const patch = (body: object, ifMatch: string): Promise<Answer> =>
  facade.call('PATCH', path, body, { 'if-match': ifMatch });
function stored(): AppDeployment | undefined {
  return facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0];
}
/** Writes the record as somebody else would; the facade's cache does not learn of it. */
function meddle(change: (record: AppDeployment) => AppDeployment): void {
  const record = stored();
  if (record === undefined) throw new Error('no record');
  facade.kube.seed(APP_DEPLOYMENTS, change(record));
}
function withImage({ metadata, spec, ...rest }: AppDeployment): AppDeployment {
  const sourceRevisionConfig = { imageUri: 'registry.example/app:9' };
  return { ...rest, metadata: { ...metadata, generation: 2 }, spec: { ...spec, sourceRevisionConfig } };
}
const withStatus = (record: AppDeployment): AppDeployment => ({ ...record, status: { state: 'READY' } });
/** Without the version of the answer, which If-Match ignores. */
const unversioned = (etag: unknown): string => String(etag).replace(/\.[\w-]+"$/, '"');
const images = (): unknown => stored()?.spec.sourceRevisionConfig.imageUri;

describe('an ETag', () => {
  it('is in every answer with a deployment, and changes with it', async () => {
    expect(tag).toMatch(/^"[0-9a-f-]{36}-1"$/);
    expect(unversioned((await facade.call('GET', path)).headers['etag'])).toBe(tag);
    const { headers } = await patch(image(2), tag);
    expect(headers['etag']).not.toBe(tag);
    expect(unversioned((await facade.call('GET', path)).headers['etag'])).toBe(headers['etag']);
  });

  it('matches after a change of the status, so a rollout does not block changes', async () => {
    const read = String((await facade.call('GET', path)).headers['etag']);
    meddle(withStatus);
    facade.records.fill();
    const now = (await facade.call('GET', path)).headers['etag'];
    expect([now === read, unversioned(now)]).toEqual([false, tag]);
    expect((await patch(image(2), read)).status).toBe(200);
    expect((await patch(image(3), read)).status).toBe(412);
  });
});

describe('If-Match on PATCH', () => {
  it('of two callers with the same version one changes it, and the other gets the current ETag', async () => {
    const first = await patch(image(2), tag);
    const second = await patch(image(3), tag);
    expect([first.status, second.status, images()]).toEqual([200, 412, 'registry.example/app:2']);
    expect(second.body.detail).toMatch(/^Deployment "[^"]+" is no longer the version that If-Match names\./);
    expect(second.headers['etag']).toBe(first.headers['etag']);
    expect((await patch(image(3), String(second.headers['etag']))).status).toBe(200);
  });

  it('detects a change that the cache does not contain yet', async () => {
    meddle(withImage);
    expect((await patch(image(2), tag)).status).toBe(412);
    expect(images()).toBe('registry.example/app:9');
  });

  it('accepts a version of another replica that the cache does not contain yet', async () => {
    meddle(withImage);
    const newer = tag.replace('-1"', '-2"');
    expect((await patch(image(2), newer)).status).toBe(200);
    expect(images()).toBe('registry.example/app:2');
  });

  it('leaves no Secret behind after a rejection', async () => {
    await patch(image(2), tag);
    facade.kube.writes.splice(0);
    const { status } = await patch({ secrets: [{ name: 'NEW', value: 'canary' }] }, tag);
    expect([status, facade.writes()]).toEqual([412, []]);
  });

  it.each([
    ['*', 200],
    ['"other", TAG', 200],
    ['W/TAG', 412],
    ['"other"', 412],
    ['TAG,', 400],
    ['bare', 400],
    ['', 400],
  ])('%s: %s', async (header, status) => {
    expect((await patch(image(2), header.replace('TAG', tag))).status).toBe(status);
  });

  it('may be long, and is not quoted in the answer', async () => {
    const { status, body } = await patch(image(2), `"${'x'.repeat(8_000)}"`);
    expect([status, body.detail.length < 200]).toEqual([412, true]);
  });

  it('applies to new revisions and rollbacks, too', async () => {
    await patch(image(2), tag);
    const stale = { 'if-match': tag };
    expect((await facade.call('POST', `${path}/revisions`, {}, stale)).status).toBe(412);
    const { body } = await facade.call('GET', `${path}/revisions`);
    const redeploy = `${path}/revisions/${body.resources[0].id}/redeploy`;
    expect((await facade.call('POST', redeploy, undefined, stale)).status).toBe(412);
  });
});

describe('If-Match on DELETE', () => {
  it('rejects a changed version, and deletes an unchanged one', async () => {
    const { headers } = await patch(image(2), tag);
    const stale = await facade.call('DELETE', `${path}?delete_tracing_project=true`, undefined, { 'if-match': tag });
    expect([stale.status, stored()?.metadata.deletionTimestamp]).toEqual([412, undefined]);
    expect(stored()?.spec.tracingProjectDeletionPolicy).not.toBe('Delete');
    const current = { 'if-match': String(headers['etag']) };
    expect((await facade.call('DELETE', `${path}?delete_tracing_project=true`, undefined, current)).status).toBe(204);
    expect(stored()?.metadata.deletionTimestamp ?? 'gone').not.toBeUndefined();
  });

  it('ignores a concurrent write of the status', async () => {
    meddle(withStatus);
    expect((await facade.call('DELETE', path, undefined, { 'if-match': tag })).status).toBe(204);
  });

  it('is 404 if another deployment has the name', async () => {
    const record = stored();
    if (record === undefined) throw new Error('no record');
    const { metadata, spec } = record;
    facade.kube.erase(APP_DEPLOYMENTS, { namespace: metadata.namespace ?? '', name: metadata.name });
    facade.kube.seed(APP_DEPLOYMENTS, {
      ...record,
      metadata: { name: metadata.name, namespace: metadata.namespace ?? '' },
      spec,
    });
    expect((await facade.call('DELETE', path, undefined, { 'if-match': tag })).status).toBe(404);
  });
});
