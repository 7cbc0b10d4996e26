// Revisions that are stored keep their pods: what each version of the pod contract makes is frozen, to the byte.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { frozenFile, heldParts, inputsOf, readFrozen } from '../../../test/golden/frozen.ts';
import { aRecord, SETTINGS } from '../../../test/support/builders.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { POD_CONTRACT } from '../record/resolve.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { PARTS_V2 } from './contracts/v2.ts';
import { CONTRACT_V3 } from './contracts/v3.ts';
import { newestOf, POD_CONTRACTS } from './contracts.ts';
import { desiredChildren } from './desired.ts';
import { makeWorkload } from './workload.ts';

/**
 * SHA-256 of each file under test/golden/contract-<version>. A line is added with a version and never changed afterwards:
 * a file that has other bytes describes pods that no running deployment has.
 */
const FROZEN: Readonly<Record<string, string>> = {
  'contract-2/agent.yaml': 'c4ee2a8fb5ca78e203ac3bf9ee51f9c18363428a79128ca5a3d4ccb2c8d86a44',
  'contract-2/cloudnative-pg.yaml': '894ee5af1a22bd3d453193344dd1780c550431c294de966ac778b96e22879588',
  'contract-2/everything.yaml': '4c3955f21e74d311e0ed26ed5fa77f6a2f95d7642829a0b94dfc27f272af12e7',
  'contract-2/external.yaml': '9a8a2eb6eb9cab56f4b8fdc9f66aa46181f304743c893860cc46246b84139464',
  'contract-2/plain.yaml': '8514bdad6ab8d460ef568d48df6d87a7edbeea2739ac39d4c1856c925f784761',
  'contract-2/restricted.yaml': 'cc315ef30b14558182d08ae274896e52ce21bea0027a728a97dd7a94c773ec41',
  'contract-3/owned.yaml': '17be36c05eddc58aa98be80cc297097a5268442764b0bb993a8efbad46a1dd7e',
  'contract-3/vector.yaml': '4ae83ae68a0bb5fa2fee0eae25f39b75ebdfd5e92e6eee34885065f44cb0420d',
};
const NO_CHANGE =
  'is frozen: the pods of every revision stored with this version would be restarted. Leave what it makes as it was, and give the new pods a new version of the pod contract (CONTRIBUTING.md, "Changing what a pod gets").';

const files = Object.keys(FROZEN);

it('holds every file that there is, for every version', () => {
  const folder = new URL('../../../test/golden/', import.meta.url);
  const there = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^contract-\d+\/.*\.yaml$/.test(name),
  );
  expect(there.toSorted()).toEqual(files.toSorted());
  const versions = [...POD_CONTRACTS.keys()];
  // Version 1 has the makers of version 2.
  expect([1, ...new Set(files.map((file) => Number(/\d+/.exec(file)?.[0])))]).toEqual(versions);
  // Without a gap: a version that is not above the newest is known.
  expect(versions).toEqual(versions.map((_, index) => index + 1));
  expect(newestOf(POD_CONTRACTS)).toBe(POD_CONTRACT);
});

it.each(files)('%s has the bytes that it was frozen with', (file) => {
  const digest = createHash('sha256')
    .update(readFileSync(frozenFile(file)))
    .digest('hex');
  expect(digest, `test/golden/${file} ${NO_CHANGE}`).toBe(FROZEN[file]);
});

it.each(files)('%s is what is made of the revision in it', (file) => {
  const { given, want } = readFrozen(file);
  expect(heldParts(desiredChildren(inputsOf(given))), `test/golden/${file} ${NO_CHANGE}`).toStrictEqual(want);
});

const OF_TWO = files.filter((file) => file.startsWith('contract-2/'));

// Version 3 differs by a new PostgreSQL in one pod alone.
it.each([1, 3].flatMap((contract) => OF_TWO.map((file) => ({ contract, file }))))(
  '$file is what a revision of version $contract has too',
  ({ contract, file }) => {
    const { given, want } = readFrozen(file);
    const revision = { ...given.revision, resolved: { ...given.revision.resolved, contract } };
    expect(heldParts(desiredChildren(inputsOf({ ...given, revision })))).toStrictEqual(want);
  },
);

it('the files hold both wait scripts, the arguments of both stores and every role', () => {
  const text = files.map((file) => readFileSync(frozenFile(file), 'utf8')).join('\n');
  const wanted = [
    'PGCONNECT_TIMEOUT',
    'REDISCLI_AUTH=',
    '--maxmemory-policy',
    'max_connections=300',
    'name: shop--queue',
    'name: shop--orchestrator',
    'name: shop--executor',
    'runAsNonRoot',
    'priorityClassName',
  ];
  expect(wanted.filter((part) => !text.includes(part))).toEqual([]);
});

describe('a second version', () => {
  const next = new Map([
    ...POD_CONTRACTS,
    [
      newestOf(POD_CONTRACTS) + 1,
      {
        ...CONTRACT_V3,
        workload: (inputs, role, size, image) =>
          makeWorkload(inputs, role, size, image, {
            ...PARTS_V2,
            waitScripts: { ...PARTS_V2.waitScripts, redis: 'exit 0' },
          }),
      } satisfies typeof CONTRACT_V3,
    ],
  ]);

  it.each(files)('leaves %s to the byte', (file) => {
    const { given, want } = readFrozen(file);
    expect(heldParts(desiredChildren(inputsOf(given), next))).toStrictEqual(want);
  });

  it('is what new revisions get, and they alone', () => {
    const record = aRecord();
    const wanted = wantedRevision(record, [], SETTINGS, {}, newestOf(next));
    if (!('create' in wanted)) throw new Error('no revision');
    const revision = makeRevision(record, wanted.create);
    const children = desiredChildren({ record, revision, tenantId: 't', settings: SETTINGS }, next);
    expect(revision.spec.resolved.contract).toBe(newestOf(next));
    expect(waitScriptOf(children, 'wait-for-redis')).toBe('exit 0');
    expect(waitScriptOf(children, 'wait-for-database')).toBe(PARTS_V2.waitScripts.database);
    expect(wantedRevision(record, [revision], SETTINGS, {}, newestOf(POD_CONTRACTS))).toEqual({ current: revision });
    expect(() => desiredChildren({ record, revision, tenantId: 't', settings: SETTINGS })).toThrow(
      /unknown pod contract/,
    );
  });
});

interface WithPods extends KubeObject {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly initContainers?: { name: string; command?: string[] }[] } };
  };
}

function waitScriptOf(children: readonly KubeObject[], container: string): string | undefined {
  return children
    .flatMap((child: WithPods) => child.spec?.template?.spec?.initContainers ?? [])
    .find(({ name }) => name === container)?.command?.[2];
}
