// What `kubectl davit init` finds in folders, and that deploy reads what it writes.

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliRan, runCli } from '../../../test/support/cli-world.ts';
import { fileFrom } from '../../../test/support/deployment-files.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';

type Files = Readonly<Record<string, string>>;

let above: string;
let folder: string;
beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'davit-init-'));
  folder = join(above, 'My Agent 2');
  await mkdir(folder);
});
afterEach(() => rm(above, { recursive: true, force: true }));

async function write(files: Files): Promise<void> {
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}
const printed = (...flags: string[]): Promise<CliRan> => runCli(['init', folder, '--output', '-', ...flags]);

const GRAPHS = '{"graphs": {"agent": "./app.py:graph"}}';
const shop = '{"name": "@team/Shop_Front", "scripts": {"start": "next start -p 3000", "build": "next build"}}';

describe('a folder gives', () => {
  it.each<[what: string, files: Files, file: object]>([
    ['its name for a configuration file', { 'langgraph.json': GRAPHS }, { name: 'my-agent-2' }],
    ['the name of package.json', { 'langgraph.json': GRAPHS, 'package.json': shop }, { name: 'shop-front' }],
    [
      'the name of pyproject.toml',
      {
        'langgraph.json': GRAPHS,
        'pyproject.toml': '[build-system]\nname = "x"\n[project]\nversion = "1"\nname = "agent.one"\n',
      },
      { name: 'agent-one' },
    ],
    [
      'the name of a Poetry project',
      { 'langgraph.json': GRAPHS, 'pyproject.toml': "[tool.poetry]\nname = 'agent'\n[tool.x]\nname = 'y'\n" },
      { name: 'agent' },
    ],
    [
      'a name that fits',
      { 'langgraph.json': GRAPHS, 'package.json': `{"name": "${'a-'.repeat(40)}"}` },
      { name: `${'a-'.repeat(19)}a` },
    ],
    [
      'its own name if a name gives none',
      { 'langgraph.json': GRAPHS, 'package.json': '{"name": "@x/xn"}' },
      { name: 'my-agent-2' },
    ],
    ['a word of YAML as a text', { 'langgraph.json': GRAPHS, 'package.json': '{"name": "true"}' }, { name: 'true' }],
    [
      'its own name for a package.json that is none',
      { Dockerfile: 'FROM x', 'package.json': '{' },
      { name: 'my-agent-2', runtime: null },
    ],
    [
      'the configuration file before the Dockerfile',
      { 'langgraph.json': GRAPHS, Dockerfile: 'FROM x\nEXPOSE 80' },
      { workflow_config_path: 'langgraph.json' },
    ],
    ['the only Dockerfile', { 'Dockerfile.prod': 'FROM x\nEXPOSE 80' }, { workflow_config_path: 'Dockerfile.prod' }],
    [
      'the Dockerfile of that name',
      { 'Dockerfile.dev': 'FROM x', Dockerfile: 'FROM x\nEXPOSE 80' },
      { workflow_config_path: 'Dockerfile', runtime: { port: 80 } },
    ],
    [
      'the port of a start script if the Dockerfile names none',
      { Dockerfile: 'FROM x\nCMD ["npm", "start"]', 'package.json': shop },
      { name: 'shop-front', runtime: { port: 3000 } },
    ],
  ])('%s', async (_what, files, file) => {
    await write(files);
    const { code, out, err } = await printed();
    expect([code, err]).toEqual([0, '']);
    expect(fileFrom(out)).toMatchObject(file);
    // The examples are fields that may be used as they are.
    expect(() => fileFrom(out.replaceAll(/^( *)#(?! )/gm, '$1'))).not.toThrow();
  });

  it.each<[what: string, lines: string[], runtime: object | null]>([
    ['nothing', ['CMD ["serve"]'], null],
    ['EXPOSE', ['EXPOSE 3000/tcp'], { port: 3000 }],
    ['the first of two', ['EXPOSE 3000 9090'], { port: 3000 }],
    ['nothing of another protocol', ['EXPOSE 53/udp'], null],
    ['the last stage alone', ['EXPOSE 1', 'FROM scratch', 'EXPOSE 2'], { port: 2 }],
    ['a variable', ['ARG APP=4', 'ENV P=${APP}000', 'expose $P'], { port: 4000 }],
    ['no variable without a value', ['ARG P', 'EXPOSE $P'], null],
    ['no range', ['EXPOSE 7000-7010'], null],
    [
      'the port and path of a HEALTHCHECK',
      ['HEALTHCHECK --interval=5s \\', '  CMD curl -f http://localhost:3000/healthz || exit 1'],
      { port: 3000, health_path: '/healthz' },
    ],
    [
      'that of the exposed ports which is checked',
      ['EXPOSE 9090 3000', 'HEALTHCHECK CMD ["wget", "-q", "http://127.0.0.1:3000/up?x=1"]'],
      { port: 3000, health_path: '/up?x=1' },
    ],
    ['no path of another port', ['EXPOSE 3000', 'HEALTHCHECK CMD curl http://localhost:9090/metrics'], { port: 3000 }],
    [
      'a path whose port is a variable',
      ['EXPOSE 3000', 'HEALTHCHECK CMD curl http://localhost:${PORT:-}/ok'],
      { port: 3000, health_path: '/ok' },
    ],
    ['the root', ['HEALTHCHECK CMD curl http://localhost:8080'], { port: 8080, health_path: '/' }],
    ['no check of another host', ['HEALTHCHECK CMD curl http://example.com:8080/x'], null],
    ['no check that is switched off', ['HEALTHCHECK CMD curl http://localhost:1/x', 'HEALTHCHECK NONE'], null],
    ['the command', ['CMD ["uvicorn", "app:app", "--port", "8080"]'], { port: 8080 }],
    ['an address of the command', ['CMD gunicorn --bind=0.0.0.0:5000 app:app'], { port: 5000 }],
    ['both words of a command', ['ENTRYPOINT ["serve"]', 'CMD ["-p", "81"]'], { port: 81 }],
    ['ENV PORT', ['ENV PORT=8001 A=b'], { port: 8001 }],
    ['the old form of ENV', ['ENV PORT 8001'], { port: 8001 }],
    ['no comment', ['# EXPOSE 1', 'RUN echo \\', '# EXPOSE 2', '  EXPOSE 3'], null],
    ['no port that cannot be', ['EXPOSE 70000'], null],
  ])('of a Dockerfile: %s', async (_what, lines, runtime) => {
    await write({ Dockerfile: ['FROM node:24', ...lines].join('\n') });
    const { out } = await printed();
    expect((fileFrom(out) as { runtime?: unknown }).runtime).toEqual(runtime);
    expect(() => fileFrom(out.replaceAll(/^( *)#(?! )/gm, '$1'))).not.toThrow();
  });

  it('is the sample application of the documents too', async () => {
    const { out } = await runCli(['init', join(import.meta.dirname, '../../../docs/example'), '-o', '-']);
    expect(fileFrom(out)).toEqual({ name: 'example', workflow_config_path: 'langgraph.json' });
  });
});

describe('the file', () => {
  it('says where each value is from', async () => {
    await write({
      Dockerfile: 'FROM x\nEXPOSE 3000 9090\nHEALTHCHECK CMD curl http://localhost:3000/up',
      'Dockerfile.dev': 'FROM x',
      'package.json': shop,
    });
    const { out } = await printed();
    for (const comment of [
      '# From package.json. A deployment keeps its name.\nname: shop-front',
      '# Or: Dockerfile.dev.\nworkflow_config_path: Dockerfile',
      '  # From EXPOSE of Dockerfile. Dockerfile also exposes 9090. The platform sets PORT to it.\n  port: 3000',
      '  # From HEALTHCHECK of Dockerfile.\n  health_path: /up',
    ])
      expect(out).toContain(comment);
  });

  it('names the file of variables, of which the deployment needs secrets', async () => {
    await write({ 'langgraph.json': JSON.stringify({ ...(JSON.parse(GRAPHS) as object), env: '.env' }) });
    const { out } = await runCli(['init', folder]);
    expect(out).toContain(`To deploy: kubectl davit deploy ${folder} --secrets-file ${join(folder, '.env')}\n`);
  });

  it('stands beside the code, is not replaced without --force, and may be elsewhere', async () => {
    await write({ Dockerfile: 'FROM x\nEXPOSE 3000' });
    const path = join(folder, 'davit.yaml');
    const first = await runCli(['init', folder]);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toBe(
      `Wrote ${path}: name my-agent-2 (the folder), built from Dockerfile, port 3000 (EXPOSE of Dockerfile).\nTo deploy: kubectl davit deploy ${folder}\nOn a platform that builds nothing (kubectl davit platform shows it), push an image first: kubectl davit deploy --image IMAGE --file ${path}\nTo let editors complete it: kubectl davit schema > ${join(folder, 'davit.schema.json')}`,
    );
    await writeFile(path, '# mine');
    const again = await runCli(['init', folder]);
    expect(again).toMatchObject({
      code: 1,
      err: `${path} exists and was not changed. --force replaces it, and --output - prints the new one.`,
    });
    expect(await readFile(path, 'utf8')).toBe('# mine');
    expect((await runCli(['init', folder, '--force'])).code).toBe(0);
    expect(await readFile(path, 'utf8')).toContain('port: 3000');
    const other = join(above, 'other.yaml');
    expect((await runCli(['init', folder, '-o', other])).out).toContain(`deploy ${folder} --file ${other}`);
    expect(await readFile(other, 'utf8')).toBe(await readFile(path, 'utf8'));
  });

  it('names the schema beside it, or that of the server', async () => {
    await write({ Dockerfile: 'FROM x\nEXPOSE 3000' });
    const first = async (...flags: string[]): Promise<string | undefined> =>
      (await printed(...flags)).out.split('\n')[0];
    expect(await first()).toBe('# yaml-language-server: $schema=davit.schema.json');
    const served = '# yaml-language-server: $schema=https://davit.example.com/api/davit.schema.json';
    expect(await first('--server', 'https://davit.example.com/api/')).toBe(served);
    const environment = { DAVIT_SERVER: 'https://davit.example.com/api' };
    expect((await runCli(['init', folder, '-o', '-'], { environment })).out.split('\n')[0]).toBe(served);
  });

  it('has the name and the configuration file of the flags', async () => {
    await write({ 'a.Dockerfile': 'FROM x\nEXPOSE 1', 'b.Dockerfile': 'FROM x\nEXPOSE 2' });
    const { out } = await printed('--name', 'shop', '--config', './b.Dockerfile');
    expect(fileFrom(out)).toEqual({
      name: 'shop',
      workflow_config_path: 'b.Dockerfile',
      runtime: { port: 2 },
    });
  });
});

describe('a folder without a configuration file', () => {
  it.each<[files: Files, config: string, line: RegExp]>([
    [{ 'package.json': shop }, 'package.json', /^# It starts: npm start$/m],
    [{ 'requirements.txt': 'x', 'app.py': '' }, 'requirements.txt', /^# It starts: python3 app\.py$/m],
    [{ 'pyproject.toml': '' }, 'pyproject.toml', /^# No program to start was found\. Name the program main\.py/m],
  ])('%j', async (files, config, line) => {
    await write(files);
    const { out } = await printed();
    expect(fileFrom(out)).toMatchObject({ workflow_config_path: config });
    expect(out).toMatch(line);
    expect(out).not.toContain('FROM');
  });
});

describe('nothing is written', () => {
  it.each<[what: string, files: Files, flags: string[], code: number, words: RegExp]>([
    [
      'nothing to build',
      {},
      [],
      1,
      /has neither langgraph\.json nor a Dockerfile.*Name the folder of the application: kubectl davit init FOLDER/,
    ],
    [
      'two Dockerfiles',
      { 'a.Dockerfile': '', 'b.Dockerfile': '' },
      [],
      2,
      /has a\.Dockerfile, b\.Dockerfile, but none is named Dockerfile\. Choose one: .* --config a\.Dockerfile$/,
    ],
    ['a configuration file that is no JSON', { 'langgraph.json': '{' }, [], 1, /^langgraph\.json is not a JSON object/],
    ['one without graphs', { 'langgraph.json': '{}' }, [], 1, /^langgraph\.json has no graphs/],
    [
      'a --config that is not there',
      { Dockerfile: 'FROM x' },
      ['--config', 'other/Dockerfile'],
      1,
      /other\/Dockerfile cannot be read: ENOENT/,
    ],
    [
      'a --config outside',
      { Dockerfile: 'FROM x' },
      ['--config', '../Dockerfile'],
      2,
      /--config \.\.\/Dockerfile is not in /,
    ],
    ['a name that is none', { Dockerfile: 'FROM x' }, ['--name', 'Shop'], 2, /^--name "Shop": must /],
    ['a file that is too large', { Dockerfile: '#'.repeat(1024 * 1024 + 1) }, [], 1, /larger than 1 MiB/],
  ])('for %s', async (_what, files, flags, code, words) => {
    await write(files);
    const ran = await runCli(['init', folder, ...flags]);
    expect(ran).toMatchObject({ code, out: '', err: expect.stringMatching(words) });
    await expect(readFile(join(folder, 'davit.yaml'))).rejects.toThrow(/ENOENT/);
  });

  it('for a folder that is not there, and through a link that is not there either', async () => {
    expect(await runCli(['init', join(above, 'nowhere')])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^Folder .* does not exist/),
    });
    await write({ Dockerfile: 'FROM x' });
    await symlink(join(above, 'elsewhere'), join(folder, 'davit.yaml'));
    expect(await runCli(['init', folder])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/exists and was not changed/),
    });
  });
});

describe('an image', () => {
  const image = `registry.example.com:5000/team/shop_front:1.5.0@sha256:${'a'.repeat(64)}`;

  it('gives its name, and the file that deploy --image takes', async () => {
    const path = join(folder, 'davit.yaml');
    const ran = await runCli(['init', folder, '--image', image]);
    expect([ran.code, ran.out.split('\n')]).toEqual([
      0,
      [
        `Wrote ${path}: name shop-front (the image).`,
        `To deploy: kubectl davit deploy --image ${image} --file ${path}`,
        expect.stringContaining('kubectl davit schema > '),
      ],
    ]);
    const text = await readFile(path, 'utf8');
    expect(fileFrom(text)).toEqual({ name: 'shop-front', source: 'external_docker' });
    expect(text).toContain('#runtime: {port: 8080, health_path: /healthz, database: none, redis: none}');
    expect(text).not.toContain('1.5.0');
  });

  it('gives fields that are fields: without the sign, deploy reads them', async () => {
    const { out } = await printed('--image', image, '--name', 'agent');
    const file = fileFrom(out.replaceAll(/^#(?! )/gm, ''));
    expect(Object.keys(file).toSorted()).toEqual(['env', 'name', 'resource_spec', 'runtime', 'secrets', 'source']);
    expect(file).toMatchObject({ name: 'agent', runtime: { port: 8080, health_path: '/healthz' } });
  });

  it.each([
    [
      'with a configuration file',
      ['--image', 'app:1', '--config', 'Dockerfile'],
      '--config is for a build, but --image is already built.',
    ],
    ...[' ', 'my app:1', 'registry.example.com/Team/app:1', 'Shop:1', 'app:', 'app@sha256:1', 'https://app'].map(
      (none): [string, string[], string] => [
        `that is none: "${none}"`,
        ['--image', none],
        `--image "${none}": must be an image reference such as registry.example.com/team/app:1.2, with the path in lower case.`,
      ],
    ),
    [
      'whose name gives none',
      ['--image', '123:4'],
      'The name of image 123:4 cannot become the name of a deployment. Choose one with --name.',
    ],
  ])('is refused %s', async (_what, flags, says) => {
    const { code, err } = await printed(...flags);
    expect([code, err]).toEqual([2, says]);
  });

  it('of a folder that is not there is not written', async () => {
    const { code, err } = await runCli(['init', join(folder, 'none'), '--image', 'app:1']);
    expect([code, err]).toEqual([2, expect.stringContaining('none')]);
  });
});

it('a folder whose file is of an image is not uploaded, and the command for it is said', async () => {
  await write({ Dockerfile: 'FROM x', 'davit.yaml': 'source: external_docker\n' });
  const { code, err } = await makeOwnCli().run(['deploy', folder]);
  const path = join(folder, 'davit.yaml');
  expect([code, err]).toEqual([
    2,
    expect.stringContaining(`${path}:1:9: source is external_docker, but this request deploys internal_source`),
  ]);
  expect(err).toContain(`kubectl davit deploy --image IMAGE --file ${path}`);
});
