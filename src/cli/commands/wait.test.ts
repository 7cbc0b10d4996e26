// `wait`: which conditions end it, after which time, and with which last lines.

import { describe, expect, it } from 'vitest';
import { aRecord, type CliRan, makeInstantClock, REVISION, runCli } from '../../../test/support/cli-world.ts';
import { makeOwnCli, whole } from '../../../test/support/own-cli.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { Condition } from '../../kinds/primitives.ts';
import { type HttpApi, Refused } from '../transport/http-api.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { follow, type Judged, judged, needReadyPod, verdictOn } from './wait.ts';

type Look = Omit<Judged, 'name'> & { readonly source_config?: object; readonly active_revision_id?: string };

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: `${reason} it is.`, lastTransitionTime: '2026-02-02T00:00:00Z' };
}
function looking(conditions: readonly Condition[], more: Partial<Look> = {}): Look {
  return { status: 'UNKNOWN', status_message: 'It waits.', processed: true, conditions, ...more };
}
const stalled = (reason: string): readonly Condition[] => [
  condition('Ready', 'False', reason),
  condition('Stalled', 'True', reason),
];
const secret = looking(stalled('SecretMissing'));
const rolling = looking([condition('Ready', 'False', 'Progressing'), condition('Stalled', 'False', 'Settled')]);
const ready = looking([condition('Ready', 'True', 'Serving'), condition('Stalled', 'False', 'Settled')]);
const zero = looking([condition('Ready', 'True', 'ScaledToZero'), condition('Stalled', 'False', 'Settled')]);

const DEPLOYMENT = {
  id: 'd',
  name: 'shop',
  source_config: { custom_url: null },
  latest_revision_id: 'r',
  active_revision_id: 'r',
};

interface Asked {
  readonly flags?: readonly string[];
  /** What the logs of the newest revision have. */
  readonly logs?: readonly { readonly pod: string; readonly message: string }[];
  readonly build?: readonly string[];
  /** Whether the caller may list events. */
  readonly events?: boolean;
}

/** `looks`: what each reading of the deployment finds; the last one stays. */
async function waited(
  looks: readonly Look[],
  { flags = [], logs = [], build, events = true }: Asked = {},
): Promise<[CliRan, seconds: number]> {
  const clock = makeInstantClock();
  const left = [...looks];
  const call = async (_method: string, path: string): Promise<unknown> => {
    if (path.startsWith('/v2/deployments?')) return { resources: [DEPLOYMENT] };
    if (path.endsWith('/events') && !events) throw new Refused({ status: 403, headers: {} }, 'You may not.');
    if (path.endsWith('/events'))
      return {
        pods: [
          { name: 'shop-1', ready: false },
          { name: 'shop-2', ready: true },
        ],
      };
    if (path.endsWith('/deploy_logs')) return { logs };
    if (path.endsWith('/build_logs')) {
      if (build === undefined) throw new Failure('No.');
      return { logs: build.map((message) => ({ message })), next_offset: null, position: null };
    }
    const revision = { id: 'r', status: 'BUILD_FAILED', status_message: null };
    if (path.includes('/revisions')) return path.includes('/revisions/') ? revision : { resources: [revision] };
    return { ...DEPLOYMENT, ...(left.length > 1 ? left.shift() : left[0]) };
  };
  const api = { call, patiently: call } as unknown as HttpApi;
  const ran = await runCli(['wait', 'shop', ...flags], { clock, api });
  return [ran, clock.now() / 1000];
}

