// The builder's image as platforms make it and as the tests make it are of one BuildKit. What its runtime changes in a container.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

it('docs/builder/Dockerfile takes the BuildKit that test/cluster/go pins', () => {
  const version = (file: string, pattern: RegExp): string | undefined =>
    pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1];
  const pinned = version('test/cluster/go/buildkit/go.mod', /^\tgithub\.com\/moby\/buildkit (v\S+)/m);
  expect(pinned).toMatch(/^v\d/);
  expect(version('docs/builder/Dockerfile', /^ARG BUILDKIT=docker\.io\/moby\/buildkit:(v[\d.]+)-rootless$/m)).toBe(
    pinned,
  );
});

describe('runc-in-user-namespace', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'davit-runtime-'));
    const script = readFileSync(join(root, 'docs/builder/runc-in-user-namespace'), 'utf8');
    writeFileSync(join(folder, 'runtime'), script.replaceAll('/usr/local/bin/buildkit-runc', join(folder, 'runc')));
    writeFileSync(join(folder, 'runc'), '#!/bin/bash\nprintf "%s\\n" "$@"\n');
    for (const program of ['runtime', 'runc']) chmodSync(join(folder, program), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs it as BuildKit does, and returns what is left of the container's configuration and the arguments of runc. */
  function run(process: object, command = 'run'): { readonly process: object; readonly args: readonly string[] } {
    const config = join(folder, 'config.json');
    // Encoded as Go's json.Encoder does: without white space, with a line feed at the end.
    writeFileSync(config, `${JSON.stringify({ ociVersion: '1.2.0', process, annotations: { a: 'b' } })}\n`);
    const args = ['--log', `${folder}/log`, '--log-format', 'json', command, '--bundle', folder, 'id'];
    const output = execFileSync(join(folder, 'runtime'), args, { encoding: 'utf8' });
    const left = JSON.parse(readFileSync(config, 'utf8')) as { process: object };
    return { process: left.process, args: output.trim().split('\n') };
  }
  const capabilities = (list: readonly string[]): object =>
    Object.fromEntries(['bounding', 'effective', 'inheritable', 'permitted', 'ambient'].map((set) => [set, list]));

  it.each([
    ['first', ['CAP_NET_RAW', 'CAP_CHOWN']],
    ['last', ['CAP_CHOWN', 'CAP_NET_RAW']],
    ['between', ['CAP_NET_BIND_SERVICE', 'CAP_NET_RAW', 'CAP_SYS_CHROOT']],
    ['alone', ['CAP_NET_RAW']],
    ['absent', ['CAP_CHOWN']],
  ])('takes CAP_NET_RAW from a RUN where it is %s, and nothing else', (_where, list) => {
    const others = {
      args: ['setpriv', 'CAP_NET_RAW', '"capabilities":{"bounding":["CAP_NET_RAW"]}'],
      env: ['CAPS="CAP_NET_RAW","CAP_CHOWN"', 'X="capabilities":{"bounding":["CAP_NET_RAW"]'],
    };
    const left = run({ ...others, capabilities: capabilities(list), cwd: '/' });
    expect(left.process).toEqual({
      ...others,
      capabilities: capabilities(list.filter((one) => one !== 'CAP_NET_RAW')),
      cwd: '/',
    });
  });

  it('adds what a pod that is no mount needs, and only where a container is made', () => {
    const made = { capabilities: capabilities(['CAP_NET_RAW']) };
    expect(run(made).args.slice(4)).toEqual(['run', '--no-new-keyring', '--no-pivot', '--bundle', folder, 'id']);
    const other = run(made, 'delete');
    expect(other.args.slice(4)).toEqual(['delete', '--bundle', folder, 'id']);
    expect(other.process).toEqual(made);
  });
});
