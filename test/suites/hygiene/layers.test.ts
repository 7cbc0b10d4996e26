// Which room of src may import which: the table of ARCHITECTURE.md, as data. A finding names the file and its import.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = join(import.meta.dirname, '../../../src');

/** Room → rooms of which it may import values, and rooms of which it may import types alone. */
const MAY_IMPORT: Readonly<Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }>> =
  {
    api: { values: [] },
    record: { values: ['api'] },
    resources: { values: ['record', 'api'] },
    decide: { values: ['record', 'api'], types: ['resources'] },
    kube: { values: ['errors'] },
    runtime: { values: ['errors', 'kube'] },
    controller: {
      values: ['record', 'resources', 'decide', 'runtime', 'kube', 'api', 'errors'],
      types: ['logger', 'codehost', 'registry'],
    },
    outbound: { values: ['errors'], types: ['runtime'] },
    registry: { values: ['record', 'kube', 'errors', 'outbound'], types: ['api', 'logger'] },
    codehost: { values: ['api', 'errors', 'outbound'] },
    http: { values: ['api', 'record', 'errors', 'kube', 'registry'], types: ['runtime', 'logger', 'codehost'] },
    // Runs in browsers.
    page: { values: ['api'], types: ['http'] },
    cli: { values: ['api', 'record', 'decide'], types: ['kube'] },
    build: { values: ['api'] },
    errors: { values: [] },
    logger: { values: [] },
    config: { values: ['api'] },
    process: {
      values: [
        'build',
        'http',
        'codehost',
        'outbound',
        'registry',
        'controller',
        'record',
        'resources',
        'runtime',
        'kube',
        'api',
        'config',
        'errors',
        'logger',
      ],
    },
    main: { values: ['process'] },
    // Writes files of the repository; it is not in the image, and nothing imports it.
    generate: { values: ['api', 'record'] },
  };
/**
 * Folder of a room → folders of the same room of which it may import values, and those of which it may import types alone.
 * A room that is named with a dot holds the files that stand in no folder.
 */
const MAY_IMPORT_WITHIN: Readonly<
  Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }>
> = {
  'decide/.': { values: ['decide/assess'] },
  'decide/assess': { values: ['decide/.'] },
  'decide/build': { values: ['decide/.'] },
  'decide/agent': { values: ['decide/.'] },
  'decide/listener': { values: ['decide/.'] },
  'decide/children': { values: ['decide/.', 'decide/assess'] },
  'controller/shared': { values: [] },
  'controller/app-deployment': { values: ['controller/shared'], types: ['controller/garbage'] },
  'controller/build': { values: ['controller/shared'] },
  'controller/organization': { values: ['controller/shared'] },
  'controller/agent': { values: ['controller/shared'] },
  'controller/listener': { values: ['controller/shared', 'controller/app-deployment'] },
  'controller/monitoring': { values: ['controller/shared'] },
  'controller/garbage': { values: ['controller/shared', 'controller/app-deployment'] },
  'runtime/.': { values: [] },
  'runtime/clients': { values: ['runtime/.'] },
  'http/core': { values: [] },
  'http/plugins': { values: ['http/core'] },
  'http/page': { values: [] },
  'http/deployments': { values: ['http/core', 'http/plugins', 'http/revisions'] },
  'http/revisions': { values: ['http/core', 'http/plugins', 'http/deployments'] },
  'http/listeners': { values: ['http/core', 'http/plugins', 'http/deployments'] },
  'http/logs': {
    values: ['http/core', 'http/plugins', 'http/registry', 'http/revisions'],
    types: ['http/deployments', 'http/listeners'],
  },
  'http/registry': { values: ['http/core', 'http/plugins', 'http/deployments'] },
  'http/uploads': { values: ['http/core', 'http/plugins', 'http/deployments', 'http/registry'] },
  'http/webhooks': { values: ['http/core'] },
  'http/oauth-providers': { values: ['http/core', 'http/plugins', 'http/deployments'] },
  'http/platform': {
    values: ['http/core', 'http/plugins', 'http/deployments'],
    types: ['http/code-host-repositories'],
  },
  'http/code-host-repositories': { values: ['http/core', 'http/plugins', 'http/deployments'] },
};
/** Rooms whose every folder stands in that table. */
const DIVIDED_ROOMS = ['decide', 'controller', 'runtime', 'http'];
/** Of these a type may be imported from anywhere: what Kubernetes' objects look like, and the numbers that the metrics show. */
const TYPES_FOR_ALL = ['lib/kube/client.ts', 'monitoring/census.ts'];
/** Of these a value may be, for they know nothing of their room. */
const VALUES_FOR_ALL = ['lib/controller/fair-limiter.ts', '../package.json'];
/** Rooms without input, output, time or chance. */
const PURE = ['api', 'record', 'resources', 'decide', 'build'];
const NODE_MODULES_OF_PURE_ROOMS: Readonly<Record<string, string>> = {
  'deployments/children/secret-digest.ts': 'node:crypto',
  'deployments/record/hostnames.ts': 'node:crypto',
  'builds/registry/registry-grant.ts': 'node:crypto',
  'deployments/record/revision-id.ts': 'node:crypto',
};
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  api: ['zod'],
  record: ['zod'],
  resources: [],
  decide: [],
  build: ['zod'],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly typeOnly: boolean;
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
    ...[...dynamic].map(([, from = '']) => ({ file, from, typeOnly: false })),
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

function roomOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}

/** `decide/assess`, or `decide/.` for a file that stands in no folder. */
function folderOf(path: string): string {
  const parts = path.split('/');
  return `${parts[0]}/${parts.length > 2 ? parts[1] : '.'}`;
}

function isRelative({ from }: Import): boolean {
  return from.startsWith('.');
}

