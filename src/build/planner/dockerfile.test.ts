// The Dockerfile of a configuration file, warnings, failures and hostile input. test/suites/plan compares it with the
// published CLI.

import { describe, expect, it } from 'vitest';
import { isDockerfile } from '../../kinds/source-files.ts';
import { dockerfileOf, type NotPlanned, type Planned } from './dockerfile.ts';
import type { PlanReason } from './failure.ts';
import type { PlanOptions } from './steps.ts';
import { MAX_CONFIGURATION_BYTES } from './workflow-config.ts';
import type { EntryKind, Workspace } from './workspace.ts';

const CONFIG = 'workflow.json';
const OPTIONS: PlanOptions = { baseImages: { python: 'base/python:{version}', node: 'base/node:{version}' } };
const GRAPHS = { agent: './agent.py:graph' };
const VALID = { dependencies: ['.'], graphs: GRAPHS };
const TS = { node_version: '22', graphs: { agent: './agent.ts:graph' } };

interface Given {
  /** Content of the configuration file. A value that is not a string is serialized to JSON. */
  readonly config?: unknown;
  readonly at?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly kinds?: Readonly<Record<string, EntryKind>>;
  readonly options?: Partial<PlanOptions>;
}

function plan({ config = VALID, at = CONFIG, files = {}, kinds = {}, options = {} }: Given): Planned | NotPlanned {
  const texts = new Map<string, string>(
    Object.entries({ 'agent.py': '', 'agent.ts': '', 'pyproject.toml': '', ...files }),
  );
  if (!(at in files)) texts.set(at, typeof config === 'string' ? config : JSON.stringify(config));
  const entries = new Map<string, EntryKind>(Object.entries(kinds));
  for (const path of texts.keys()) {
    const parts = path.split('/');
    for (let length = 1; length <= parts.length; length += 1) {
      const ancestor = parts.slice(0, length).join('/');
      if (!entries.has(ancestor)) entries.set(ancestor, length === parts.length ? 'file' : 'folder');
    }
  }
  const workspace: Workspace = { name: 'shop', entries, texts };
  return dockerfileOf(at, workspace, { ...OPTIONS, ...options });
}

function made(given: Given): Planned {
  const result = plan(given);
  if ('reason' in result) throw new Error(`${result.reason}: ${result.message}`);
  return result;
}

