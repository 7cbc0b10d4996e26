// The commands of docs/api.md, run as they stand there by a shell that has curl, kubectl and nothing of ours.

import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Attached, attach } from '../attached.ts';
import { openShell, type Shell, scriptsOf } from '../documents/documented.ts';

const davit: Attached = attach(inject('davit'));
let shell: Shell;
beforeAll(async () => {
  shell = await openShell(davit.kubeconfig, { kubectl: davit.kubectlPath });
});
afterAll(() => shell.close());

it.skipIf(davit.node !== 'real')('a new user gets from nothing to a deployment, and back', async () => {
  const blocks = scriptsOf('docs/api.md', '## From nothing to a deployment, and back');
  expect(blocks.length).toBeGreaterThan(8);
  // What each block printed, apart from the others.
  const script = blocks.map((commands, n) => `printf '\\n== %s\\n' ${n}\n${commands}`).join('\n');
  const out = await shell.run([script], { API: davit.apiUrl, IMAGE: davit.images.sample });
  const printed = out.split(/\n== \d+\n/);
  const list = printed.find((text) => text.startsWith('{"resources":[{'));
  expect(list).toMatch(/"name":"shop".*"value":""/);
  expect(list).not.toContain('correct horse');
  expect(out).toContain('"status":"DEPLOYED"');
  expect(out).toMatch(/\{"logs":\[\{"id":/);
});
