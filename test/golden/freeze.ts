// Freezes what the newest version of the pod contract makes: `node test/golden/freeze.ts`, once, when a version is added.
// It takes the stored revisions of the version before, and overwrites nothing: what is frozen stays.

import { createHash } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { newestOf, POD_CONTRACTS } from '../../src/deployments/children/contracts.ts';
import { desiredChildren } from '../../src/deployments/children/desired.ts';
import { frozenFile, frozenText, type Given, heldParts, inputsOf, readFrozen } from './frozen.ts';

const version = newestOf(POD_CONTRACTS);
const before = `contract-${version - 1}`;
await mkdir(frozenFile(`contract-${version}`), { recursive: true });
for (const name of await readdir(frozenFile(before))) {
  const { given } = readFrozen(`${before}/${name}`);
  const { revision } = given;
  const now: Given = {
    ...given,
    revision: { ...revision, resolved: { ...revision.resolved, contract: version } },
  };
  const text = frozenText(now, heldParts(desiredChildren(inputsOf(now))));
  const file = `contract-${version}/${name}`;
  // oxlint-disable-next-line no-await-in-loop -- a few files, in their order
  await writeFile(frozenFile(file), text, { flag: 'wx' });
  const digest = createHash('sha256').update(text).digest('hex');
  process.stdout.write(`  '${file}':\n    '${digest}',\n`);
}