describe('what wait makes of a failure', () => {
  it('that is from before a repair: it is looked at again', async () => {
    const [ran] = await waited([secret, secret, secret, rolling, ready]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out.split('\n')).toEqual([
      'Stalled: SecretMissing. SecretMissing it is.',
      'This may be older than your last change. If it is unchanged in 10 s, the wait fails.',
      'Progressing. Progressing it is.',
      'Ready: Serving it is.',
    ]);
  });

  it('that it had before the last change: that has to be processed, and to be as bad', async () => {
    const before = { ...secret, processed: false, status_message: 'Not yet.' };
    const [ran] = await waited([before, before, secret, rolling, ready]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    const [late] = await waited([before], { flags: ['--timeout', '30'] });
    expect(late).toMatchObject({ code: 124, err: expect.stringMatching(/^shop is not ready after 30 s\. Not yet\./) });
  });

  it.each([
    ['SecretMissing', 10],
    ['ApplyRefused', 70],
  ])('%s, that nobody corrects: it counts after %i s', async (reason, seconds) => {
    const [ran, took] = await waited([looking(stalled(reason))]);
    expect([ran.code, took]).toEqual([1, seconds]);
  });

  it.each([
    ['after it was better', [rolling, secret]],
    ['that is there again', [secret, rolling, secret]],
    ['in place of the one before', [secret, looking(stalled('SourceNotAllowed'))]],
  ])('that is news, %s: it counts at once', async (_when, looks) => {
    const [ran, took] = await waited(looks);
    expect([ran.code, took]).toEqual([1, looks.length - 1]);
  });

  it('that still stands when the time is over: it is a failure, and not undecided', async () => {
    const [ran, took] = await waited([looking(stalled('ApplyRefused'))], { flags: ['--timeout', '5'] });
    expect([ran.code, took]).toEqual([1, 5]);
  });

  it('which is its deletion: it counts at once', async () => {
    const [ran] = await waited([looking([], { status: 'AWAITING_DELETE', status_message: 'Being deleted.' })]);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('Being deleted.') });
  });

  it.each<[string, readonly Look[], object]>([
    [
      'ready',
      [{ ...ready, status: 'READY', source_config: { custom_url: 'https://shop.example' } }],
      {
        name: 'shop',
        state: 'READY',
        activeRevisionId: 'r',
        url: 'https://shop.example',
        result: 'ready',
        reason: 'Serving',
        message: 'Serving it is.',
        hint: null,
        exitCode: 0,
      },
    ],
    [
      'ready, and scaled to zero',
      [zero],
      expect.objectContaining({
        reason: 'ScaledToZero',
        hint: 'kubectl davit scale --namespace=staging shop server=1',
        exitCode: 0,
      }),
    ],
    [
      'failed',
      [secret],
      {
        error:
          'shop will not become ready on its own: SecretMissing it is. See: kubectl davit status --namespace=staging shop',
        result: 'failed',
        reason: 'SecretMissing',
        message: 'SecretMissing it is.',
        hint: 'kubectl davit status --namespace=staging shop',
        exitCode: 1,
      },
    ],
    [
      'not decided',
      [rolling],
      {
        error:
          'shop is not ready after 20 s. Progressing. Progressing it is. To wait longer: kubectl davit wait --namespace=staging shop',
        result: 'undecided',
        reason: 'Progressing',
        message: 'Progressing it is.',
        hint: 'kubectl davit wait --namespace=staging shop',
        exitCode: 124,
      },
    ],
    [
      'not processed',
      [{ ...secret, processed: false, status_message: 'Not yet.' }],
      expect.objectContaining({ reason: null, message: 'Not yet.' }),
    ],
  ])('tells programs why: %s', async (_what, looks, document) => {
    const [{ out, code }] = await waited(looks, { flags: ['-o', 'json', '-n', 'staging', '--timeout', '20'] });
    const told = JSON.parse(out) as { readonly exitCode: number };
    expect(told).toEqual(document);
    expect(told.exitCode).toBe(code);
  });
});

describe('before it fails, wait prints', () => {
  const crashed = looking(stalled('ContainerCrashed'));

  it('the last lines of pods that are not ready', async () => {
    const logs = [
      { pod: 'shop-1', message: 'bye' },
      { pod: 'shop-2', message: 'polling' },
      { pod: 'shop-1', message: 'no licence' },
    ];
    const [ran] = await waited([rolling, crashed], { logs });
    expect(ran.out.split('\n').slice(-3)).toEqual([
      'Stalled: ContainerCrashed. ContainerCrashed it is.',
      '[shop-1] no licence',
      '[shop-1] bye',
    ]);
    const [blind] = await waited([rolling, crashed], { logs, events: false });
    expect(blind.out.split('\n').slice(-3)).toEqual(['[shop-1] no licence', '[shop-2] polling', '[shop-1] bye']);
    expect(ran.err).toBe(
      'shop will not become ready on its own: ContainerCrashed it is. See: kubectl davit status shop',
    );
  });

  it('the last lines of a build that failed, or the command that prints them', async () => {
    const failed = looking(stalled('BuildFailed'));
    const [{ err }] = await waited([rolling, failed], { build: ['#1 FROM base', 'no rule'] });
    expect(err.split('\n').slice(0, -1)).toEqual(['The last lines of the build:', '#1 FROM base', 'no rule']);
    const [without] = await waited([rolling, failed], { flags: ['-n', 'team'] });
    expect(without.err).toContain('\nTo read the log of the build: kubectl davit logs shop --build --namespace=team\n');
  });

  it('that an earlier revision is active, and how to go back to it, where its time is over', async () => {
    const [ran] = await waited([{ ...rolling, active_revision_id: 'q' }], { flags: ['--timeout', '0', '-n', 'team'] });
    expect(ran.code).toBe(124);
    expect(ran.err.split('\n')[1]).toBe(
      'An earlier revision is still active. To go back to it: kubectl davit rollback --namespace=team shop',
    );
  });
});

