// Workspaces with a configuration file, as they are found: what the published CLI and `davit plan` make of each is
// compared. `differs` names the parts that do, by the rows of README.md that explain why.

export interface Sample {
  readonly name: string;
  readonly config: unknown;
  /** Where the configuration file is; its folder is where the published CLI's build begins. */
  readonly at?: string;
  /** Paths with their contents, beside the configuration file. */
  readonly files: Readonly<Record<string, string>>;
  /** Part of the image → rows of the table "What differs". */
  readonly differs?: Readonly<Record<string, string>>;
}

const AGENT = { agent: './agent.py:graph' };
const FLAT = { 'agent.py': '' };
const PROJECT = '[project]\nname = "shop"\nversion = "0.1"\n';
const MANIFEST = '{"name":"shop","version":"1.0.0"}';
const TS = { agent: './src/agent.ts:graph' };
const NODE = { node_version: '20', graphs: TS };
const NODE_FILES = { 'src/agent.ts': '', 'package.json': MANIFEST };

const UV_MEMBER = '[project]\nname = "web"\nversion = "0.1"\nrequires-python = ">=3.11"\n';
const UV_LOCK =
  'version = 1\nrequires-python = ">=3.11"\n[[package]]\nname = "web"\nversion = "0.1"\nsource = { editable = "." }\n';

/** A flat folder app/ beside the file, and one key more. */
function withKey(name: string, more: Readonly<Record<string, unknown>>, files: Sample['files'] = {}): Sample {
  return {
    name,
    config: { dependencies: ['.'], graphs: AGENT, ...more },
    files: { ...FLAT, 'handlers.py': '', 'pyproject.toml': PROJECT, ...files },
  };
}

