// Variables of a deployment over HTTP: one at a time, merged into the set, and answers without values.

import { beforeEach, describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/deploy/http/payloads.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Conflict, Forbidden } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TOKEN } from './facade.ts';

const KEY = { name: 'KEY', value: 'canary-one' };
const OTHER = { name: 'OTHER', value: 'canary-two' };
const REFERENCE = { name: 'REFERENCE', secret_name: 'mine', secret_key: 'x' };
const first = 'shop--vars-r4nd0m';

let facade: Facade;
let path: string;
let tag: string;
beforeEach(() => start());
async function start(settings: Parameters<typeof makeFacade>[0] = {}, more: object = {}): Promise<void> {
  facade = await makeFacade(settings);
  const body = aBody({ secrets: [KEY, OTHER], secret_references: [REFERENCE], ...more });
  const made = await facade.call('POST', '/v2/deployments', body);
  path = `/v2/deployments/${made.body.id}`;
  tag = String(made.headers['etag']);
  facade.kube.writes.splice(0);
}

const put = (name: string, value: unknown, headers = {}): Promise<Answer> =>
  facade.call('PUT', `${path}/secrets/${name}`, { value }, headers);
const remove = (name: string, headers = {}): Promise<Answer> =>
  facade.call('DELETE', `${path}/secrets/${name}`, undefined, headers);
const merge = (secrets: object[], more: object = {}): Promise<Answer> =>
  facade.call('PATCH', path, { secrets, secrets_mode: 'merge', ...more });
function stored(): AppDeployment['spec'] {
  const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  if (record === undefined) throw new Error('no record');
  return record.spec;
}
/** The Secret of each variable, by name, and the revision. */
function state(): [Record<string, string>, number | undefined] {
  const { secrets, revisionSerial } = stored();
  return [Object.fromEntries(secrets.map(({ name, secretName }) => [name, secretName])), revisionSerial];
}
const unchanged = [{ KEY: first, OTHER: first }, 1];
function said(): string[] {
  return facade.writes().map(({ verb, kind, dryRun }) => `${verb} ${kind}${dryRun === true ? ' dry run' : ''}`);
}

describe('PUT of one variable', () => {
  it("changes it in a new Secret, with the caller's token, and the other keeps its own", async () => {
    const { status, body, headers } = await put('KEY', 'new');
    expect([status, Deployment.parse(body)]).toEqual([200, body]);
    expect(body.secrets).toEqual([{ ...KEY, value: 'new' }, OTHER]);
    expect(state()).toEqual([{ KEY: `${first}1`, OTHER: first }, 2]);
    expect(said()).toEqual(['patch AppDeployment dry run', 'create Secret', 'patch AppDeployment']);
    expect(facade.writes().every(({ token }) => token === TOKEN)).toBe(true);
    expect(headers['etag']).toBe((await facade.call('GET', path)).headers['etag']);
  });

  it.each([
    ['a new one', 'NEW', 'x', { KEY: first, OTHER: first, NEW: `${first}1` }, 2],
    ['an empty value, which a PATCH could not set', 'KEY', '', { KEY: `${first}1`, OTHER: first }, 2],
    ['the value in force', 'KEY', 'canary-one', { KEY: first, OTHER: first }, 1],
  ])('%s', async (_name, name, value, secrets, serial) => {
    const { body } = await put(name, value);
    expect(state()).toEqual([secrets, serial]);
    expect(body.secrets.find((one: { name: string }) => one.name === name)?.value).toBe(value);
    expect(body.warnings).toBeUndefined();
  });

  it('of a caller who may not read it makes a new revision each time', async () => {
    facade.kube.failOn(({ verb, kind }) => (kind === 'Secret' && verb === 'get' ? new Forbidden('no') : undefined));
    const { body } = await put('KEY', 'canary-one');
    expect(stored().revisionSerial).toBe(2);
    expect(body.secrets).toEqual([KEY, { ...OTHER, value: '' }]);
  });

  it.each<[string, string, unknown, [(string | number)[], string, string]]>([
    [
      'a name that is a reference',
      'REFERENCE',
      'x',
      [['path', 'secret_name'], 'a name may be in secrets or in secret_references, not in both', 'value_error'],
    ],
    [
      'a name of the platform',
      'PORT',
      'x',
      [['path', 'secret_name'], expect.stringMatching(/^these names are set by the platform: /), 'value_error'],
    ],
    [
      'a name that is none',
      '1-a',
      'x',
      [
        ['path', 'secret_name'],
        'must be the name of an environment variable: letters, digits and _, not beginning with a digit',
        'string_pattern_mismatch',
      ],
    ],
    ['a long value', 'KEY', 'x'.repeat(32769), [['body', 'value'], 'must be at most 32 KiB', 'string_too_long']],
    ['null', 'KEY', null, [['body', 'value'], 'is required', 'missing']],
    [
      'text that cannot be stored',
      'KEY',
      '\0',
      [['body', 'value'], 'must be text without NUL characters or broken surrogate pairs', 'string_unicode'],
    ],
  ])('refuses %s', async (_name, name, value, [loc, msg, type]) => {
    const { status, body } = await put(name, value);
    expect([status, body.detail]).toEqual([422, [{ loc, msg, type }]]);
    expect([state(), said().filter((write) => !write.endsWith('dry run'))]).toEqual([unchanged, []]);
  });

  it('refuses the 101st, and more than 512 KiB together', async () => {
    const many = Array.from({ length: 100 }, (_, n) => ({ name: `V${n}`, value: 'x'.repeat(n < 16 ? 32000 : 1) }));
    await start({}, { secrets: many });
    const of = async (name: string, value: string): Promise<unknown> => (await put(name, value)).body.detail;
    const loc = ['path', 'secret_name'];
    expect(await of('ONE_MORE', 'x')).toEqual([{ loc, msg: 'must have at most 100 items', type: 'too_long' }]);
    expect(await of('V99', 'x'.repeat(20000))).toEqual([
      { loc, msg: 'must be at most 512 KiB together', type: 'too_long' },
    ]);
  });
});

