// Which subject of src may import which, and which role within a subject; ARCHITECTURE.md has what each contains. A finding names the
// file and its import.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = join(import.meta.dirname, '../../../src');

interface May {
  readonly values: readonly string[];
  readonly types?: readonly string[];
}

/** Subject → subjects of which it may import values, and subjects of which it may import types alone. */
const SUBJECTS: Readonly<Record<string, May>> = {
  runtime: { values: [] },
  kinds: { values: ['runtime'] },
  api: { values: ['kinds', 'runtime'] },
  tokens: { values: ['api', 'kinds', 'runtime'] },
  deploy: { values: ['tokens', 'api', 'kinds', 'runtime'] },
  databases: { values: ['deploy', 'api', 'kinds', 'runtime'] },
  build: { values: ['deploy', 'api', 'kinds', 'runtime'] },
  clusters: { values: ['deploy', 'api', 'kinds', 'runtime'] },
  logs: { values: ['build', 'deploy', 'api', 'kinds', 'runtime'], types: ['clusters'] },
  // The facade's own routes run in the process of the plugin.
  cli: { values: ['main', 'deploy', 'kinds', 'runtime'], types: ['databases', 'logs'] },
  // Runs in browsers.
  web: { values: ['kinds'], types: ['clusters', 'databases', 'deploy', 'logs', 'tokens'] },
  // Writes files of the repository; it is not in the image, and nothing imports it.
  tools: { values: ['deploy', 'kinds'] },
  main: {
    values: ['build', 'databases', 'deploy', 'clusters', 'logs', 'tokens', 'api', 'kinds', 'runtime'],
  },
};
/** Subject → role within it → roles of the same subject that it may import. A dot is the folder of the subject itself. */
const ROLES: Readonly<Record<string, Readonly<Record<string, May>>>> = {
  runtime: {
    '.': { values: [] },
    kube: { values: ['.'] },
    controller: { values: ['.', 'kube'] },
    outbound: { values: ['.'], types: ['controller'] },
    http: { values: ['.'], types: ['kube'] },
  },
  tokens: {
    '.': { values: [] },
    oauth: { values: ['.'] },
    http: { values: ['oauth'] },
  },
  deploy: {
    record: { values: [] },
    archive: { values: [] },
    assess: { values: ['record'] },
    children: { values: ['record'] },
    plan: { values: ['assess', 'record'], types: ['children'] },
    cluster: { values: ['plan', 'children', 'assess', 'record'] },
    '.': { values: ['cluster', 'plan', 'children', 'assess', 'record'] },
    http: { values: ['assess', 'record'] },
  },
  databases: { '.': { values: [] }, http: { values: ['.'] } },
  build: {
    planner: { values: [] },
    codehost: { values: [] },
    registry: { values: [] },
    job: { values: ['registry'] },
    '.': { values: ['job', 'registry'], types: ['codehost'] },
    http: { values: ['registry'], types: ['codehost'] },
  },
  clusters: { hub: { values: [] }, agent: { values: [], types: ['hub'] }, http: { values: [] } },
  cli: {
    transport: { values: [] },
    line: { values: ['transport'] },
    text: { values: ['line', 'transport'] },
    folder: { values: ['line', 'transport'] },
    commands: { values: ['folder', 'text', 'line', 'transport'] },
    '.': { values: ['commands', 'line', 'transport'] },
  },
  main: {
    preflight: { values: [] },
    monitoring: { values: [] },
    notices: { values: [] },
    '.': { values: ['preflight', 'monitoring', 'notices'] },
  },
};
/** Files and folders without input, output, time or chance. They import values of one another alone. */
const PURE = [
  'kinds/',
  'deploy/record/',
  'deploy/archive/archive.ts',
  'deploy/archive/contents.ts',
  'deploy/archive/further-databases.ts',
  'deploy/archive/postgres-major.ts',
  'deploy/archive/retention.ts',
  'deploy/assess/',
  'deploy/children/',
  'deploy/plan/',
  'deploy/http/usage/history.ts',
  'deploy/http/usage/queries.ts',
  'deploy/revision-history.ts',
  'deploy/revision-status.ts',
  'deploy/stable-messages.ts',
  'deploy/stalled-since.ts',
  'deploy/status.ts',
  'databases/backup-step.ts',
  'databases/decide-move.ts',
  'databases/decide-patch.ts',
  'databases/move-step.ts',
  'databases/observed.ts',
  'databases/outcome.ts',
  'databases/patch-step.ts',
  'databases/step.ts',
  'databases/steps.ts',
  'databases/turns.ts',
  'databases/window.ts',
  'build/planner/',
  'build/job/',
  'build/failures.ts',
  'build/observed.ts',
  'build/outcome.ts',
  'build/step.ts',
  'build/turns.ts',
  'build/registry/docker-config.ts',
  'build/registry/registry-grant.ts',
  'build/registry/unneeded.ts',
  'clusters/agent/step.ts',
  'clusters/hub/contact.ts',
  'clusters/hub/mirror.ts',
  'clusters/hub/objects.ts',
  'main/monitoring/census.ts',
  'main/monitoring/outcomes.ts',
  'main/monitoring/transitions.ts',
  'main/monitoring/unavailable.ts',
  'tokens/conditions.ts',
  'tokens/http/oauth-tokens/html.ts',
  'tokens/http/oauth-tokens/presenter.ts',
  'tokens/oauth/key-ring.ts',
  'tokens/oauth/names.ts',
  'tokens/oauth/quirks.ts',
  'tokens/oauth/sealing.ts',
  'tokens/oauth/secret-keys.ts',
  'tokens/oauth/token.ts',
  'main/notices/decide.ts',
  'main/notices/signature.ts',
  'runtime/controller/keys.ts',
  'runtime/http/casing.ts',
  'runtime/json-error.ts',
  'runtime/json-value.ts',
  'runtime/kube/write-times.ts',
  'runtime/kube/youngest-first.ts',
  'runtime/similar.ts',
];
const NODE_MODULES_OF_PURE_FILES: Readonly<Record<string, string>> = {
  'deploy/children/secret-digest.ts': 'node:crypto',
  'deploy/children/database/wal-archive.ts': 'node:crypto',
  'deploy/record/hostnames.ts': 'node:crypto',
  'build/registry/registry-grant.ts': 'node:crypto',
  'tokens/http/oauth-tokens/html.ts': 'node:crypto',
  'main/notices/signature.ts': 'node:crypto',
  'tokens/oauth/names.ts': 'node:crypto',
  'tokens/oauth/sealing.ts': 'node:crypto',
  'tokens/oauth/secret-keys.ts': 'node:crypto',
  'kinds/provider-id.ts': 'node:crypto',
  'deploy/record/revision-id.ts': 'node:crypto',
};
/** Of these, besides pure ones, a reader of HTTP requests may import values; a reconciler's code is out of its reach. */
const OF_HTTP =
  /^(runtime\/(?!controller\/)|runtime\/controller\/fair-limiter\.ts|api\/|tokens\/oauth\/|logs\/|\w+\/http\/|build\/registry\/|\.\.\/package\.json)/;