/** The Dockerfile's lines without comments, ARG and the uninstallation of package tools. */
function linesOf(given: Given): string[] {
  return made(given)
    .dockerfile.split('\n')
    .filter((line) => line !== '' && !/^(#|ARG|RUN python3 -m pip uninstall)/.test(line));
}

describe('a Dockerfile', () => {
  it('for Python: copies and installs packages, then sets the environment of the runtime', () => {
    expect(made({ config: { ...VALID, env: { MODE: 'shop floor' } } })).toEqual({
      context: '.',
      warnings: [],
      dockerignore: '.git\n**/node_modules\n**/__pycache__\n**/.venv\n',
      dockerfile: [
        '# Made by davit plan from the workflow configuration file.',
        'FROM base/python:3.11',
        'ARG PIP_INDEX_URL PIP_TRUSTED_HOST UV_DEFAULT_INDEX UV_INSECURE_HOST NPM_CONFIG_REGISTRY',
        'ARG PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore UV_BREAK_SYSTEM_PACKAGES=1 UV_NO_CACHE=1 UV_SYSTEM_PYTHON=1',
        'COPY . /deps/shop',
        'RUN python3 -m pip install -e /deps/shop',
        'RUN python3 -m pip uninstall -y setuptools wheel pip || true',
        "ENV MODE='shop floor'",
        'ENV LANGSERVE_GRAPHS=\'{"agent":"/deps/shop/agent.py:graph"}\'',
        'WORKDIR /deps/shop',
        '',
      ].join('\n'),
    });
  });

  it('for Node.js', () => {
    expect(linesOf({ config: TS, files: { 'package.json': '{}', 'package-lock.json': '{}' } })).toEqual([
      'FROM base/node:22',
      'COPY . /deps/shop',
      'WORKDIR /deps/shop',
      'RUN npm ci',
      'ENV LANGSERVE_GRAPHS=\'{"agent":"./agent.ts:graph"}\'',
    ]);
  });

  it.each(['pnpm@9 pnpm i', 'constructor@1 npm i', ' npm i'])('for the package manager %s', (given) => {
    const [packageManager, ...command] = given.split(' ');
    const files = { 'package.json': JSON.stringify({ packageManager }) };
    expect(linesOf({ config: TS, files }).filter((line) => /^RUN .*(npm|pnpm) i/.test(line))).toEqual([
      expect.stringContaining(` ${command.join(' ')}`),
    ]);
  });

  it('of the workspace is used unchanged, with its own ignore file', () => {
    const dockerfile = '# syntax=docker/dockerfile:1\nFROM scratch\r\n';
    const files = { 'build/api.Dockerfile': dockerfile, 'build/api.Dockerfile.dockerignore': 'secret\n' };
    expect(
      plan({ at: 'build/api.Dockerfile', files, options: { installCommand: 'make', buildCommand: 'make all' } }),
    ).toEqual({
      dockerfile,
      context: '.',
      dockerignore: 'secret\n',
      warnings: [
        'install_command is not applied: build/api.Dockerfile is a Dockerfile and says itself what is run.',
        'build_command is not applied: build/api.Dockerfile is a Dockerfile and says itself what is run.',
      ],
    });
  });

  it.each([
    ['Dockerfile', true],
    ['a/b/Dockerfile', true],
    ['api.Dockerfile', true],
    ['Dockerfile.prod', true],
    ['dockerfile', true],
    ['Containerfile', true],
    ['workflow.json', false],
    ['Dockerfile/workflow.json', false],
    ['mydockerfile', false],
  ])('is recognized by its name: %s, %s', (path, is) => {
    expect(isDockerfile(path)).toBe(is);
  });

  it('uses the .dockerignore of the workspace if there is one', () => {
    expect(made({ files: { '.dockerignore': 'x' } })).not.toHaveProperty('dockerignore');
  });

  it('runs as the configured user and installs as root', () => {
    const lines = linesOf({ options: { user: '65532:65532' } });
    expect([lines[1], lines[2], lines.at(-1)]).toEqual([
      'USER root',
      'COPY --chown=65532:65532 . /deps/shop',
      'USER 65532:65532',
    ]);
  });

  it('installs the requirements of flat folders before it copies the code, and adds the folders to PYTHONPATH', () => {
    const config = { dependencies: ['./app', './lib'], graphs: { a: './app/agent.py:g' } };
    const files = { 'app/agent.py': '', 'app/requirements.txt': 'idna', 'lib/__init__.py': '' };
    expect(linesOf({ config, files })).toEqual([
      'FROM base/python:3.11',
      'COPY ./app/requirements.txt /deps/outer-app/src/requirements.txt',
      'RUN python3 -m pip install -r /deps/outer-app/src/requirements.txt',
      'COPY ./app /deps/outer-app/src',
      'COPY ./lib /deps/outer-lib/lib',
      'ENV PYTHONPATH="/deps/outer-app/src:/deps/outer-lib${PYTHONPATH:+:$PYTHONPATH}"',
      'ENV LANGSERVE_GRAPHS=\'{"a":"/deps/outer-app/src/agent.py:g"}\'',
    ]);
  });

  it.each(['-r base.txt', '-e .', '--requirement=base.txt', './wheels/x.whl', 'x @ file:./x', '-c limits.txt'])(
    'copies the code before it installs requirements that reference other files: %s',
    (requirement) => {
      const config = { dependencies: ['./app'], graphs: { a: './app/agent.py:g' } };
      expect(
        linesOf({ config, files: { 'app/agent.py': '', 'app/requirements.txt': `idna\n${requirement}\n` } }).slice(
          1,
          5,
        ),
      ).toEqual([
        'COPY ./app /deps/outer-app/src',
        'ENV PYTHONPATH="/deps/outer-app/src${PYTHONPATH:+:$PYTHONPATH}"',
        'WORKDIR /deps/outer-app/src',
        'RUN python3 -m pip install -r requirements.txt',
      ]);
    },
  );

  it('runs the commands of the deployment, for Python in addition to the dependencies', () => {
    expect(linesOf({ options: { installCommand: 'make deps', buildCommand: 'make all' } }).slice(1, -2)).toEqual([
      'COPY . /deps/shop',
      'WORKDIR /deps/shop',
      'RUN make deps',
      'RUN python3 -m pip install -e /deps/shop',
      'WORKDIR /deps/shop',
      'RUN make all',
    ]);
  });

  it('runs the commands of the deployment, for Node.js instead of the default installation, in the root of the workspace', () => {
    const options = { installCommand: 'npm ci', buildCommand: 'npm run build' };
    expect(linesOf({ at: 'apps/web/workflow.json', config: TS, options, files: { 'apps/web/agent.ts': '' } })).toEqual([
      'FROM base/node:22',
      'COPY . /deps/shop',
      'WORKDIR /deps/shop',
      'RUN npm ci',
      'WORKDIR /deps/shop/apps/web',
      'RUN npm run build',
      'ENV LANGSERVE_GRAPHS=\'{"agent":"./agent.ts:graph"}\'',
    ]);
  });

  it.each([
    ['a && b | c > "$d"', 'RUN a && b | c > "$d"'],
    ['a\nUSER root\nRUN b', 'RUN ["/bin/sh","-c","a\\nUSER root\\nRUN b"]'],
    ['["a"]', 'RUN ["/bin/sh","-c","[\\"a\\"]"]'],
    ['--mount=type=bind,target=/x cat', 'RUN ["/bin/sh","-c","--mount=type=bind,target=/x cat"]'],
    ['cat <<EOF', 'RUN ["/bin/sh","-c","cat <<EOF"]'],
    ['a \\', 'RUN ["/bin/sh","-c","a \\\\"]'],
  ])('renders a command as one instruction: %j', (buildCommand, line) => {
    expect(linesOf({ options: { buildCommand } })).toContain(line);
  });

  it('installs a uv project from its lock file', () => {
    const config = { source: { kind: 'uv', root: '../..', package: 'web' }, graphs: GRAPHS };
    const files = { 'apps/web/agent.py': '', 'apps/web/pyproject.toml': '', 'uv.lock': '' };
    expect(linesOf({ at: 'apps/web/workflow.json', config, files })).toEqual([
      'FROM base/python:3.11',
      'COPY ./apps/web/pyproject.toml /tmp/davit-uv/apps/web/pyproject.toml',
      'COPY ./pyproject.toml /tmp/davit-uv/pyproject.toml',
      'COPY ./uv.lock /tmp/davit-uv/uv.lock',
      'WORKDIR /tmp/davit-uv/apps/web',
      'RUN uv export --quiet --frozen --no-hashes --no-dev --package web -o /tmp/davit-uv/requirements.txt --no-emit-workspace && uv pip install -r /tmp/davit-uv/requirements.txt',
      'COPY . /deps/workspace',
      'WORKDIR /deps/workspace/apps/web',
      'RUN uv export --quiet --frozen --no-hashes --no-dev --package web -o /tmp/davit-uv/requirements.txt && cd /deps/workspace && uv pip install --no-deps -r /tmp/davit-uv/requirements.txt && rm -rf /tmp/davit-uv',
      'ENV LANGSERVE_GRAPHS=\'{"agent":"/deps/workspace/apps/web/agent.py:graph"}\'',
      'WORKDIR /deps/workspace/apps/web',
    ]);
  });

  it('uses the innermost dependency that contains a graph', () => {
    const config = { dependencies: ['.', './lib'], graphs: { a: './lib/agent.py:g' } };
    expect(linesOf({ config, files: { 'lib/agent.py': '', 'lib/setup.py': '' } })).toContain(
      'ENV LANGSERVE_GRAPHS=\'{"a":"/deps/lib/agent.py:g"}\'',
    );
  });
});

describe('base images', () => {
  it.each([
    ['a pattern', 'r/p:{version}-{distro}', { python_version: '3.12', image_distro: 'wolfi' }, 'r/p:3.12-wolfi', []],
    ['a pattern with defaults', 'r/p:{version}-{distro}', {}, 'r/p:3.11-debian', []],
    ['a fixed image', 'r/p@sha256:' + 'a'.repeat(64), {}, 'r/p@sha256:' + 'a'.repeat(64), []],
    [
      'a fixed image that ignores keys of the file',
      'r/p:1',
      { python_version: '3.12', image_distro: 'wolfi', api_version: '0.2' },
      'r/p:1',
      [
        'python_version is not applied: the platform has one base image for Python.',
        'image_distro is not applied: the platform has one base image for Python.',
        'api_version is not applied: the platform has one base image for Python.',
      ],
    ],
    ["the file's own image", 'r/p:1', { base_image: 'o/b:2', python_version: '3.12' }, 'o/b:2', []],
    [
      "the file's own image without a tag",
      'r/p:1',
      { base_image: 'host:5000/o/b', python_version: '3.12' },
      'host:5000/o/b:3.12',
      [],
    ],
  ])('%s', (_, python, more, image, warnings) => {
    const result = made({ config: { ...VALID, ...more }, options: { baseImages: { python } } });
    expect([result.dockerfile.split('\n')[1], result.warnings]).toEqual([`FROM ${image}`, warnings]);
  });

  it.each([
    ['none', {}, VALID, 'BaseImageMissing', 'This platform has no base image for Python.'],
    ['none for Node.js', { python: 'a:1' }, TS, 'BaseImageMissing', 'This platform has no base image for Node.js.'],
    [
      'a setting that is not an image reference',
      { python: 'a b' },
      VALID,
      'BaseImageMissing',
      'which is no image reference',
    ],
  ])('%s: a failure', (_, baseImages, config, reason, words) => {
    expect(plan({ config, options: { baseImages } })).toEqual({
      reason,
      message: expect.stringContaining(words) as string,
    });
  });
});

describe('warnings', () => {
  it.each([
    [
      'unknown keys',
      { colour: 1, 'x\nRUN y': 2 },
      [
        `${CONFIG}: the key "colour" is not known and was ignored.`,
        `${CONFIG}: the key "x\\nRUN y" is not known and was ignored.`,
      ],
    ],
    ['$schema is known', { $schema: 'https://x' }, []],
    [
      'env as a file',
      { env: './.env' },
      ['env names the file "./.env", which is not read: set these variables as the deployment\'s secrets.'],
    ],
    [
      'a credential',
      { env: { API_KEY: 'x', MODE: 'y' } },
      [
        'env.API_KEY looks like a credential, and the image shows it to whoever can pull it: make it a secret of the deployment.',
      ],
    ],
    [
      "the runtime's variable",
      { env: { LANGSERVE_GRAPHS: '{}' } },
      ["env.LANGSERVE_GRAPHS was ignored: the configuration file's own keys set it."],
    ],
  ])('%s', (_, more, warnings) => {
    expect(made({ config: { ...VALID, ...more } }).warnings).toEqual(warnings);
  });

  it('for a flat folder that shadows a package', () => {
    const files = { 'app/agent.py': '', 'app/pydantic/x.py': '' };
    expect(made({ config: { dependencies: ['./app'], graphs: { a: './app/agent.py:g' } }, files }).warnings).toEqual([
      'The folder pydantic of app hides the installed Python package of that name. Rename it.',
    ]);
  });

  it('for a JavaScript graph that only the build can create', () => {
    expect(made({ config: { ...TS, graphs: { a: './dist/a.js:g' } } }).warnings).toEqual([
      'graphs.a names dist/a.js, which only the build can make.',
    ]);
  });
});

describe('failures', () => {
  const link: Given = { kinds: { lib: 'link', 'to.py': 'link', 'apps/l': 'link' } };
  const rows: readonly (readonly [name: string, given: Given, reason: PlanReason, words: string])[] = [
    ['an absolute path to the file', { at: '/etc/passwd' }, 'PathOutsideWorkspace', 'absolute path "/etc/passwd"'],
    [
      'a path out of the workspace to the file',
      { at: 'a/../../b.json' },
      'PathOutsideWorkspace',
      'leads out of the workspace',
    ],
    [
      'a file that is a link',
      { at: 'w.json', kinds: { 'w.json': 'link' } },
      'PathIsLink',
      'the symbolic link "w.json"',
    ],
    [
      'a file that is a folder',
      { at: 'w.json', kinds: { 'w.json': 'folder' } },
      'ConfigurationInvalid',
      'which is not a file',
    ],
    ['an empty Dockerfile', { at: 'Dockerfile', config: ' \n' }, 'ConfigurationInvalid', 'Dockerfile is empty.'],
    ['broken JSON', { config: '{\n  "graphs": {},\n}' }, 'ConfigurationNotJson', 'line 3, column 1'],
    ['JSON that ends too early', { config: '{\n  "graphs": ' }, 'ConfigurationNotJson', 'line 2, column 13'],
    [
      'a text that does not end',
      { config: `{\n  "env": "${'a'.repeat(500_000)}` },
      'ConfigurationNotJson',
      'line 2, column 10',
    ],
    ['an empty file', { config: '' }, 'ConfigurationNotJson', 'line 1, column 1'],
    ['comments', { config: '// x\n{}' }, 'ConfigurationNotJson', 'line 1, column 1'],
    ['too large', { config: ' '.repeat(MAX_CONFIGURATION_BYTES + 1) }, 'ConfigurationTooLarge', '1048577 bytes'],
    ['nested without end', { config: '{"a":'.repeat(100_000) }, 'ConfigurationInvalid', 'nested more than 64 deep'],
    ['a list', { config: [] }, 'ConfigurationInvalid', 'holds a list. It must hold one JSON object.'],
    ['null', { config: null }, 'ConfigurationInvalid', 'holds null.'],
    ['text', { config: '"x"' }, 'ConfigurationInvalid', 'holds text.'],
    ['no graphs', { config: { dependencies: ['.'] } }, 'ConfigurationInvalid', 'graphs is missing'],
    ['empty graphs', { config: { ...VALID, graphs: {} } }, 'ConfigurationInvalid', 'has no graphs'],
    [
      'only __proto__ as a graph',
      { config: '{"dependencies":["."],"graphs":{"__proto__":"./agent.py:g"}}' },
      'ConfigurationInvalid',
      'has no graphs',
    ],
    [
      'graphs as a list',
      { config: { ...VALID, graphs: [] } },
      'ConfigurationInvalid',
      'graphs must be an object, not a list',
    ],
    [
      'a graph that is a number',
      { config: { ...VALID, graphs: { a: 3 } } },
      'ConfigurationInvalid',
      'graphs.a must be "./path/to/file.py:variable" or an object with such a path, not a number',
    ],
    [
      'dependencies as text',
      { config: { ...VALID, dependencies: '.' } },
      'ConfigurationInvalid',
      'dependencies must be a list, not text',
    ],
    [
      'a dependency that is a number',
      { config: { ...VALID, dependencies: ['.', 3] } },
      'ConfigurationInvalid',
      'dependencies[1] must be text in quotes, not a number',
    ],
    ['no dependencies', { config: { graphs: GRAPHS } }, 'ConfigurationInvalid', 'lists no dependencies'],
    [
      'several findings at once',
      { config: { graphs: 3, env: 4, ui: [] } },
      'ConfigurationInvalid',
      'graphs must be an object, not a number; env must be an object of variables or the name of a file, not a number; ui must be an object, not a list',
    ],
    [
      'python_version as a number',
      { config: { ...VALID, python_version: 3.11 } },
      'ConfigurationInvalid',
      'python_version must be text in quotes, not a number',
    ],
    [
      'python_version too old',
      { config: { ...VALID, python_version: '3.10' } },
      'ConfigurationInvalid',
      'python_version is "3.10", and must be "MAJOR.MINOR" from "3.11" on',
    ],
    [
      'node_version too old',
      { config: { ...TS, node_version: '18' } },
      'ConfigurationInvalid',
      'node_version is "18", and must be a major version from "20" on',
    ],
    [
      'env with a number',
      { config: { ...VALID, env: { A: 3 } } },
      'ConfigurationInvalid',
      'env.A must be text in quotes, not a number',
    ],
    [
      'a variable without a name',
      { config: { ...VALID, env: { '': 'x' } } },
      'ConfigurationInvalid',
      'env has "", which is no valid name',
    ],
    [
      'a flag that is text',
      { config: { ...VALID, http: { disable_mcp: 'yes' } } },
      'ConfigurationInvalid',
      'http.disable_mcp must be true or false, not text',
    ],
    [
      'keep_pkg_tools',
      { config: { ...VALID, keep_pkg_tools: 'pip' } },
      'ConfigurationInvalid',
      'keep_pkg_tools must be true, false, or a list of pip, setuptools and wheel',
    ],
    [
      'image_distro',
      { config: { ...VALID, image_distro: 'alpine' } },
      'ConfigurationInvalid',
      'image_distro must be one of debian, wolfi, bookworm',
    ],
    [
      'a continued last line',
      { config: { ...VALID, dockerfile_lines: ['RUN a \\'] } },
      'ConfigurationInvalid',
      'dockerfile_lines ends with a continued line',
    ],
    [
      'a dependency above the workspace',
      { config: { ...VALID, dependencies: ['../../x'] } },
      'PathOutsideWorkspace',
      'dependencies[0] is "../../x", which leads out',
    ],
    [
      'an absolute dependency',
      { config: { ...VALID, dependencies: ['/etc'] } },
      'PathOutsideWorkspace',
      'dependencies[0] is "/etc"',
    ],
    ['a dependency in the home', { config: { ...VALID, dependencies: ['~/x'] } }, 'PathOutsideWorkspace', '"~/x"'],
    [
      'a dependency by file:',
      { config: { ...VALID, dependencies: ['x @ file:///etc'] } },
      'PathOutsideWorkspace',
      'x @ file:///etc',
    ],
    [
      'an option as a dependency',
      { config: { ...VALID, dependencies: ['-r /etc/passwd'] } },
      'ConfigurationInvalid',
      'options of pip belong into a pip_config_file',
    ],
    [
      'a dependency with a password',
      { config: { ...VALID, dependencies: ['git+https://u:p@h/x'] } },
      'CredentialsInDependency',
      'dependencies[0] has a user name or a password',
    ],
    [
      'a dependency that does not exist',
      { config: { ...VALID, dependencies: ['./x'] } },
      'PathMissing',
      'dependencies[0] names "x", which is not in the workspace',
    ],
    [
      'a dependency that is a file',
      { config: { ...VALID, dependencies: ['./agent.py'] } },
      'ConfigurationInvalid',
      'which is not a folder',
    ],
    [
      'a dependency that is a link',
      { ...link, config: { ...VALID, dependencies: ['./lib'] } },
      'PathIsLink',
      'the symbolic link "lib"',
    ],
    [
      'a dependency below a link',
      { ...link, config: { ...VALID, dependencies: ['./apps/l/x'] } },
      'PathIsLink',
      'the symbolic link "apps/l"',
    ],
    [
      'a graph that is a link',
      { ...link, config: { ...VALID, graphs: { a: './to.py:g' } } },
      'PathIsLink',
      'graphs.a goes through the symbolic link "to.py"',
    ],
    [
      'a graph above the workspace',
      { config: { ...VALID, graphs: { a: '../x.py:g' } } },
      'PathOutsideWorkspace',
      'graphs.a is "../x.py"',
    ],
    [
      'an absolute graph',
      { config: { ...VALID, graphs: { a: '/x.py:g' } } },
      'PathOutsideWorkspace',
      'graphs.a is the absolute path',
    ],
    [
      'a graph that does not exist',
      { config: { ...VALID, graphs: { a: './x.py:g' } } },
      'PathMissing',
      'graphs.a names "x.py"',
    ],
    [
      'a graph in no dependency',
      { config: { dependencies: ['./app'], graphs: GRAPHS }, files: { 'app/x.py': '' } },
      'ConfigurationInvalid',
      'graphs.agent names "agent.py", which is in none of the dependencies',
    ],
    [
      'a graph without a variable',
      { config: { ...VALID, graphs: { a: './agent.py' } } },
      'ConfigurationInvalid',
      'graphs.a is "./agent.py". It must be',
    ],
    [
      'a handler that does not exist',
      { config: { ...VALID, auth: { path: './x.py:a' } } },
      'PathMissing',
      'auth.path names "x.py"',
    ],
    [
      'pip_config_file that does not exist',
      { config: { ...VALID, pip_config_file: 'p' } },
      'PathMissing',
      'pip_config_file names "p"',
    ],
    [
      'pip_config_file, absolute',
      { config: { ...VALID, pip_config_file: '/etc/pip.conf' } },
      'PathOutsideWorkspace',
      'pip_config_file is the absolute path',
    ],
    [
      'uv without a lock',
      { config: { source: { kind: 'uv' }, graphs: GRAPHS } },
      'PathMissing',
      'source.root names "uv.lock"',
    ],
    [
      'uv above the workspace',
      { config: { source: { kind: 'uv', root: '..' }, graphs: GRAPHS } },
      'PathOutsideWorkspace',
      'source.root is ".."',
    ],
    [
      'uv and dependencies',
      { config: { ...VALID, source: { kind: 'uv' } } },
      'ConfigurationInvalid',
      'dependencies and source are both set',
    ],
    [
      'another source',
      { config: { ...VALID, source: { kind: 'poetry' } } },
      'ConfigurationInvalid',
      'source.kind must be one of uv',
    ],
    [
      'graphs that exceed the size of a variable',
      { config: { ...VALID, graphs: { a: { path: './agent.py:g', description: 'x'.repeat(65_500) } } } },
      'ConfigurationTooLarge',
      'graphs becomes the environment variable LANGSERVE_GRAPHS',
    ],
    [
      'a broken package.json',
      { config: TS, files: { 'package.json': '{' } },
      'ConfigurationInvalid',
      'package.json is not valid JSON',
    ],
    [
      'a base image that is not an image reference',
      { config: { ...VALID, base_image: 'a b' } },
      'ConfigurationInvalid',
      'base_image is "a b"',
    ],
  ];

  it.each(rows)('%s', (_, given, reason, words) => {
    expect(plan(given)).toEqual({ reason, message: expect.stringContaining(words) as string });
  });

  it('a configuration file that does not exist', () => {
    expect(dockerfileOf('x.json', { name: 'shop', entries: new Map(), texts: new Map() }, OPTIONS)).toEqual({
      reason: 'ConfigurationMissing',
      message: 'workflow_config_path is "x.json", which is not in the workspace. Correct the path, or add the file.',
    });
  });

  it('have messages of one line and limited length', () => {
    for (const [name, given] of rows) {
      const { message } = plan(given) as NotPlanned;
      expect(message, name).toMatch(/^[^\n]{10,900}$/);
    }
  });
});

/** Texts that try to end their instruction and start another one. */
const HOSTILE = [
  'x\nRUN evil',
  'x\r\nRUN evil',
  "x'\nRUN evil\n'",
  "'; evil; '",
  '"; evil; "',
  '$(evil)',
  '`evil`',
  '${EVIL}',
  'x \\',
  '\\',
  '<<EOF',
  "'<<EOF'",
  'x\u2028RUN evil',
  'x\u0085RUN evil',
  'x\u0000',
  '\ud800',
  '--from=evil',
  '["a","b"]',
  '# escape=`',
  ' A=b',
  "'",
  '"',
];

/** The first word of each line except comments. */
function instructionsOf(dockerfile: string): string[] {
  return dockerfile
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' ')[0] ?? '');
}

