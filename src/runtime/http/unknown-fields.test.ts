import { describe, expect, it } from 'vitest';
import { CreateDeploymentBody, Deployment } from '../../deploy/http/payloads.ts';
import { CreateProvider, OAuthProviderResponse } from '../../tokens/http/oauth-providers/payloads.ts';
import { type RouteSchemas, unknownFields } from './unknown-fields.ts';

const create = CreateDeploymentBody;

function told(body: unknown, schema: RouteSchemas['body'] = create): string[] {
  return unknownFields({ body: schema, answer: Deployment }, body).map(({ loc, msg }) => `${loc.join('.')} ${msg}`);
}

function exampleOf(schema: RouteSchemas['body']): unknown {
  const examples = schema.meta()?.['examples'] as readonly unknown[] | undefined;
  return examples?.[0];
}

const spec = (fields: object): object => ({ source_config: { resource_spec: fields } });
const at = 'body.source_config.resource_spec';

describe('a key that the schema does not know', () => {
  it.each<[name: string, body: object, want: string]>([
    ['a letter is missing', spec({ max_scal: 0 }), `${at}.max_scal is not a known field: did you mean max_scale?`],
    ['a unit is missing', spec({ memory: '1Gi' }), `${at}.memory is not a known field: did you mean memory_mb?`],
    ['another case', spec({ maxScale: 0 }), `${at}.maxScale is not a known field: did you mean max_scale?`],
    [
      'at the top instead of below',
      { resource_spec: {} },
      'body.resource_spec is not a known field here: it belongs in source_config',
    ],
    [
      'a level too high',
      { source_config: { min_scale: 1 } },
      'body.source_config.min_scale is not a known field here: it belongs in source_config.resource_spec',
    ],
    [
      'below instead of at the top',
      spec({ secrets: [] }),
      `${at}.secrets is not a known field here: it belongs at the top level`,
    ],
    [
      'in the other half, though a neighbour is near',
      { source_revision_config: { repo_url: 'x' } },
      'body.source_revision_config.repo_url is not a known field here: it belongs in source_config',
    ],
    [
      'near one of another object',
      { image: 'x' },
      'body.image is not a known field here: did you mean source_revision_config.image_uri?',
    ],
    [
      'in an element of a list',
      {
        secrets: [
          { name: 'A', value: 'b' },
          { name: 'B', valu: 'canary' },
        ],
      },
      'body.secrets.1.valu is not a known field: did you mean value?',
    ],
    [
      'of an element of another list',
      { secrets: [{ secret_key: 'canary' }] },
      'body.secrets.0.secret_key is not a known field here: it belongs in secret_references[]',
    ],
    [
      "in Kubernetes' own words",
      spec({ sidecars: [{ name: 'a', imagePullpolicy: 'Always' }] }),
      `${at}.sidecars.0.imagePullpolicy is not a known field: did you mean imagePullPolicy?`,
    ],
    ['null', spec({ max_scal: null }), `${at}.max_scal is not a known field: did you mean max_scale?`],
    ['like nothing', { xyzzy: 1 }, 'body.xyzzy is not a known field'],
    ['set by Davit', { status: 'READY' }, 'body.status is read-only'],
    ['on every object', { constructor: 1 }, 'body.constructor is not a known field'],
  ])('%s', (_name, body, want) => {
    expect(told(body)).toEqual([want]);
  });

  it('is found in each collection by its own schema', () => {
    const collection = { body: CreateProvider, answer: OAuthProviderResponse };
    expect(unknownFields(collection, { provider: 'x', clientId: 'y' }).map(({ msg }) => msg)).toEqual([
      'is not a known field: did you mean provider_id?',
      'is not a known field: did you mean client_id?',
    ]);
  });
});

describe('says nothing', () => {
  it.each<[name: string, body: unknown]>([
    ['of what is known', exampleOf(create)],
    ['of what is passed through to the pod', spec({ sidecars: [{ securityContext: { whatever: 1 } }] })],
    ['of keys of a map', spec({ labels: { whatever: '1' } })],
    ['where another type is expected', { source_config: 'x', secrets: { A: 'b' } }],
    ['of no body', undefined],
  ])('%s', (_name, body) => {
    expect(told(body)).toEqual([]);
  });
});

it('is short, whatever is sent, and repeats no value', () => {
  const body = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`${'k'.repeat(300)}${index}`, 'canary']),
  );
  const found = unknownFields({ body: create, answer: Deployment }, body);
  expect(found).toHaveLength(21);
  expect(found.at(-1)).toEqual({ loc: ['body'], msg: '19980 more keys are not known fields', type: 'extra_forbidden' });
  expect(JSON.stringify(found).length).toBeLessThan(5000);
  expect(JSON.stringify(found)).not.toContain('canary');
});