interface Import {
  readonly file: string;
  readonly from: string;
  readonly typeOnly: boolean;
  /** It is loaded when its line runs. */
  readonly isLazy?: true;
}

const files = globSync('**/*.{ts,tsx}', { cwd: src })
  .filter((file) => !file.endsWith('.test.ts'))
  .toSorted();
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
const imports = files.flatMap((file) => importsOf(file, texts.get(file) ?? ''));

function importsOf(file: string, text: string): Import[] {
  const statements = [
    ...text.matchAll(/^import\s+(type\s)?(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm),
    ...text.matchAll(/^export\s+(type\s)?(\{[^}]*\}|\*[^'";=]*?)\s+from\s+'([^']+)'/gm),
  ];
  const dynamic = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [
    ...statements.map(([, type, names = '', from = '']) => ({
      file,
      from,
      typeOnly: type !== undefined || onlyTypes(names),
    })),
    ...[...dynamic].map(([, from = '']) => ({ file, from, typeOnly: false, isLazy: true })),
  ];
}

/** `{ type A, type B }`. */
function onlyTypes(names: string): boolean {
  const listed = /^\{([^}]*)\}\s*$/
    .exec(names.trim())?.[1]
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return listed !== undefined && listed.length > 0 && listed.every((name) => name.startsWith('type '));
}

function subjectOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}

/** `assess`, or a dot for a file that stands in the subject's own folder. */
function roleOf(path: string): string {
  const parts = path.split('/');
  return parts.length > 2 ? (parts[1] ?? '') : '.';
}

function isPure(path: string): boolean {
  return PURE.some((pure) => (pure.endsWith('/') ? path.startsWith(pure) : path === pure));
}

function isOfHttp(path: string): boolean {
  return /^(\w+\/http\/|logs\/|api\/)/.test(path) && !path.startsWith('runtime/');
}

function targetOf({ file, from }: Import): string {
  return normalize(join(dirname(file), from));
}

function allows(may: May | undefined, to: string, typeOnly: boolean): boolean {
  return may !== undefined && (may.values.includes(to) || (typeOnly && may.types?.includes(to) === true));
}

function isRelative({ from }: Import): boolean {
  return from.startsWith('.');
}

function told(one: Import): string {
  return `src/${one.file} imports ${one.typeOnly ? 'a type' : 'a value'} of ${one.from}`;
}

describe('the subjects of src', () => {
  it('each stands in the table', () => {
    expect([...new Set(files.map(subjectOf))].filter((subject) => !(subject in SUBJECTS))).toEqual([]);
    expect(Object.keys(SUBJECTS).length - 1).toBeLessThanOrEqual(13);
  });

  it('import in one direction', () => {
    const wrong = imports.filter(isRelative).filter((one) => {
      const [from, to] = [subjectOf(one.file), subjectOf(targetOf(one))];
      if (from === to || targetOf(one) === '../package.json') return false;
      return !allows(SUBJECTS[from], to, one.typeOnly);
    });
    expect(wrong.map(told)).toEqual([]);
  });

  it('import in one direction within a subject', () => {
    const wrong = imports.filter(isRelative).filter((one) => {
      const subject = subjectOf(one.file);
      const [from, to] = [roleOf(one.file), roleOf(targetOf(one))];
      if (from === to || subject !== subjectOf(targetOf(one))) return false;
      return !allows(ROLES[subject]?.[from], to, one.typeOnly);
    });
    expect(wrong.map(told)).toEqual([]);
    const unknown = files.filter(
      (file) => file.split('/').length > 2 && !(roleOf(file) in (ROLES[subjectOf(file)] ?? {})),
    );
    expect(unknown).toEqual([]);
  });

  it('have tables without a circle: of any two, at most one may import the other', () => {
    const tables = [SUBJECTS, ...Object.values(ROLES)];
    const circles = tables.flatMap((table) =>
      Object.entries(table).flatMap(([name, { values, types = [] }]) =>
        [...values, ...types]
          .filter((other) => allows(table[other], name, true))
          .map((other) => `${name} and ${other}`),
      ),
    );
    expect(circles).toEqual([]);
  });

  it('have no circle of files, nor has test: neither by types nor by what is loaded later', () => {
    const root = join(src, '..');
    const all = globSync('{src,test}/**/*.{ts,tsx}', { cwd: root });
    const left = new Map(
      all.map((file) => {
        const targets = importsOf(file, readFileSync(join(root, file), 'utf8'))
          .filter(isRelative)
          .map(targetOf);
        return [file, targets] as const;
      }),
    );
    expect(left.size).toBeGreaterThan(1000);
    // What imports none of the others, or is imported by none of them, is in no circle.
    for (let size = Infinity; left.size < size; ) {
      size = left.size;
      const imported = new Set([...left.values()].flat());
      for (const [file, targets] of left)
        if (!imported.has(file) || !targets.some((target) => left.has(target))) left.delete(file);
    }
    expect([...left.keys()]).toEqual([]);
  });

  it('have few arrows between them', () => {
    const arrows = new Set(
      imports
        .filter(isRelative)
        .map((one) => [subjectOf(one.file), subjectOf(targetOf(one))])
        .filter(([from, to]) => from !== to && to !== '..')
        .map((arrow) => arrow.join(' -> ')),
    );
    expect(arrows.size).toBeLessThanOrEqual(51);
  });

  it('answer HTTP requests without the code of a reconciler', () => {
    const wrong = imports.filter(isRelative).filter((one) => {
      if (!isOfHttp(one.file) || one.typeOnly) return false;
      return !isPure(targetOf(one)) && !OF_HTTP.test(targetOf(one));
    });
    expect(wrong.map(told)).toEqual([]);
  });

  it('only runtime/kube imports a value of @kubernetes/client-node', () => {
    expect(
      imports
        .filter(
          (one) =>
            one.from.startsWith('@kubernetes/client-node') && !one.typeOnly && !one.file.startsWith('runtime/kube/'),
        )
        .map(told),
    ).toEqual([]);
  });

  it('only runtime/kube, runtime/outbound and build/codehost ask anything of another host', () => {
    const clients = /^(undici|node:dns(\/.*)?|@octokit\/.*)$/;
    const others = (file: string): boolean => !/^(runtime\/kube|runtime\/outbound|build\/codehost)\//.test(file);
    const found = imports.filter((one) => clients.test(one.from) && !one.typeOnly && others(one.file)).map(told);
    // Each page asks the host that it comes from, in one file.
    const asking = files.filter((file) => others(file) && !['web/api.ts', 'web/docs.tsx'].includes(file));
    const calls = asking.filter((file) => /(^|[^.\w])fetch\(/m.test(texts.get(file) ?? ''));
    expect([...found, ...calls]).toEqual([]);
  });

  it('those that decide have no input, output, time or chance', () => {
    const impureImports = imports.filter((one) => {
      if (!isPure(one.file) || one.typeOnly) return false;
      if (isRelative(one)) return !isPure(targetOf(one));
      return one.from !== 'zod' && NODE_MODULES_OF_PURE_FILES[one.file] !== one.from;
    });
    const impure = files.filter(isPure).flatMap((file) => {
      const found = /\b(Date\.now\(|new Date\(\)|Math\.random|process\.|async function|await )/.exec(
        texts.get(file) ?? '',
      );
      return found ? [`src/${file} has ${found[1]}`] : [];
    });
    expect([...impureImports.map(told), ...impure]).toEqual([]);
  });

  it('the environment of each program is read in one place, and the process ended in one place', () => {
    const readers = ['main/config.ts', 'cli/main.ts'];
    const found = files.flatMap((file) => {
      const text = texts.get(file) ?? '';
      return [
        ...(/\bprocess\.env\b/.test(text) && !readers.includes(file) ? [`src/${file} reads process.env`] : []),
        ...(/\bprocess\.exit\(/.test(text) && !/(^|\/)main\.ts$/.test(file) ? [`src/${file} calls process.exit`] : []),
      ];
    });
    expect(found).toEqual([]);
  });

  /** What is loaded with a file: files of src, and packages. `lazily`: with what it may load later. */
  function loadedWith(first: string, lazily: boolean): ReadonlySet<string> {
    const loaded = new Set<string>();
    const reached = [first];
    for (let file = reached.pop(); file !== undefined; file = reached.pop()) {
      const current = file;
      for (const one of imports.filter(({ file: importer, typeOnly }) => importer === current && !typeOnly)) {
        if (one.isLazy && !lazily) continue;
        const target = isRelative(one) ? normalize(join(dirname(current), one.from)) : one.from;
        if (isRelative(one) && !loaded.has(target)) reached.push(target);
        loaded.add(target);
      }
    }
    return loaded;
  }

  it('kubectl davit starts without schemas and YAML: a command that needs them loads them', () => {
    const loaded = loadedWith('cli/main.ts', false);
    expect(loaded.size).toBeGreaterThan(40);
    const heavy = ['zod', 'yaml'];
    expect(heavy.filter((one) => loaded.has(one))).toEqual([]);
    expect(heavy.filter((one) => !loadedWith('cli/main.ts', true).has(one))).toEqual([]);
  });

  it('`davit plan` loads nothing but what it needs: it starts in every build, and reaches nobody', () => {
    const loaded = loadedWith('main/plan.ts', true);
    const others = [...loaded].filter(
      (one) =>
        !/^(build\/planner\/|main\/termination-message\.ts$|node:(fs|path|util)$|zod$|kinds\/(name-patterns|plain-folders|primitives|registry-images|source-files)\.ts$|runtime\/json-(error|value)\.ts$)/.test(
          one,
        ),
    );
    expect(loaded.size).toBeGreaterThan(8);
    expect(others).toEqual([]);
  });

  it('have no index files', () => {
    expect(files.filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual([]);
  });
});

it('no exported function has the name of another in deploy and build', () => {
  const places = new Map<string, string[]>();
  for (const file of globSync('{deploy,build}/**/*.ts', { cwd: src }).filter((name) => !name.endsWith('.test.ts')))
    for (const [, name = ''] of readFileSync(join(src, file), 'utf8').matchAll(
      /^export (?:async )?function\*? (\w+)/gm,
    ))
      places.set(name, [...(places.get(name) ?? []), file]);
  expect(places.size).toBeGreaterThan(300);
  expect([...places].filter(([, files]) => new Set(files).size > 1)).toEqual([]);
});

it('no file of src has more than 27 imports', () => {
  const counted = globSync('**/*.{ts,tsx}', { cwd: src }).filter((name) => !name.includes('.test.'));
  const many = counted.map((file): [string, number] => {
    const text = readFileSync(join(src, file), 'utf8');
    return [file, (text.match(/^(?:import|\}) [^;]*?from '/gm) ?? []).length];
  });
  expect(many.filter(([, imports]) => imports > 20).length).toBeGreaterThan(2);
  expect(many.filter(([, imports]) => imports > 27)).toEqual([]);
});