describe('hostile text does not become an instruction', () => {
  const places: readonly (readonly [string, (text: string) => unknown])[] = [
    ['python_version', (text) => ({ ...VALID, python_version: text })],
    ['base_image', (text) => ({ ...VALID, base_image: text })],
    ["a graph's name", (text) => ({ ...VALID, graphs: { [text]: './agent.py:g' } })],
    ["a graph's file", (text) => ({ ...VALID, graphs: { a: `./${text}:g` } })],
    ["a graph's variable", (text) => ({ ...VALID, graphs: { a: `./agent.py:${text}` } })],
    ['a module', (text) => ({ ...VALID, graphs: { a: `module${text}:g` } })],
    ["a graph's description", (text) => ({ ...VALID, graphs: { a: { path: './agent.py:g', description: text } } })],
    ['a value of env', (text) => ({ ...VALID, env: { A: text } })],
    ['a name of env', (text) => ({ ...VALID, env: { [text]: 'a' } })],
    ['a dependency', (text) => ({ ...VALID, dependencies: ['.', text] })],
    ['a dependency behind a name', (text) => ({ ...VALID, dependencies: ['.', `idna ${text}`] })],
    ['a folder', (text) => ({ ...VALID, dependencies: ['.', `./${text}`] })],
    ['pip_config_file', (text) => ({ ...VALID, pip_config_file: text })],
    ['a value of http', (text) => ({ ...VALID, http: { mount_prefix: text, [text]: text } })],
    ['an unknown key', (text) => ({ ...VALID, [text]: text })],
    ['a name of ui', (text) => ({ ...VALID, ui: { [text]: text } })],
    ['source.package', (text) => ({ source: { kind: 'uv', package: text }, graphs: GRAPHS })],
    ['node_version', (text) => ({ ...TS, node_version: text })],
  ];

  it.each(places)('in %s', (_, configOf) => {
    for (const text of HOSTILE) {
      const files = { [text]: '', [`${text}/setup.py`]: '', 'uv.lock': '' };
      const result = plan({ config: configOf(text), files });
      const { reason, message } = result as Partial<NotPlanned>;
      if (reason !== undefined) {
        expect(message, JSON.stringify(text)).toMatch(/^[^\n\r\u2028\u2029\u0085]+$/);
        continue;
      }
      const { dockerfile, warnings } = result as Planned;
      const found = instructionsOf(dockerfile);
      expect(
        found.filter((word) => !/^(FROM|ARG|COPY|RUN|ENV|WORKDIR)$/.test(word)),
        JSON.stringify(text),
      ).toEqual([]);
      expect(found.filter((word) => word === 'FROM')).toHaveLength(1);
      expect(dockerfile).not.toMatch(/^RUN evil/m);
      // No line continues on the next one.
      expect(dockerfile.split('\n').filter((line) => line.trimEnd().endsWith('\\'))).toEqual([]);
      for (const warning of warnings) expect(warning).toMatch(/^[^\n\r]+$/);
    }
  });

  it('in the name of the source', () => {
    for (const text of HOSTILE) {
      const workspace: Workspace = {
        name: text,
        entries: new Map([
          ['agent.py', 'file'],
          ['setup.py', 'file'],
          [CONFIG, 'file'],
        ]),
        texts: new Map([[CONFIG, JSON.stringify(VALID)]]),
      };
      const { dockerfile } = dockerfileOf(CONFIG, workspace, OPTIONS) as Planned;
      expect(dockerfile).toMatch(/^COPY \. \/deps\/[A-Za-z0-9._-]+$/m);
    }
  });

  it('but dockerfile_lines become instructions', () => {
    const given = ['RUN one \\', '  && two', '# three', 'USER four'];
    expect(made({ config: { ...VALID, dockerfile_lines: given } }).dockerfile).toContain(`\n${given.join('\n')}\n`);
  });
});
