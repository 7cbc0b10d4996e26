import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision, RevisionState } from '../../kinds/app-revision.ts';
import type { Told } from '../../kinds/notifier.ts';
import { type Decision, decide } from './decide.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const [FIRST, SECOND] = ['1', '2'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`) as [string, string];
const WEBHOOK = { webhook: { url: 'https://hooks.example/a', secretRef: { name: 'us' } } };

type Says = readonly [status: 'True' | 'False', reason: string, at?: string];
function seen(
  says: { readonly Ready?: Says; readonly Stalled?: Says; readonly Available?: Says; readonly BackupReady?: Says },
  more: Partial<AppDeploymentStatus> = {},
): AppDeployment {
  const conditions = Object.entries(says).map(([type, [status, reason, at = '2026-03-01T11:00:00Z']]) => {
    return { type, status, reason, message: `${reason}.`, lastTransitionTime: at };
  });
  const record = aRecord();
  const { generation = 1 } = record.metadata;
  const status = {
    observedGeneration: generation,
    latestRevisionId: SECOND,
    activeRevisionId: FIRST,
    conditions,
    ...more,
  };
  return { ...record, metadata: { ...record.metadata, generation }, status };
}
const of = (record: AppDeployment, told: Told = {}): Decision =>
  decide(WEBHOOK, { record, latest: undefined, told }, NOW);
/** `deployment.ready state: ready 2222…`. */
const list = ({ notices }: Decision): string[] =>
  notices.map((notice) => `${notice.to === 'webhook' ? notice.type : notice.state} ${notice.subject}: ${notice.value}`);

const OK: Says = ['True', 'Serving'];
const DOWN: Says = ['False', 'CrashLoop', '2026-03-01T11:58:00Z'];
it.each<[string, AppDeployment, Told, string[]]>([
  ['ready', seen({ Ready: OK, Available: OK }), {}, [`deployment.ready state: ready ${SECOND}`]],
  ['ready, which was told', seen({ Ready: OK, Available: OK }), { state: `ready ${SECOND}` }, []],
  [
    'ready again',
    seen({ Ready: OK, Available: OK }),
    { state: `unavailable ${FIRST}` },
    [`deployment.ready state: ready ${SECOND}`],
  ],
  ['in a rollout', seen({ Ready: ['False', 'Progressing'], Available: OK }), { state: `ready ${FIRST}` }, []],
  [
    'of an older generation',
    { ...seen({ Ready: OK }), status: { ...seen({ Ready: OK }).status, observedGeneration: 0 } },
    {},
    [],
  ],
  [
    'stalled',
    seen({ Ready: ['False', 'CrashLoop'], Stalled: ['True', 'CrashLoop'], Available: OK }),
    { state: `ready ${FIRST}` },
    [`deployment.failed state: failed ${SECOND} CrashLoop`],
  ],
  [
    'stalled for another reason',
    seen({ Stalled: ['True', 'ImagePull'] }),
    { state: `failed ${SECOND} CrashLoop` },
    [`deployment.failed state: failed ${SECOND} ImagePull`],
  ],
  [
    'with a failed build',
    seen({ Stalled: ['True', 'BuildFailed'] }, { phase: 'BUILD_FAILED' }),
    {},
    [`build.failed state: failed ${SECOND} BuildFailed`],
  ],
  ['unavailable for a minute', seen({ Available: DOWN }), {}, [`deployment.unavailable state: unavailable ${FIRST}`]],
  ['unavailable and scaled to zero', seen({ Available: DOWN }, { state: 'UNUSED' }), {}, []],
  ['unavailable and paused', seen({ Available: ['False', 'Paused'] }), {}, []],
  [
    'with a failed backup',
    seen(
      { BackupReady: ['False', 'BackupFailed'] },
      { databaseBackup: { lastFailureAt: '2026-03-01T02:00:00Z', lastSuccessAt: '2026-02-28T02:00:00Z' } },
    ),
    {},
    ['backup.failed backup: failed 2026-03-01T02:00:00Z'],
  ],
  [
    'with a backup after a failed one',
    seen({}, { databaseBackup: { lastFailureAt: '2026-02-27T02:00:00Z', lastSuccessAt: '2026-02-28T02:00:00Z' } }),
    {},
    [],
  ],
  [
    'with a failed base backup',
    seen({}, { databaseArchive: { lastFailureAt: '2026-03-01T02:00:00Z' } }),
    {},
    ['backup.failed archive: failed 2026-03-01T02:00:00Z'],
  ],
  [
    'with a failed task and one that runs',
    seen(
      {},
      {
        tasks: [
          {
            name: 'clean',
            state: 'Scheduled',
            runs: [
              { job: 'clean-2', state: 'Running' },
              { job: 'clean-1', state: 'Failed' },
            ],
          },
          { name: 'mail', state: 'Scheduled', runs: [{ job: 'mail-1', state: 'Succeeded' }] },
        ],
      },
    ),
    {},
    ['task.failed task clean: failed clean-1'],
  ],
])('a deployment that is %s', (_what, record, told, want) => {
  expect(list(of(record, told))).toEqual(want);
});

it('a deployment that serves again within a minute was never unavailable', () => {
  const decision = of(seen({ Available: ['False', 'CrashLoop', '2026-03-01T11:59:30Z'] }), { state: `ready ${FIRST}` });
  expect(decision).toEqual({ notices: [], keeps: { state: `ready ${FIRST}` }, lookAgainMs: 30_000 });
});

it('what is over is forgotten, so that it is told again, and the state is kept', () => {
  const told = { state: `ready ${SECOND}`, backup: 'failed 1', 'task gone': 'failed 2' };
  expect(of(seen({ Ready: OK, Available: OK }), told)).toEqual({ notices: [], keeps: { state: `ready ${SECOND}` } });
});

const [A, B] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];
function revision(commit: string, state: RevisionState): AppRevision {
  const made = aRevision(aRecord());
  return { ...made, spec: { ...made.spec, commit }, status: { ...made.status, state } };
}
const ofCommit = (latest: AppRevision | undefined, told: string | undefined, source = 'codehost'): string[] => {
  const record = aRecord({ source: source as 'codehost' });
  return list(
    decide({ commitStatuses: true }, { record, latest, told: told === undefined ? {} : { commit: told } }, NOW),
  );
};
it.each<[string, AppRevision | undefined, string | undefined, string[]]>([
  ['that waits', revision(A, 'AWAITING_BUILD'), undefined, [`pending commit: ${A} pending`]],
  ['that is built, and waited', revision(A, 'BUILDING'), `${A} pending`, []],
  ['that is deployed', revision(A, 'DEPLOYED'), `${A} pending`, [`success commit: ${A} success`]],
  ['whose build failed', revision(A, 'BUILD_FAILED'), `${A} pending`, [`failure commit: ${A} failure`]],
  [
    'after one that never came to an end',
    revision(B, 'BUILDING'),
    `${A} pending`,
    [`error commit: ${A} error`, `pending commit: ${B} pending`],
  ],
  ['after one that did', revision(B, 'BUILDING'), `${A} success`, [`pending commit: ${B} pending`]],
  ['of no revision', undefined, undefined, []],
])('a commit %s', (_what, latest, told, want) => {
  expect(ofCommit(latest, told)).toEqual(want);
});

it('an image has no commit, and nothing is sent that was not requested', () => {
  expect(ofCommit(revision(A, 'DEPLOYED'), undefined, 'external_docker')).toEqual([]);
  const record = seen({ Ready: OK, Available: OK });
  expect(decide({ commitStatuses: true }, { record, latest: undefined, told: {} }, NOW).notices).toEqual([]);
});
