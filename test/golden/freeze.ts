// Freezes what the newest version of the pod contract makes: `node test/golden/freeze.ts`, once, when a version is added.
// It takes the stored revisions of the version before, and overwrites nothing: what is frozen stays.

import { createHash } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { newestOf, POD_CONTRACTS } from '../../src/deployments/children/contracts.ts';
import { desiredChildren } from '../../src/deployments/children/desired.ts';
import { frozenFile, frozenText, type Given, heldParts, inputsOf, readFrozen } from './frozen.ts';

type Spec = Given['revision'];

/** What a version can make that the one before could not: by version, a file, the file of which its revision is made, and the difference. */
const ADDED: Readonly<Record<number, readonly [file: string, from: string, change: (spec: Spec) => Spec]>> = {
  2: [
    'agent.yaml',
    'everything.yaml',
    ({ requested, resolved, ...spec }) => ({
      ...spec,
      requested: {
        ...requested,
        runtime: { ...requested.runtime, apiToken: true, migrate: { args: ['migrate'] } },
      },
      resolved: { ...resolved, api: { url: 'https://davit-api.davit-system.svc', caConfigMap: 'authorities' } },
    }),
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
// oxlint-disable-next-line no-await-in-loop -- a few files, in their order
for (const name of await readdir(frozenFile(before))) await freeze(name, readFrozen(`${before}/${name}`).given);
const added = ADDED[version];
if (added) {
  const [name, from, change] = added;
  const { given } = readFrozen(`${before}/${from}`);
  await freeze(name, { ...given, revision: change(given.revision) });
}
