import { describe, expect, it } from 'vitest';
import { buildFailure, fetchFailure, planFailure } from './failures.ts';

/** Output of BuildKit 0.34 with --progress=plain. */
const failingRun = `#7 [3/4] RUN pip install nothing-of-this-name
#7 1.234 ERROR: No matching distribution found for nothing-of-this-name
#7 ERROR: process "/bin/sh -c pip install nothing-of-this-name" did not complete successfully: exit code: 1
------
 > [3/4] RUN pip install nothing-of-this-name:
0.901 Looking in indexes: https://pypi.example.com/simple
1.234 ERROR: No matching distribution found for nothing-of-this-name
------
Dockerfile:3
--------------------
   1 |     FROM registry.example.com/python:3.12
   2 |     COPY . .
   3 | >>> RUN pip install nothing-of-this-name
   4 |     CMD ["python", "app.py"]
--------------------
error: failed to solve: process "/bin/sh -c pip install nothing-of-this-name" did not complete successfully: exit code: 1
`;

describe('buildFailure', () => {
  it('names the failing line, its instruction and its output', () => {
    const failure = buildFailure({ exitCode: 1, message: failingRun });
    expect(failure).toMatchObject({
      reason: 'StepFailed',
      line: 3,
      instruction: 'RUN pip install nothing-of-this-name',
    });
    expect(failure.message).toContain('Line 3 of the Dockerfile failed: RUN pip install nothing-of-this-name.');
    expect(failure.message).toContain('No matching distribution found');
    expect(failure.message).toMatch(/kubectl davit logs NAME --build, or build_logs/);
  });

  it('joins the lines of a multi-line instruction', () => {
    const message = `Dockerfile:2\n--------------------\n   2 | >>> RUN a && \\\n   3 | >>>     b\n--------------------\nerror: failed to solve: process "x" did not complete successfully: exit code: 2\n`;
    expect(buildFailure({ exitCode: 1, message })).toMatchObject({ line: 2, instruction: 'RUN a && b' });
  });

  it.each([
    ['OutOfMemory', { exitCode: 137, reason: 'OOMKilled' }],
    [
      'OutOfMemory',
      {
        exitCode: 1,
        message: 'error: failed to solve: process "/bin/sh -c x" did not complete successfully: exit code: 137',
      },
    ],
    ['OutOfDisk', { exitCode: 1, message: 'error: failed to solve: write /x: no space left on device' }],
    [
      'PushFailed',
      {
        exitCode: 1,
        message:
          'error: failed to solve: failed to push r.example/a:b: server message: insufficient_scope: authorization failed',
      },
    ],
    [
      'BaseImageNotFound',
      {
        exitCode: 1,
        message:
          'error: failed to solve: r.example/no:1: failed to resolve source metadata for r.example/no:1: r.example/no:1: not found',
      },
    ],
    [
      'BaseImageUnreachable',
      {
        exitCode: 1,
        message:
          'error: failed to solve: r.example/a:1: failed to resolve source metadata for r.example/a:1: failed to do request: Head "https://r.example/v2/a/manifests/1": dial tcp 10.0.0.1:443: connect: connection refused',
      },
    ],
    [
      'BaseImageUnreachable',
      {
        exitCode: 1,
        message:
          'error: failed to solve: r.example/a:1: failed to resolve source metadata for r.example/a:1: unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 503 Service Unavailable',
      },
    ],
    [
      'DockerfileInvalid',
      { exitCode: 1, message: 'error: failed to solve: dockerfile parse error on line 2: unknown instruction: RUM' },
    ],
    [
      'StepFailed',
      {
        exitCode: 1,
        message:
          'error: failed to solve: failed to compute cache key: failed to calculate checksum of ref x: "/missing.txt": not found',
      },
    ],
    [
      'BuilderFailed',
      { exitCode: 1, message: 'could not connect to unix:///run/user/1000/buildkit/buildkitd.sock after 100 trials' },
    ],
    ['BuilderFailed', { exitCode: 143 }],
    // The end of the log may begin with anything that a RUN printed.
    [
      'StepFailed',
      {
        exitCode: 1,
        message:
          'Chosen: by the source.\nerror: failed to solve: process "/bin/sh -c x" did not complete successfully: exit code: 1',
      },
    ],
  ])('%s', (reason, terminated) => {
    const failure = buildFailure(terminated);
    expect(failure.reason).toBe(reason);
    expect(failure.message).toMatch(/\w.*\.$/);
  });

  it.each([
    'dockerfile line greater than max allowed size of 65535',
    'granting entitlement security.insecure is not allowed by build daemon configuration',
    'granting entitlement network.host is not allowed by build daemon configuration',
    'failed to load LLB: security.insecure is not allowed',
    'failed to load LLB: network.host is not allowed',
  ])('is that of the Dockerfile, not of the platform: %s', (words) => {
    const failure = buildFailure({ exitCode: 1, message: `error: failed to solve: ${words}` });
    expect(failure.reason).toBe('DockerfileInvalid');
  });

  const step = (output: string, more = ''): string =>
    `${more}------\n > [3/4] RUN x:\n${output}\n------\nDockerfile:3\n--------------------\n   3 | >>> RUN pip install x\n--------------------\nerror: failed to solve: process "/bin/sh -c x" did not complete successfully: exit code: 1\n`;
  const traceback = [
    '0.100 Collecting x',
    '0.901 Traceback (most recent call last):',
    '0.901   File "/app.py", line 1, in <module>',
    '0.901     import nothing',
    "0.901 ModuleNotFoundError: No module named 'nothing'",
    '0.950 The program has ended.',
  ].join('\n');

  it('begins with the cause, and says it once', () => {
    const { message } = buildFailure({ exitCode: 1, message: step(traceback) });
    expect(message).toMatch(
      /^ModuleNotFoundError: No module named 'nothing'\. Line 3 of the Dockerfile failed: RUN pip install x\. /,
    );
    expect(message).toContain('It printed: Collecting x Traceback (most recent call last)');
    expect(message).toContain('The program has ended.');
    expect(message.split('No module named')).toHaveLength(2);
    expect(message).not.toContain('did not complete successfully');
  });

  it.each([
    ['is cut off at its beginning', step(traceback).slice(30)],
    [
      'is in the log alone',
      `#7 [3/4] RUN x\n${traceback.replaceAll(/^/gm, '#7 ')}\n#8 0.2 of another step\n#7 ERROR: process "x" did not complete successfully: exit code: 1\n${step('')}`,
    ],
    [
      'has blank lines alone in its block',
      `${traceback.replaceAll(/^/gm, '#7 ')}\n#7 ERROR: process "x" did not complete successfully: exit code: 1\n${step('0.1 \n0.2 ')}`,
    ],
  ])('finds the output where it %s', (_what, message) => {
    const failure = buildFailure({ exitCode: 1, message });
    expect(failure.message).toMatch(/^ModuleNotFoundError: /);
    expect(failure.message).toContain('It printed: ');
    expect(failure.message).not.toContain('of another step');
    expect(failure.message).not.toContain('------');
  });

  it('quotes the last lines of an output that is too long to be quoted, and not the first', () => {
    const retries = Array.from(
      { length: 6 },
      (_, n) => `0.${n} WARNING: Retrying ${n}, ${'for it is far away '.repeat(15)}`,
    );
    const end = ['7.1 ERROR: No matching distribution found for x', '7.2 It ends here'];
    const { message } = buildFailure({ exitCode: 1, message: step([...retries, ...end].join('\n')) });
    expect(message).toMatch(/^No matching distribution found for x\. Line 3 /);
    expect(message).toMatch(/It printed: WARNING: Retrying 5, .* It ends here\. /);
    const unknown = retries.concat(retries).map((line) => `${line}${line}`);
    const last = buildFailure({ exitCode: 3, message: ['The end of the log:', ...unknown, 'the very end'].join('\n') });
    expect(last.message).toMatch(/ the very end\.$/);
  });

  it('quotes the last output of a failure that it does not know, and no rules', () => {
    const { message } = buildFailure({
      exitCode: 3,
      message: 'The end of the log:\n#1 begun\n------\nnothing known\n------\n',
    });
    expect(message).toBe('The builder failed (exit code 3): #1 begun nothing known.');
  });

  const cacheLines = (cause: string): string =>
    `#5 importing cache manifest from r.example/t/shop:cache\n#5 ERROR: failed to configure registry cache importer: r.example/t/shop:cache: ${cause}\n`;
  const cacheBlock = '------\n > importing cache manifest from r.example/t/shop:cache:\n------\n';
  const inTheLog = `${traceback.replaceAll(/^/gm, '#7 ')}\n#7 ERROR: process "x" did not complete successfully: exit code: 1\n`;
  it.each([
    ['before the output in the log', `${cacheLines('not found')}${inTheLog}${step('')}`],
    ['cut off before it', `${cacheLines('not found').split('\n')[1]}\n${inTheLog}${step('')}`],
    ['in a block after that of the step', step(`${traceback}\n------\n${cacheBlock}`.slice(0, -'\n------\n'.length))],
  ])('a cache that is not there yet is no error: %s', (_where, message) => {
    const failure = buildFailure({ exitCode: 1, message });
    expect(failure.message).toMatch(/^ModuleNotFoundError: .* It printed: Collecting x/);
    expect(failure.message).not.toMatch(/cache/);
  });

  it.each(['not found', 'pull access denied', 'dial tcp 10.0.0.1:443: connect: connection refused'])(
    'an import of the cache that fails (%s) is not the cause of what follows',
    (cause) => {
      const end = 'could not connect to unix:///run/user/1000/buildkit/buildkitd.sock after 100 trials';
      const { reason, message } = buildFailure({ exitCode: 1, message: `${cacheLines(cause)}${cacheBlock}${end}\n` });
      expect(reason).toBe('BuilderFailed');
      expect(message).toBe(`The builder failed (exit code 1): ${end}.`);
    },
  );

  const from = (cause: string): string =>
    `Dockerfile:1\n--------------------\n   1 | >>> FROM r.example/a:1\n--------------------\nerror: failed to solve: r.example/a:1: failed to resolve source metadata for r.example/a:1: ${cause}\n`;
  const HEAD = 'failed to do request: Head "https://r.example/v2/a/manifests/1": ';
  it.each([
    [
      `${HEAD}dial tcp 10.0.0.1:443: connect: connection refused`,
      'The builder cannot reach r.example for r.example/a:1: dial tcp 10.0.0.1:443: connect: connection refused.',
      'settings.proxy',
    ],
    [
      `${HEAD}dial tcp: lookup r.example on 10.96.0.10:53: no such host`,
      'The builder cannot reach r.example for r.example/a:1: dial tcp: lookup r.example on 10.96.0.10:53: no such host.',
      'kubectl davit platform',
    ],
    [
      'failed to authorize: failed to fetch anonymous token: Get "https://auth.example/token?scope=a": context deadline exceeded',
      'The builder cannot reach auth.example for r.example/a:1: context deadline exceeded.',
      'settings.builds.egress',
    ],
    [
      'unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 503 Service Unavailable',
      'r.example answers for r.example/a:1: 503 Service Unavailable.',
      'Try again later',
    ],
    [
      'unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 429 Too Many Requests',
      'r.example answers for r.example/a:1: 429 Too Many Requests.',
      'Try again later',
    ],
    [
      `${HEAD}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
      'The builder cannot reach r.example for r.example/a:1: tls: failed to verify certificate: x509: certificate signed by unknown authority.',
      'caBundle',
    ],
  ])('says which host could not be reached for a FROM, and what helps: %s', (cause, words, todo) => {
    const { reason, message } = buildFailure({ exitCode: 1, message: from(cause) });
    expect(reason).toBe('BaseImageUnreachable');
    expect(message).toContain(`Line 1 of the Dockerfile failed: FROM r.example/a:1. ${words} `);
    expect(message).toContain(todo);
    expect(message).not.toContain('failed to solve');
  });

  const warning =
    "Line 3 of the Dockerfile does not use the platform's package index, because its stage does not declare it. Add a line ARG PIP_INDEX_URL after FROM.";
  it("says that a Dockerfile does not declare the platform's package index, where packages were installed", () => {
    const { message } = buildFailure({ exitCode: 1, message: step('0.1 ERROR: No matching distribution') }, warning);
    expect(message).toMatch(/^No matching distribution\. Line 3 /);
    expect(message).toContain('Add a line ARG PIP_INDEX_URL after FROM. Correct it. kubectl');
    const other = step('0.1 no').replaceAll('pip install x', 'make');
    expect(buildFailure({ exitCode: 1, message: other }, warning).message).not.toContain('PIP_INDEX_URL');
  });

  it('says that pip ignores an index of plain http, and the line that is missing', () => {
    const plain =
      "Line 3 of the Dockerfile uses the platform's package index, which is plain http, so pip ignores it, because its stage does not declare the host as trusted. Add a line ARG PIP_TRUSTED_HOST after FROM.";
    const words = '0.1 ERROR: No matching distribution found for x';
    const { message } = buildFailure({ exitCode: 1, message: step(words) }, plain);
    expect(message).toContain('Add a line ARG PIP_TRUSTED_HOST after FROM. Correct it. kubectl');
  });

  it('limits the length of the message', () => {
    const { message } = buildFailure({ exitCode: 1, message: `error: failed to solve: ${'x'.repeat(100_000)}` });
    expect(message.length).toBeLessThanOrEqual(4096);
  });
});

describe('fetchFailure and planFailure', () => {
  it.each([
    [fetchFailure, 'RefNotFound: The repository has no main.', 'RefNotFound', 'The repository has no main.'],
    [fetchFailure, 'bash: git: not found', 'FetchFailed', 'bash: git: not found'],
    [planFailure, 'PathMissing: ./agent is not in the workspace.', 'PathMissing', './agent is not in the workspace.'],
    [planFailure, '', 'PlanFailed', 'exit code 1'],
    // Only a text that starts with a reason counts, since the source could have printed the rest.
    [fetchFailure, 'fatal: Something: else', 'FetchFailed', 'fatal: Something: else'],
  ])('%o reads %j as %s', (read, message, reason, words) => {
    const failure = read({ exitCode: 1, message });
    expect(failure.reason).toBe(reason);
    expect(failure.message).toContain(words);
  });
});