describe('DELETE of one variable', () => {
  it('removes it, and then the last one', async () => {
    const { status, body } = await remove('KEY');
    expect([status, Deployment.parse(body).secrets, state()]).toEqual([200, [OTHER], [{ OTHER: first }, 2]]);
    expect((await remove('OTHER')).body.secrets).toEqual([]);
    expect(state()).toEqual([{}, 3]);
    expect(said()).toEqual(['patch AppDeployment', 'patch AppDeployment']);
  });

  it.each([
    ['NONE', 'Secret NONE not found.'],
    ['REFERENCE', 'Secret REFERENCE not found. It is in secret_references, which a PATCH changes.'],
  ])('%s is 404', async (name, detail) => {
    const { status, body } = await remove(name);
    expect([status, body.detail, said()]).toEqual([404, detail, []]);
  });

  it('refuses a variable that the platform requires', async () => {
    const uris = ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((name) => ({ name, value: 'x://y' }));
    await start({ database: { ...defaultSettings().database, own: false } }, { secrets: uris });
    const { status, body } = await remove('POSTGRES_URI_CUSTOM');
    const msg = 'this platform provides no databases: set POSTGRES_URI_CUSTOM, or database of runtime to none';
    expect([status, body.detail]).toEqual([422, [{ loc: ['path', 'secret_name'], msg, type: 'missing' }]]);
  });
});

describe('If-Match of one variable', () => {
  it.each<[string, () => Promise<Answer>]>([
    ['PUT', () => put('KEY', 'new', { 'if-match': tag })],
    ['DELETE', () => remove('KEY', { 'if-match': tag })],
  ])('%s is refused after a change', async (_name, change) => {
    expect((await change()).status).toBe(200);
    const { status, headers } = await change();
    expect([status, headers['etag']]).toEqual([412, (await facade.call('GET', path)).headers['etag']]);
  });

  it('without it a concurrent change of another variable is not lost', async () => {
    let conflicts = 1;
    facade.kube.failOn(({ verb, dryRun }) => {
      if (verb !== 'patch' || dryRun === true || conflicts === 0) return undefined;
      conflicts -= 1;
      const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
      if (record) {
        const secrets = record.spec.secrets.filter(({ name }) => name === 'KEY');
        facade.kube.seed(APP_DEPLOYMENTS, { ...record, spec: { ...record.spec, secrets } });
      }
      return new Conflict('changed');
    });
    expect((await put('NEW', 'x')).status).toBe(200);
    expect(Object.keys(state()[0])).toEqual(['KEY', 'NEW']);
  });
});

