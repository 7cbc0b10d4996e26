import { expect, it } from 'vitest';
import { Forbidden, Invalid, Unavailable } from '../runtime/errors.ts';
import { refusal, refusedFor } from './errors.ts';

const CPU_LIMIT = 'spec.sourceConfig.resourceSpec.cpuLimit';
const BELOW = { loc: ['body', 'source_config', 'resource_spec', 'cpu_limit'], msg: 'cpu_limit must not be below cpu' };
const cause = (field: string, message: string, reason = 'FieldValueInvalid'): Invalid['causes'][number] => ({
  field,
  message,
  reason,
});

it.each<[string, Invalid['causes'][number], object]>([
  ['a rule', cause(CPU_LIMIT, 'Invalid value: cpuLimit must not be below cpu'), BELOW],
  ['a rule, by an older release', cause(CPU_LIMIT, 'Invalid value: "object": cpuLimit must not be below cpu'), BELOW],
  [
    'a rule of a string',
    cause('spec.sourceRevisionConfig.davitFile', String.raw`Invalid value: "a\"/..": must stay inside: remove ..`),
    { loc: ['body', 'source_revision_config', 'davit_file'], msg: 'must stay inside: remove ..' },
  ],
  [
    'a rule for a field that is required',
    cause('spec.sourceRevisionConfig.imageUri', 'Required value: source needs imageUri', 'FieldValueRequired'),
    {
      loc: ['body', 'source_revision_config', 'image_uri'],
      msg: 'source needs imageUri',
      type: 'missing',
    },
  ],
  [
    'a policy of Davit, which names no field',
    cause('', "ValidatingAdmissionPolicy 'davit-restore' with binding 'davit-restore' denied request: you may not", ''),
    { loc: ['body'], msg: 'you may not' },
  ],
  [
    'the schema',
    cause('spec.sourceConfig.runtime.queueDepth.query', 'Required value', 'FieldValueRequired'),
    { loc: ['body', 'source_config', 'runtime', 'queue_depth', 'query'], msg: 'is required', type: 'missing' },
  ],
  [
    'a value, which stays in its message',
    cause(CPU_LIMIT, 'Invalid value: 65: must be at most 64'),
    { loc: BELOW.loc, msg: 'Invalid value: 65: must be at most 64' },
  ],
  [
    'an element that is a duplicate',
    cause('spec.sourceConfig.env[2]', 'Duplicate value: {"name":"A"}', 'FieldValueDuplicate'),
    { loc: ['body', 'source_config', 'env', 2, 'name'], msg: 'this name is a duplicate' },
  ],
  [
    'a text that is a duplicate',
    cause('spec.sourceConfig.runtime.without[1]', 'Duplicate value: "PORT"', 'FieldValueDuplicate'),
    { loc: ['body', 'source_config', 'runtime', 'without', 1], msg: 'this name appears twice' },
  ],
  [
    'a field of a worker, whose name is the own',
    cause('spec.sourceConfig.runtime.workers[my_Worker].preStop', 'Invalid value: no'),
    { loc: ['body', 'source_config', 'runtime', 'workers', 'my_Worker', 'pre_stop'], msg: 'no' },
  ],
])('%s', (_what, one, finding) => {
  const unchecked = cause('<nil>', 'Invalid value: null: some validation rules were not checked because …');
  const { status, detail } = refusedFor(new Invalid('x', [one, unchecked]));
  const said = typeof detail === 'string' ? detail : detail.map((each) => ({ ...each, msg: words(each.msg) }));
  expect([status, said]).toEqual([422, [{ type: 'value_error', ...finding }]]);
});

/** The words of the API are put in when the answer is sent. */
function words(msg: string): string {
  return msg.replace('cpuLimit', 'cpu_limit');
}

it.each([
  ['davit-restore', 'you may not'],
  ['not-today', `datastoreoperations.davit.dev "a" is forbidden: ${denied('not-today')}`],
])('a refusal by policy %s is told', (policy, detail) => {
  const serverMessage = `datastoreoperations.davit.dev "a" is forbidden: ${denied(policy)}`;
  expect(refusedFor(new Forbidden('x', { serverMessage }))).toMatchObject({ status: 403, detail });
});

function denied(policy: string): string {
  return `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: you may not`;
}

it('a finding is told once, and before those of the API server', async () => {
  const own = { loc: ['body', 'source_config', 'env', 0, 'name'], msg: 'health_path is none', type: 'value_error' };
  const causes = [
    cause('spec.sourceConfig.env', 'Invalid value: healthPath is none'),
    cause(CPU_LIMIT, 'Invalid value: cpuLimit must not be below cpu'),
    cause('spec.sourceConfig.runtime.workers', 'Too many: 11: must have at most 10 items', 'FieldValueTooMany'),
    cause('', 'ValidatingAdmissionPolicy denied the request'),
  ];
  const { status, detail } = await refusal([own], () => Promise.reject(new Invalid('x', causes)));
  expect([status, detail]).toEqual([
    422,
    [own, { ...BELOW, msg: 'cpuLimit must not be below cpu', type: 'value_error' }],
  ]);
});

it.each([
  ['takes it', () => Promise.resolve()],
  ['does not answer', () => Promise.reject(new Unavailable('x'))],
])('a finding is told if the API server %s', async (_what, dryRun) => {
  const own = { loc: ['body', 'name'], msg: 'no', type: 'value_error' };
  expect(await refusal([own], dryRun)).toMatchObject({ status: 422, detail: [own] });
});