function told(one: Import): string {
  return `src/${one.file} imports ${one.typeOnly ? 'a type' : 'a value'} of ${one.from}`;
}

describe('the rooms of src', () => {
  it('each stands in the table', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  it('import in one direction', () => {
    const wrong = imports.filter(isRelative).filter((one) => {
      const target = normalize(join(dirname(one.file), one.from));
      const [from, to] = [roomOf(one.file), roomOf(target)];
      if (from === to || VALUES_FOR_ALL.includes(target) || (one.typeOnly && TYPES_FOR_ALL.includes(target)))
        return false;
      const allowed = MAY_IMPORT[from];
      return !(allowed?.values.includes(to) || (one.typeOnly && allowed?.types?.includes(to)));
    });
    expect(wrong.map(told)).toEqual([]);
  });

  it('import in one direction within a room', () => {
    const wrong = imports.filter(isRelative).filter((one) => {
      const target = normalize(join(dirname(one.file), one.from));
      const [from, to] = [folderOf(one.file), folderOf(target)];
      if (from === to || roomOf(one.file) !== roomOf(target) || !DIVIDED_ROOMS.includes(roomOf(one.file))) return false;
      // It puts the endpoints together.
      if (from === 'http/.') return false;
      const allowed = MAY_IMPORT_WITHIN[from];
      return !(allowed?.values.includes(to) || (one.typeOnly && allowed?.types?.includes(to)));
    });
    expect(wrong.map(told)).toEqual([]);
    const unknown = files.filter(
      (file) => file.includes('/') && DIVIDED_ROOMS.includes(roomOf(file)) && !(folderOf(file) in MAY_IMPORT_WITHIN),
    );
    expect(unknown.filter((file) => folderOf(file) !== 'http/.')).toEqual([]);
  });

  it('only kube imports a value of @kubernetes/client-node', () => {
    expect(
      imports
        .filter((one) => one.from.startsWith('@kubernetes/client-node') && !one.typeOnly && roomOf(one.file) !== 'kube')
        .map(told),
    ).toEqual([]);
  });

  it('only kube, outbound and codehost ask anything of another host', () => {
    const clients = /^(undici|node:dns(\/.*)?|@octokit\/.*)$/;
    const others = (file: string): boolean => !['kube', 'outbound', 'codehost'].includes(roomOf(file));
    const found = imports.filter((one) => clients.test(one.from) && !one.typeOnly && others(one.file)).map(told);
    // The page asks the host that it comes from, in one file.
    const asking = files.filter((file) => others(file) && file !== 'page/api.ts');
    const calls = asking.filter((file) => /(^|[^.\w])fetch\(/m.test(texts.get(file) ?? ''));
    expect([...found, ...calls]).toEqual([]);
  });

  it('those that decide have no input, output, time or chance', () => {
    const ofPackages = imports.filter((one) => {
      const room = roomOf(one.file);
      if (!PURE.includes(room) || isRelative(one) || one.typeOnly) return false;
      return !(NODE_MODULES_OF_PURE_ROOMS[one.file] === one.from || PACKAGES[room]?.includes(one.from));
    });
    const impure = files
      .filter((file) => PURE.includes(roomOf(file)))
      .flatMap((file) => {
        const found = /\b(Date\.now\(|new Date\(\)|Math\.random|process\.|async function|await )/.exec(
          texts.get(file) ?? '',
        );
        return found ? [`src/${file} has ${found[1]}`] : [];
      });
    expect([...ofPackages.map(told), ...impure]).toEqual([]);
  });

  it('the environment of each program is read in one place, and the process ended in one place', () => {
    const readers = ['config.ts', 'cli/main.ts'];
    const found = files.flatMap((file) => {
      const text = texts.get(file) ?? '';
      return [
        ...(/\bprocess\.env\b/.test(text) && !readers.includes(file) ? [`src/${file} reads process.env`] : []),
        ...(/\bprocess\.exit\(/.test(text) && !/(^|\/)main\.ts$/.test(file) ? [`src/${file} calls process.exit`] : []),
      ];
    });
    expect(found).toEqual([]);
  });

  it('`davit plan` loads nothing but what it needs: it starts in every build, and reaches nobody', () => {
    const loaded = new Set<string>();
    const reached = ['app/plan.ts'];
    for (let file = reached.pop(); file !== undefined; file = reached.pop()) {
      const current = file;
      for (const one of imports.filter(({ file: importer, typeOnly }) => importer === current && !typeOnly)) {
        const target = isRelative(one) ? normalize(join(dirname(current), one.from)) : one.from;
        if (isRelative(one) && !loaded.has(target)) reached.push(target);
        loaded.add(target);
      }
    }
    const others = [...loaded].filter(
      (one) =>
        !/^(build\/|node:(fs|path|util)$|zod$|api\/(primitives|json-error|json-value|registry-images)\.ts$)/.test(one),
    );
    expect(loaded.size).toBeGreaterThan(8);
    expect(others).toEqual([]);
  });

  it("Davit's own spans are loaded only by serve, at run time", () => {
    const importersOf = (target: string): string[] =>
      imports
        .filter((one) => isRelative(one) && !one.typeOnly && normalize(join(dirname(one.file), one.from)) === target)
        .map(({ file }) => file);
    expect(importersOf('lib/controller/tracer.ts')).toEqual(['app/tracing.ts']);
    expect(importersOf('lib/outbound/span-exporter.ts')).toEqual(['app/tracing.ts']);
    expect(importersOf('app/tracing.ts')).toEqual(['app/serve.ts']);
    expect(texts.get('app/serve.ts')).toContain("await import('./tracing.ts')");
  });

  it('have no index files', () => {
    expect(files.filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual([]);
  });
});