describe('secrets_mode merge', () => {
  it('changes, adds, keeps and removes', async () => {
    const { status, body } = await merge([
      { ...KEY, value: 'new' },
      { name: 'NEW', value: '' },
      { name: 'OTHER', value: null },
    ]);
    expect([status, body.warnings]).toEqual([200, undefined]);
    expect(body.secrets).toEqual([
      { ...KEY, value: 'new' },
      { name: 'NEW', value: '' },
    ]);
    expect(state()).toEqual([{ KEY: `${first}1`, NEW: `${first}1` }, 2]);
  });

  it.each<[string, object[]]>([
    ['an empty list', []],
    ['""', [{ ...KEY, value: '' }]],
    ['the value in force', [KEY]],
  ])('%s changes nothing, without a warning', async (_name, secrets) => {
    const { body } = await merge(secrets);
    expect([body.warnings, state()]).toEqual([undefined, unchanged]);
  });

  it('null for a name without a value is a warning', async () => {
    const { body } = await merge([{ name: 'NONE', value: null }]);
    expect(body.warnings).toEqual([
      { loc: ['body', 'secrets', 0, 'name'], msg: 'has no value to remove', type: 'unchanged' },
    ]);
    expect(state()).toEqual(unchanged);
  });

  it('a variable moves to the references', async () => {
    const moved = { name: 'KEY', secret_name: 'mine', secret_key: 'key' };
    const { status, body } = await merge([{ name: 'KEY', value: null }], { secret_references: [REFERENCE, moved] });
    expect([status, body.secrets, body.secret_references]).toEqual([200, [OTHER], [REFERENCE, moved]]);
  });

  it.each<[string, object[], object, unknown[]]>([
    ['a reference', [{ name: 'REFERENCE', value: 'x' }], {}, [['body.secrets.0.name', /not in both/]]],
    [
      'a reference to a name that stays',
      [KEY],
      { secret_references: [{ ...REFERENCE, name: 'OTHER' }] },
      [['body.secret_references.0.name', /not in both/]],
    ],
    ['a missing value', [{ name: 'KEY' }], {}, [['body.secrets.0.value', /^is required$/]]],
  ])('refuses %s', async (_name, secrets, more, findings) => {
    const { status, body } = await merge(secrets, more);
    const found = body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg]);
    const wanted = (findings as [string, RegExp][]).map(([loc, msg]) => [loc, expect.stringMatching(msg)]);
    expect([status, found, state()]).toEqual([422, wanted, unchanged]);
  });
});

describe('a list that replaces the set', () => {
  it.each<[string, unknown[], object[]]>([
    [
      'that omits a name',
      [KEY],
      [
        {
          loc: ['body', 'secrets'],
          msg: 'removed OTHER: the list replaces the whole set. Send secrets_mode merge to keep what it does not name',
          type: 'removed',
        },
      ],
    ],
    [
      'that is empty',
      [],
      [
        {
          loc: ['body', 'secrets'],
          msg: 'an empty list changes nothing. To remove a variable, send DELETE /v2/deployments/{deployment_id}/secrets/{secret_name}, or secrets_mode merge and null as its value',
          type: 'unchanged',
        },
      ],
    ],
  ])('%s gets a warning, also for a new revision', async (_name, secrets, warnings) => {
    const { status, body } = await facade.call('PATCH', path, { secrets, xyzzy: 1 });
    const unknown = { loc: ['body', 'xyzzy'], msg: 'is not a known field', type: 'extra_forbidden' };
    expect([status, body.warnings]).toEqual([200, [unknown, ...warnings]]);
    await start();
    const revision = await facade.call('POST', `${path}/revisions?fieldValidation=Strict`, { secrets });
    expect([revision.status, revision.body.warnings]).toEqual([201, warnings]);
  });

  it('a warning has at most 20 names', async () => {
    const secrets = Array.from({ length: 30 }, (_, n) => ({ name: `V${n}`, value: '1' }));
    await start({}, { secrets });
    const { body } = await facade.call('PATCH', path, { secrets: secrets.slice(0, 1) });
    expect(body.warnings[0].msg).toMatch(/^removed V1, .*, V20 and 9 more: /);
  });

  it('has no warning where nothing is lost', async () => {
    const whole = await facade.call('PATCH', path, { secrets: [KEY, { ...OTHER, value: '' }] });
    expect(whole.body.warnings).toBeUndefined();
    await start({}, { secrets: [] });
    expect((await facade.call('PATCH', path, { secrets: [] })).body.warnings).toBeUndefined();
  });

  it('refuses null', async () => {
    const { status, body } = await facade.call('PATCH', path, { secrets: [{ name: 'KEY', value: null }] });
    const msg = 'must be a string: null removes a variable only with secrets_mode merge';
    expect([status, body.detail]).toEqual([422, [{ loc: ['body', 'secrets', 0, 'value'], msg, type: 'string_type' }]]);
  });
});

