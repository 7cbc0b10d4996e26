// The examples of docs/examples: what each says is valid at both doors, and both of its files say the same.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { APP_DEPLOYMENTS, AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import { makeFacade } from '../http/facade.ts';

const folder = join(import.meta.dirname, '../../../docs/examples');
const names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const facade = await makeFacade();
afterAll(() => facade.app.close());

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}
const manifestOf = (name: string): Manifest =>
  parse(readFileSync(join(folder, name, `${name}.yaml`), 'utf8')) as Manifest;

describe.each(names)('%s', (name) => {
  it('is a record that the schema knows in every field', () => {
    const { apiVersion, kind, metadata, spec } = manifestOf(name);
    const { group, version } = APP_DEPLOYMENTS;
    expect([apiVersion, kind, metadata.name]).toEqual([`${group}/${version}`, 'AppDeployment', name]);
    // The parser leaves out what it does not know.
    expect(AppDeploymentSpec.parse(spec)).toMatchObject(spec);
  });

  it('is a body that the HTTP API takes strictly, and makes the same record of', async () => {
    const body = JSON.parse(readFileSync(join(folder, name, `${name}.json`), 'utf8')) as object;
    const answer = await facade.call('POST', '/v2/deployments?fieldValidation=Strict', body);
    expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
    const record = facade.records.list().find(({ metadata }) => metadata.name === name);
    expect(record?.spec).toMatchObject(manifestOf(name).spec);
  });

  it('has a README with the recipe of its image', () => {
    expect(readFileSync(join(folder, name, 'README.md'), 'utf8')).toContain(`${name}/image/Dockerfile`);
    expect(existsSync(join(folder, name, 'image/Dockerfile'))).toBe(true);
  });

  it('has an image that a pod which must not be root starts: its user is a number', () => {
    expect(readFileSync(join(folder, name, 'image/Dockerfile'), 'utf8')).toMatch(/^USER [1-9]\d*(:\d+)?$/m);
  });
});