it('wait follows the routes of the HTTP API in its own process', async () => {
  const conditions = [condition('Ready', 'True', 'Serving')];
  const record = aRecord({}, { state: 'READY', observedGeneration: 1, conditions }, { generation: 1 });
  const cli = makeOwnCli({ record, revisions: [whole(REVISION)] });
  expect(await cli.run(['wait', 'shop'])).toMatchObject({ code: 0, out: 'Ready: Serving it is.' });
  const behind = aRecord({}, { state: 'READY', observedGeneration: 1, conditions }, { generation: 2 });
  const late = await makeOwnCli({ record: behind, revisions: [whole(REVISION)] }).run([
    'wait',
    'shop',
    '--timeout',
    '0',
  ]);
  expect(late).toMatchObject({
    code: 124,
    err: expect.stringContaining('Davit has not processed the last change yet.'),
  });
});

it('wait says that there is no such deployment', async () => {
  expect(await makeOwnCli().run(['wait', 'shop'])).toMatchObject({
    code: 1,
    err: 'There is no deployment shop in namespace team. To list all: kubectl davit status',
  });
});

it('what wait suggests has the flags of the cluster', async () => {
  const [ran] = await waited([rolling, secret], { flags: ['-n', 'staging', '--context=far'] });
  expect(ran.err).toBe(
    'shop will not become ready on its own: SecretMissing it is. See: kubectl davit status --namespace=staging --context=far shop',
  );
});

describe('a record that was read with kubectl', () => {
  it.each<[string, AppDeployment, string]>([
    ['ready', aRecord({}, { conditions: ready.conditions }), 'ready'],
    ['rolling', aRecord({}, { conditions: rolling.conditions }), 'waiting'],
    ['stalled', aRecord({}, { conditions: secret.conditions }), 'stalled'],
    ['ready, but of an older generation', aRecord({}, { conditions: ready.conditions }, { generation: 3 }), 'waiting'],
    ['without a status', aRecord(), 'waiting'],
    ['leaving', aRecord({}, {}, { deletionTimestamp: '2026-02-02T00:00:00Z' }), 'stalled'],
  ])('is judged as the HTTP API shows it: %s', (_name, record, is) => {
    expect(verdictOn(judged(record)).is).toBe(is);
  });

  it('is followed until it is ready, and each reason is said once', async () => {
    const answers = [rolling, rolling, ready].map(({ conditions }) => judged(aRecord({}, { conditions })));
    const said: string[] = [];
    const say = (line: string): void => void said.push(line);
    const look = async () => answers.shift() ?? judged(aRecord());
    await follow(look, { timeoutMs: 5000, say, clock: makeInstantClock() });
    expect(said).toEqual(['Progressing. Progressing it is.', 'Ready: Serving it is.']);
  });
});

describe('open', () => {
  const kubectl =
    (pods: readonly object[], conditions = rolling.conditions, spec = {}): Kubectl =>
    async ([, resource]) =>
      JSON.stringify(resource === RECORDS ? aRecord(spec, { conditions }) : { items: pods });
  const READY_POD = { conditions: [{ type: 'Ready', status: 'True' }] };

  it.each([
    { is: 'starting', look: rolling, hint: 'To wait for one: kubectl davit wait shop' },
    { is: 'stalled', look: secret, hint: 'To see the cause: kubectl davit status shop' },
  ])('says at once that no pod is ready, and what to do: $is', async ({ look, hint }) => {
    const failing = needReadyPod(kubectl([], look.conditions), 'shop');
    await expect(failing).rejects.toThrow(/^No pod of shop is ready\. .* it is\.\n/);
    await expect(failing).rejects.toThrow(hint);
  });

  it('says that it is scaled to zero in the words of logs and exec', async () => {
    const spec = { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } };
    await expect(needReadyPod(kubectl([], zero.conditions, spec), 'shop')).rejects.toThrow(
      /^shop is scaled to zero, so no pod of server runs\. To start it: kubectl davit scale shop server=1$/,
    );
  });

  it.each([
    { is: 'one that starts', pod: { metadata: { name: 'shop-1' }, status: {} } },
    {
      is: 'one that ends',
      pod: { metadata: { name: 'shop-1', deletionTimestamp: '2026-02-02T00:00:00Z' }, status: READY_POD },
    },
  ])('counts no pod that cannot answer: $is', async ({ pod }) => {
    await expect(needReadyPod(kubectl([pod]), 'shop')).rejects.toThrow('No pod of shop is ready.');
  });

  it('goes on with a pod that is ready', async () => {
    await needReadyPod(kubectl([{ metadata: { name: 'shop-1' }, status: READY_POD }]), 'shop');
  });
});
