// Two clients on real pods, each as people have it: `kubectl davit`, and the published CLI, which knows nothing of Davit.

import { type ChildProcess, spawn } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { ensurePublishedClient, publishedEnvironment } from '../../support/published-client.ts';
import { eventually } from '../../support/running-davit.ts';
import { BUILT_WITHIN_MS, type Ground, prepareGround, TEAM } from './ground.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the clients are left out`);

const root = join(import.meta.dirname, '../../..');

interface Ran {
  readonly code: number | null;
  /** What it printed, both streams. */
  readonly out: string;
}
/** A program under way. */
interface Running {
  readonly child: ChildProcess;
  /** What it has printed up to now. */
  printed(): string;
  readonly ended: Promise<Ran>;
}
interface Revision {
  readonly spec: { readonly id: string };
  readonly status?: { readonly state?: string; readonly build?: { readonly phase: string } };
}

describe.skipIf(!machine.ok)('clients', { timeout: 2 * BUILT_WITHIN_MS }, () => {
  let ground: Ground;
  let published: string;
  beforeAll(async () => {
    published = await ensurePublishedClient(say);
    ground = await prepareGround({ progress: say });
  });
  afterAll(() => ground?.stop());

  function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Running {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    const take = (chunk: Buffer): void => void (out += chunk.toString());
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const ended = new Promise<Ran>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, out }));
    });
    return { child, printed: () => out, ended };
  }

  /** A copy of the example, with its text and more Dockerfile instructions. */
  async function folderOf(name: string, says: string, lines: readonly string[] = []): Promise<string> {
    const folder = join(ground.shell.folder, name);
    await cp(join(root, 'docs/example'), folder, { recursive: true });
    const app = join(folder, 'app.py');
    await writeFile(app, (await readFile(app, 'utf8')).replace('the first version', says));
    const file = join(folder, 'langgraph.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as { dockerfile_lines: string[] };
    const whole = { ...config, dockerfile_lines: [...lines, ...config.dockerfile_lines.slice(-1)] };
    await writeFile(file, JSON.stringify(whole));
    return folder;
  }

  const revisions = async (name: string): Promise<readonly Revision[]> =>
    (await ground.get<{ items: Revision[] }>('appr', '-l', `davit.dev/deployment=${name}`)).items;

  describe('kubectl davit', () => {
    const NAME = 'agent';
    function davit(...args: string[]): Running {
      const { folder } = ground.shell;
      const env = {
        ...process.env,
        ...ground.variables,
        HOME: folder,
        KUBECONFIG: ground.variables['PLUGIN_KUBECONFIG'],
        PATH: [folder, dirname(process.execPath), process.env['PATH']].join(delimiter),
        NO_PROXY: '*',
        DAVIT_SERVER: ground.builds.platform.apiUrl,
        DAVIT_TOKEN: ground.team.token,
      };
      // As kubectl starts it: in one group with its processes, which Ctrl-C ends together.
      return start(join(folder, 'kubectl-davit'), args, env, folder);
    }

    it('deploys a folder, and what changed in it', async () => {
      const first = await davit('deploy', await folderOf(NAME, 'from a folder')).ended;
      expect(first.code, first.out).toBe(0);
      expect(first.out).toMatch(/^Created deployment agent\.\nUploading 2 files of /);
      expect(first.out).toMatch(/^#\d+ .*COPY/m);
      const address = `http://${NAME}.${TEAM}.svc`;
      expect(first.out.trim().split('\n').at(-1)).toBe(
        `In the cluster: ${address}   From here: kubectl davit open ${NAME}`,
      );
      expect(await ground.ask(NAME)).toBe('from a folder');

      const second = await davit('deploy', await folderOf(NAME, 'changed')).ended;
      expect(second.code, second.out).toBe(0);
      expect(second.out).not.toContain('Created');
      await eventually(async () => expect(await ground.ask(NAME)).toBe('changed'));
      expect((await revisions(NAME)).map(({ status }) => status?.state)).toEqual(['DEPLOYED', 'DEPLOYED']);
    });

    it('opens a port that answers, and closes it at Ctrl-C', async () => {
      const running = davit('open', NAME);
      const url = await eventually(async () => {
        const [found] = /^http:\/\/127\.0\.0\.1:\d+$/m.exec(running.printed()) ?? [];
        if (found === undefined) throw new Error(running.printed());
        return found;
      });
      expect(await (await fetch(url)).text()).toBe('changed');
      running.child.kill('SIGINT');
      expect(await running.ended).toMatchObject({ code: 130 });
      await expect(fetch(url)).rejects.toThrow('fetch failed');
    });

    it('tells the line of a Dockerfile that fails, ends with 1, and leaves what serves', async () => {
      const folder = await folderOf(NAME, 'never seen');
      await writeFile(join(folder, 'Dockerfile'), `FROM ${ground.variables['BASE']}\nRUN echo out of luck && exit 7\n`);
      const { code, out } = await davit('deploy', folder, '--config', 'Dockerfile').ended;
      expect(code, out).toBe(1);
      expect(out).toMatch(/^#\d+ [\d.]+ out of luck$/m);
      expect(out.trim().split('\n').at(-1)).toMatch(
        /^agent will not become ready on its own: Line 2 of the Dockerfile failed: RUN echo out of luck && exit 7\. /,
      );
      expect(await ground.ask(NAME)).toBe('changed');
      const log = await davit('logs', NAME, '--build').ended;
      expect(log).toMatchObject({ code: 0, out: expect.stringMatching(/^#\d+ [\d.]+ out of luck$/m) });
    });

    it('shows the step of a build, and leaves the build to itself at Ctrl-C', async () => {
      const running = davit('deploy', await folderOf(NAME, 'built on its own', ['RUN echo asleep && sleep 12']));
      await eventually(async () => expect(running.printed()).toMatch(/^#\d+ [\d.]+ asleep$/m), BUILT_WITHIN_MS, 200);
      const status = await davit('status', NAME).ended;
      expect(status.out).toMatch(/agent--[0-9a-f]{8} {2}BUILDING {2}no image yet\. /);
      running.child.kill('SIGINT');
      const { code, out } = await running.ended;
      expect(code, out).toBe(130);
      expect(out.trim().split('\n').at(-1)).toBe(
        'The build continues. To follow it: kubectl davit logs agent --build --follow',
      );
      const followed = await davit('logs', NAME, '--build', '--follow').ended;
      expect(followed).toMatchObject({ code: 0, out: expect.stringMatching(/^#\d+ [\d.]+ asleep$/m) });
      await eventually(async () => expect(await ground.ask(NAME)).toBe('built on its own'), BUILT_WITHIN_MS);
      await ground.clear();
    });
  });

  describe('the published CLI', () => {
    const NAME = 'graph';
    function langgraph(folder: string, ...args: string[]): Running {
      const env = publishedEnvironment({
        home: ground.shell.folder,
        server: ground.builds.platform.apiUrl,
        token: ground.team.token,
        tenant: ground.team.id,
      });
      return start(published, ['deploy', ...args], env, folder);
    }

    it('deploys a folder by a remote build, shows its log, and what changed', async () => {
      const folder = await folderOf(NAME, 'by another client');
      const first = await langgraph(folder, '--remote', '--no-input', '--verbose', '--name', NAME).ended;
      expect(first.code, first.out).toBe(0);
      expect(first.out).toContain('Deployment successful!');
      expect(first.out).toMatch(/ {3}\| #\d+ .*COPY/);
      expect(await ground.ask(NAME)).toBe('by another client');

      await folderOf(NAME, 'changed');
      const second = await langgraph(folder, '--remote', '--no-input', '--name', NAME).ended;
      expect(second.code, second.out).toBe(0);
      expect(second.out).toContain('Found existing deployment');
      await eventually(async () => expect(await ground.ask(NAME)).toBe('changed'));
    });

    it('ends with 1 where a build fails, and shows the end of its log', async () => {
      const folder = await folderOf(NAME, 'never seen', ['RUN echo out of luck && exit 7']);
      const { code, out } = await langgraph(folder, '--remote', '--no-input', '--name', NAME).ended;
      expect(code, out).toBe(1);
      expect(out).toMatch(/Last build log lines:\n(.*\n)* {3}\| #\d+ [\d.]+ out of luck\n/);
      expect(out).toContain('Deployment failed');
      expect(await ground.ask(NAME)).toBe('changed');
    });

    it('lists, reads the logs of pods and builds, and deletes', async () => {
      const folder = await folderOf(NAME, 'never seen');
      const list = await langgraph(folder, 'list').ended;
      const [id = ''] = /\b[0-9a-f-]{36}\b/.exec(list.out.replaceAll(/^-.*$/gm, '')) ?? [];
      const shown = await langgraph(folder, 'revisions', 'list', id).ended;
      expect(shown.out.match(/ {2}(BUILD_FAILED|DEPLOYED|REPLACED) /g)?.map((word) => word.trim())).toEqual([
        'BUILD_FAILED',
        'DEPLOYED',
        'REPLACED',
      ]);
      const built = await langgraph(folder, 'logs', '--name', NAME, '--type', 'build', '--limit', '30').ended;
      expect(built).toMatchObject({ code: 0, out: expect.stringMatching(/^\[[^\]]+\].* out of luck$/m) });
      await ground.ask(NAME);
      // The server logs each request.
      const served = await langgraph(folder, 'logs', '--name', NAME, '-q', 'GET').ended;
      expect(served).toMatchObject({ code: 0, out: expect.stringContaining('"GET / HTTP/1.1" 200') });
      const deleted = await langgraph(folder, 'delete', '--force', id).ended;
      expect(deleted).toEqual({ code: 0, out: `Deleted deployment ${id}.\n` });
      await eventually(async () => expect(await ground.kubectl('get', 'appd', '-o', 'name')).toBe(''), 120_000);
    });
  });
});
