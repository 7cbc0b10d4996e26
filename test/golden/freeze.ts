// Freezes what the newest version of the pod contract makes: `node test/golden/freeze.ts`, once, when a version is added.
// It takes stored revisions of the version before, and overwrites nothing: what is frozen stays. What the version makes as the one before
// did is not frozen twice (src/deploy/children/contracts.test.ts).

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { newestOf, POD_CONTRACTS } from '../../src/deploy/children/contracts.ts';
import { desiredChildren } from '../../src/deploy/children/desired.ts';
import { frozenFile, frozenText, type Given, heldParts, inputsOf, readFrozen } from './frozen.ts';

type Spec = Given['revision'];

type Postgres = NonNullable<Spec['resolved']['postgres']>;

function withPostgres({ resolved, ...spec }: Spec, values: Partial<Postgres>): Spec {
  return {
    ...spec,
    resolved: { ...resolved, ...(resolved.postgres && { postgres: { ...resolved.postgres, ...values } }) },
  };
}

/** What a version can make that the one before could not: by version, a file, the file of which its revision is made, and the difference. */
const ADDED: Readonly<
  Record<number, readonly (readonly [file: string, from: string, change: (spec: Spec) => Spec])[]>
> = {
  3: [
    ['owned.yaml', 'plain.yaml', (spec) => withPostgres(spec, { user: 'app' })],
    ['vector.yaml', 'plain.yaml', (spec) => withPostgres(spec, { user: 'app', extensions: ['vector'] })],
  ],
};

const version = newestOf(POD_CONTRACTS);
const before = `contract-${version - 1}`;

async function freeze(name: string, given: Given): Promise<void> {
  const { revision } = given;
  const now: Given = { ...given, revision: { ...revision, resolved: { ...revision.resolved, contract: version } } };
  const text = frozenText(now, heldParts(desiredChildren(inputsOf(now))));
  const file = `contract-${version}/${name}`;
  await writeFile(frozenFile(file), text, { flag: 'wx' });
  const digest = createHash('sha256').update(text).digest('hex');
  process.stdout.write(`  '${file}':\n    '${digest}',\n`);
}

await mkdir(frozenFile(`contract-${version}`), { recursive: true });
for (const [name, from, change] of ADDED[version] ?? []) {
  const { given } = readFrozen(`${before}/${from}`);
  await freeze(name, { ...given, revision: change(given.revision) });
}