export const CORPUS: readonly Sample[] = [
  // Where code is, and how it is installed.
  {
    name: 'a folder with pyproject.toml',
    config: { dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'pyproject.toml': PROJECT },
  },
  {
    name: 'a folder with setup.py',
    config: { dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'setup.py': '' },
  },
  { name: 'a flat folder', config: { dependencies: ['.'], graphs: AGENT }, files: FLAT },
  {
    name: 'a flat folder with requirements.txt',
    config: { dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'requirements.txt': 'requests>=2\n' },
  },
  {
    name: 'a flat folder that is a package',
    config: { dependencies: ['./shop'], graphs: { agent: './shop/agent.py:graph' } },
    files: { 'shop/__init__.py': '', 'shop/agent.py': '' },
  },
  {
    name: 'a flat folder with packages in it',
    config: { dependencies: ['.'], graphs: { agent: './shop/agent.py:graph' } },
    files: { 'shop/__init__.py': '', 'shop/agent.py': '', 'tests/test_shop.py': '' },
  },
  {
    name: 'a flat folder below the file',
    config: { dependencies: ['./app'], graphs: { agent: './app/agent.py:graph' } },
    files: { 'app/agent.py': '', 'app/requirements.txt': 'x\n' },
  },
  {
    name: 'a project with src',
    config: { dependencies: ['.'], graphs: { agent: './src/shop/agent.py:graph' } },
    files: { 'pyproject.toml': PROJECT, 'src/shop/__init__.py': '', 'src/shop/agent.py': '' },
  },
  {
    name: 'several folders, packages and names',
    config: {
      dependencies: ['./z', 'langchain_openai', '.', './pkg', 'wikipedia==1.4.0'],
      graphs: { a: './pkg/agent.py:x', b: './z/g.py:y', c: './m.py:z' },
    },
    files: {
      'z/g.py': '',
      'z/requirements.txt': 'a\n',
      'm.py': '',
      'requirements.txt': 'b\n',
      'pkg/pyproject.toml': PROJECT,
      'pkg/agent.py': '',
      'pkg/requirements.txt': 'c\n',
    },
  },
  {
    name: 'two packages whose folders have one name',
    config: { dependencies: ['./b/lib', './c/lib'], graphs: { a: './b/lib/agent.py:x' } },
    files: { 'b/lib/agent.py': '', 'b/lib/pyproject.toml': PROJECT, 'c/lib/setup.py': '' },
  },
  {
    name: 'two flat folders of one name',
    config: { dependencies: ['./b/lib', './c/lib'], graphs: { a: './b/lib/agent.py:x' } },
    files: { 'b/lib/agent.py': '', 'c/lib/tools.py': '' },
    differs: { copies: 'D4', importable: 'D4' },
  },
  {
    name: 'a folder written with a slash at the end',
    config: { dependencies: ['./'], graphs: AGENT },
    files: FLAT,
    differs: { workdir: 'D5' },
  },
  {
    name: 'the same folder twice',
    config: { dependencies: ['./app', './app'], graphs: { agent: './app/agent.py:graph' } },
    files: { 'app/agent.py': '' },
  },
  {
    name: 'names with a comparison',
    config: { dependencies: ['.', 'requests>=2', "idna<4; python_version<'3.13'"], graphs: AGENT },
    files: FLAT,
    differs: { installs: 'D6' },
  },
  {
    name: 'a package from git',
    config: { dependencies: ['.', 'git+https://git.example.com/lib.git@main'], graphs: AGENT },
    files: FLAT,
  },
  {
    name: 'graphs of an installed module',
    config: { dependencies: ['.', 'shop_agents'], graphs: { agent: 'shop_agents.main:graph' } },
    files: { 'readme.md': '' },
  },
  {
    name: 'a graph without ./ before it',
    config: { dependencies: ['./app'], graphs: { agent: 'app/agent.py:graph' } },
    files: { 'app/agent.py': '' },
  },
  {
    name: 'a graph that is a file without any slash',
    config: { dependencies: ['.'], graphs: { agent: 'agent.py:graph' } },
    files: FLAT,
    differs: { env: 'D7' },
  },
  {
    name: 'graphs with descriptions',
    config: {
      dependencies: ['.'],
      graphs: {
        agent: { path: './agent.py:graph', description: 'Sells "things" for 5 € \\ and\nmore' },
        b: './agent.py:other',
      },
    },
    files: FLAT,
  },
  {
    name: 'a description with a single quote',
    config: { dependencies: ['.'], graphs: { agent: { path: './agent.py:graph', description: "the shop's agent" } } },
    files: FLAT,
    differs: { env: 'D8' },
  },
  {
    name: 'a folder above the file',
    at: 'apps/web/langgraph.json',
    config: { dependencies: ['.', '../../libs/core'], graphs: AGENT },
    files: { 'apps/web/agent.py': '', 'libs/core/pyproject.toml': PROJECT },
  },
  {
    name: 'a flat folder above the file, with requirements',
    at: 'apps/web/langgraph.json',
    config: {
      dependencies: ['.', '../../libs/shared'],
      graphs: { agent: './agent.py:graph', b: '../../libs/shared/g.py:x' },
    },
    files: { 'apps/web/agent.py': '', 'libs/shared/g.py': '', 'libs/shared/requirements.txt': 'x\n' },
    differs: { copies: 'D9' },
  },
  {
    name: 'requirements that name others',
    config: { dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'requirements.txt': '-r base.txt\nidna\n', 'base.txt': 'sniffio\n' },
    differs: { copies: 'D10' },
  },
  {
    name: 'a flat folder with src in it',
    config: { dependencies: ['.'], graphs: { agent: './src/agent.py:graph' } },
    files: { 'src/agent.py': '' },
    differs: { verdict: 'D11' },
  },
  {
    name: 'a flat folder with a folder named like a package of the runtime',
    config: { dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'pydantic/x.py': '' },
    differs: { verdict: 'D11' },
  },
  // Keys, one after the other.
  withKey('python_version 3.12', { python_version: '3.12' }),
  withKey('python_version with a variant', { python_version: '3.13-slim' }),
  withKey('image_distro wolfi', { image_distro: 'wolfi' }),
  withKey('image_distro bookworm and a version', { image_distro: 'bookworm', python_version: '3.12' }),
  withKey('base_image without a tag', {
    base_image: 'registry.example.com/agents/base',
    python_version: '3.12',
    image_distro: 'wolfi',
  }),
  {
    ...withKey('base_image with a tag', { base_image: 'registry.example.com/agents/base:1.2' }),
    differs: { base: 'D12' },
  },
  { ...withKey('api_version', { api_version: '0.2' }), differs: { base: 'D13' } },
  withKey(
    'pip_config_file',
    { pip_config_file: './pip.conf', dependencies: ['.', 'idna'] },
    { 'pip.conf': '[global]\n' },
  ),
  withKey('pip_installer pip', { pip_installer: 'pip', dependencies: ['.', 'idna'] }),
  withKey('pip_installer uv', { pip_installer: 'uv', dependencies: ['.', 'idna'] }),
  withKey('keep_pkg_tools true', { keep_pkg_tools: true }),
  withKey('keep_pkg_tools false', { keep_pkg_tools: false }),
  withKey('keep_pkg_tools, a list', { keep_pkg_tools: ['setuptools', 'wheel'] }),
  withKey('dockerfile_lines', {
    dockerfile_lines: ['RUN apt-get update \\', '  && apt-get install -y libmagic1', '# a comment', 'ENV A=b'],
  }),
  withKey('store', {
    store: { index: { embed: 'openai:text-embedding-3-small', dims: 1536, fields: ['$'] }, ttl: { default_ttl: 60.5 } },
  }),
  {
    ...withKey('store with code', { store: { index: { embed: './handlers.py:embed', dims: 3 } } }),
    differs: { env: 'D14' },
  },
  withKey('checkpointer', {
    checkpointer: { ttl: { strategy: 'delete', default_ttl: 10 }, path: './handlers.py:saver' },
  }),
  withKey('auth', { auth: { path: './handlers.py:auth', disable_studio_auth: true, openapi: { security: [] } } }),
  withKey('auth of an installed module', { auth: { path: 'company.auth:auth' } }),
  withKey('encryption and priority', {
    encryption: { path: './handlers.py:e' },
    priority: { path: './handlers.py:p' },
  }),
  withKey('http', {
    http: { app: './handlers.py:app', cors: { allow_origins: ['*'] }, disable_mcp: true, mount_prefix: '/x' },
  }),
  withKey('webhooks', { webhooks: { env_prefix: 'SHOP_', headers: { authorization: 'Bearer {{ env.SHOP_X }}' } } }),
  withKey(
    'ui and ui_config',
    { ui: { cart: './cart.tsx' }, ui_config: { shared: ['react'] } },
    { 'package.json': MANIFEST, 'cart.tsx': '' },
  ),
  {
    ...withKey('ui without package.json', { ui: { cart: './cart.tsx' } }, { 'cart.tsx': '' }),
    differs: { javascript: 'D17' },
  },
  withKey('env as a file', { env: './.env' }, { '.env': 'A=1\n' }),
  { ...withKey('env as an object', { env: { LOG_LEVEL: 'debug' } }), differs: { env: 'D15' } },
  withKey('keys that nobody knows', { $schema: 'https://example.com/schema.json', colour: 'red' }),
  withKey('null for what is optional', {
    auth: null,
    store: null,
    http: null,
    ui: null,
    base_image: null,
    env: null,
    keep_pkg_tools: null,
  }),
  { ...withKey('null for a version', { python_version: null }), differs: { base: 'D16' } },
  // JavaScript.
  { name: 'node, npm without a lock', config: NODE, files: NODE_FILES },
  { name: 'node, npm', config: NODE, files: { ...NODE_FILES, 'package-lock.json': '{}' } },
  { name: 'node, yarn', config: NODE, files: { ...NODE_FILES, 'yarn.lock': '' } },
  { name: 'node, pnpm', config: NODE, files: { ...NODE_FILES, 'pnpm-lock.yaml': '' } },
  { name: 'node, bun', config: NODE, files: { ...NODE_FILES, 'bun.lockb': '' } },
  {
    name: 'node, bun with a lock in text',
    config: NODE,
    files: { ...NODE_FILES, 'bun.lock': '' },
    differs: { javascript: 'D17' },
  },
  { name: 'node, two locks', config: NODE, files: { ...NODE_FILES, 'package-lock.json': '{}', 'yarn.lock': '' } },
  {
    name: 'node, three locks',
    config: NODE,
    files: { ...NODE_FILES, 'package-lock.json': '{}', 'pnpm-lock.yaml': '', 'bun.lockb': '' },
  },
  {
    name: 'node, packageManager',
    config: NODE,
    files: { ...NODE_FILES, 'package.json': '{"packageManager":"pnpm@9.1.0"}' },
  },
  {
    name: 'node, without package.json',
    config: NODE,
    files: { 'src/agent.ts': '' },
    differs: { javascript: 'D17' },
  },
  {
    name: 'node, every key',
    config: {
      node_version: '22',
      graphs: TS,
      dependencies: ['.'],
      dockerfile_lines: ['RUN corepack enable'],
      auth: { path: './src/agent.ts:auth' },
      http: { app: './src/agent.ts:app' },
      store: { ttl: {} },
      ui: { cart: './cart.tsx' },
      image_distro: 'wolfi',
    },
    files: NODE_FILES,
  },
  {
    name: 'node by its graphs alone',
    config: { graphs: { agent: './agent.mts:graph' } },
    files: { 'agent.mts': '', 'package.json': MANIFEST },
  },
  {
    name: 'node in a folder of a repository of several packages',
    at: 'apps/web/langgraph.json',
    config: { node_version: '20', graphs: TS },
    files: {
      'apps/web/src/agent.ts': '',
      'apps/web/package.json': MANIFEST,
      'package.json': MANIFEST,
      'package-lock.json': '{}',
    },
  },
  {
    name: 'Python and TypeScript',
    config: {
      dependencies: ['.'],
      graphs: { a: './agent.py:g', b: './agent.ts:g' },
      node_version: '20',
      python_version: '3.12',
    },
    files: { ...FLAT, 'agent.ts': '', 'package.json': MANIFEST, 'yarn.lock': '' },
  },
  {
    name: 'TypeScript alone, with a version of Python',
    config: { dependencies: ['.'], graphs: { b: './agent.ts:g' }, python_version: '3.12' },
    files: { 'agent.ts': '', 'package.json': MANIFEST },
  },
  // Projects of uv.
  {
    name: 'a project of uv',
    config: { source: { kind: 'uv' }, graphs: AGENT },
    files: { ...FLAT, 'pyproject.toml': UV_MEMBER, 'uv.lock': UV_LOCK },
    differs: { copies: 'D18', uv: 'D18' },
  },
  {
    name: 'a member of a uv workspace',
    at: 'apps/web/langgraph.json',
    config: { source: { kind: 'uv', root: '../..', package: 'web' }, graphs: AGENT, python_version: '3.12' },
    files: {
      'apps/web/agent.py': '',
      'apps/web/pyproject.toml': UV_MEMBER,
      'pyproject.toml': '[project]\nname = "root"\nversion = "0.1"\n[tool.uv.workspace]\nmembers = ["apps/*"]\n',
      'uv.lock': `${UV_LOCK.replace('"."', '"apps/web"')}[[package]]\nname = "root"\nversion = "0.1"\nsource = { editable = "." }\n`,
    },
    differs: { copies: 'D18', uv: 'D18' },
  },
  // What neither takes.
  { name: 'no graphs', config: { dependencies: ['.'] }, files: FLAT },
  { name: 'empty graphs', config: { dependencies: ['.'], graphs: {} }, files: FLAT },
  { name: 'no dependencies', config: { graphs: AGENT }, files: FLAT },
  { name: 'empty dependencies', config: { dependencies: [], graphs: AGENT }, files: FLAT },
  { name: 'a dependency that is not there', config: { dependencies: ['./missing'], graphs: AGENT }, files: FLAT },
  { name: 'a dependency that is a file', config: { dependencies: ['./agent.py'], graphs: AGENT }, files: FLAT },
  {
    name: 'a dependency with a password',
    config: { dependencies: ['.', 'git+https://u:p@git.example.com/x.git'], graphs: AGENT },
    files: FLAT,
  },
  { name: 'a graph that is not there', config: { dependencies: ['.'], graphs: { a: './missing.py:g' } }, files: FLAT },
  {
    name: 'a graph in no dependency',
    config: { dependencies: ['./app'], graphs: { a: './other/x.py:g' } },
    files: { 'app/x.py': '', 'other/x.py': '' },
  },
  { name: 'a graph without a variable', config: { dependencies: ['.'], graphs: { a: './agent.py' } }, files: FLAT },
  withKey('a handler that is not there', { auth: { path: './missing.py:auth' } }),
  withKey('python_version 3.10', { python_version: '3.10' }),
  withKey('python_version 3.12.1', { python_version: '3.12.1' }),
  withKey('a distribution that there is not', { image_distro: 'alpine' }),
  withKey('an installer that there is not', { pip_installer: 'poetry' }),
  withKey('a tool that there is not', { keep_pkg_tools: ['uv'] }),
  { name: 'node_version 18', config: { ...NODE, node_version: '18' }, files: NODE_FILES },
  { name: 'node_version 20.1', config: { ...NODE, node_version: '20.1' }, files: NODE_FILES },
  { name: 'a broken package.json', config: NODE, files: { ...NODE_FILES, 'package.json': '{' } },
  {
    name: 'uv without uv.lock',
    config: { source: { kind: 'uv' }, graphs: AGENT },
    files: { ...FLAT, 'pyproject.toml': UV_MEMBER },
  },
  {
    name: 'uv with dependencies',
    config: { source: { kind: 'uv' }, dependencies: ['.'], graphs: AGENT },
    files: { ...FLAT, 'pyproject.toml': UV_MEMBER, 'uv.lock': UV_LOCK },
  },
  {
    name: 'a package folder with a hyphen',
    config: { dependencies: ['./my-app'], graphs: { a: './my-app/x.py:g' } },
    files: { 'my-app/__init__.py': '', 'my-app/x.py': '' },
  },
  // What the published CLI takes, and should not.
  {
    name: 'dependencies as text',
    config: { dependencies: '.', graphs: AGENT },
    files: FLAT,
    differs: { verdict: 'D1' },
  },
  withKeyDiffering('dockerfile_lines as text', { dockerfile_lines: 'RUN x' }),
  withKeyDiffering('a number for env', { env: 3 }),
  withKeyDiffering('a flag that is text', { http: { disable_meta: 'yes' } }),
  { ...withKey('a line break in base_image', { base_image: 'x\nRUN evil' }), differs: { verdict: 'D2' } },
  { ...withKey('an absolute pip_config_file', { pip_config_file: '/etc/pip.conf' }), differs: { verdict: 'D3' } },
  {
    ...withKey('a pip_config_file above the workspace', { pip_config_file: '../pip.conf' }),
    differs: { verdict: 'D3' },
  },
  {
    name: 'a folder above the workspace',
    config: { dependencies: ['./..'], graphs: AGENT },
    files: FLAT,
    differs: { verdict: 'D3' },
  },
];

function withKeyDiffering(name: string, more: Readonly<Record<string, unknown>>): Sample {
  return { ...withKey(name, more), differs: { verdict: 'D1' } };
}