describe('secrets=names', () => {
  const names = [
    { name: 'KEY', value: '' },
    { name: 'OTHER', value: '' },
  ];
  /** Every request that answers with a deployment. */
  const requests: [string, () => Promise<Answer>][] = [
    ['GET', () => facade.call('GET', `${path}?secrets=names`)],
    ['PATCH', () => facade.call('PATCH', `${path}?secrets=names`, { source_config: { resource_spec: { cpu: 0.3 } } })],
    ['PUT', () => facade.call('PUT', `${path}/secrets/KEY?secrets=names`, { value: 'canary-three' })],
    ['redeploy', () => redeploy()],
  ];
  async function redeploy(): Promise<Answer> {
    const { spec } = facade.snapshot();
    await facade.call('PATCH', path, { source_revision_config: { image_uri: 'registry.example/app:2' } });
    return facade.call('POST', `${path}/revisions/${spec.id}/redeploy?secrets=names`);
  }

  it.each(requests)('%s answers without values', async (_name, send) => {
    const { status, body, headers } = await send();
    expect([status, body.secrets]).toEqual([200, names]);
    expect(headers['etag']).toBeDefined();
    expect(JSON.stringify(body)).not.toContain('canary');
  });

  it('a creation and a DELETE likewise', async () => {
    const made = await facade.call('POST', '/v2/deployments?secrets=names', aBody({ name: 'two', secrets: [KEY] }));
    expect([made.status, made.body.secrets]).toEqual([201, [{ ...KEY, value: '' }]]);
    const { status, body } = await facade.call('DELETE', `${path}/secrets/KEY?secrets=names`);
    expect([status, body.secrets]).toEqual([200, [{ ...OTHER, value: '' }]]);
  });

  it('reads no Secret, and what it answers can be sent back', async () => {
    facade.kube.failOn(({ verb, kind }) => (kind === 'Secret' && verb === 'get' ? new Forbidden('no') : undefined));
    const { body } = await facade.call('GET', `${path}?secrets=names`);
    expect((await facade.call('PATCH', path, body)).status).toBe(200);
    expect(state()).toEqual(unchanged);
  });

  it('rejects another word', async () => {
    const { status, body } = await facade.call('GET', `${path}?secrets=none`);
    const finding = { loc: ['query', 'secrets'], msg: 'must be one of values, names', type: 'enum' };
    expect([status, body.detail]).toEqual([422, [finding]]);
  });
});

it('no log has a value, and another tenant gets the answer of a missing deployment', async () => {
  await put('KEY', 'canary-three');
  await put('PORT', 'canary-four');
  await merge([{ name: 'OTHER', value: 'canary-five' }]);
  const foreign = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata.uid;
  const { status, body } = await facade.call('PUT', `/v2/deployments/${foreign}/secrets/KEY`, { value: 'canary-six' });
  expect([status, body.detail]).toEqual([404, `Deployment ID ${foreign} not found.`]);
  expect(facade.log()).not.toMatch(/canary-/);
  expect(facade.kube.objects(SECRETS)).toHaveLength(3);
});
