// Dockerfiles that do what they can against the platform, on real pods: each build fails, or ends, with a reason that says what
// happened and what to do, over kubectl and HTTP, and what is deployed goes on answering all the time.

import { globSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { realPods } from '../../cluster/machine.ts';
import { POD_PIDS_LIMIT } from '../../cluster/node.ts';
import type { BuildPlatform } from '../../support/build-platform.ts';
import type { Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { startBuilding } from './ground.ts';
import { builtRecord } from './sample.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; hostile builds are left out`);

const BUILDS = 'davit-builds';
const documented = readFileSync(join(import.meta.dirname, '../../../docs/build-platform.md'), 'utf8');
const TIMEOUT_SECONDS = 120;
const APP = `import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"steady")

http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
`;
/** Forks as fast as it can for twenty seconds, and longer where many processes share little time. */
const FORKS = `import os, sys, time
first, end, refused = os.getpid(), time.time() + 20, None
while time.time() < end:
    try:
        os.fork()
    except OSError as error:
        refused = error
        time.sleep(0.2)
if os.getpid() == first:
    print("refused:", refused, flush=True)
    sys.exit(9)
`;
/** 100 MB in lines of 100 bytes. */
const CHATTER = `import sys
for n in range(1000):
    sys.stdout.write(("%099d\\n" % n) * 1000)
print("all is said")
`;
/** Prints whatever of the platform can be read from a RUN. */
const SPY = `import ctypes, glob, json, os, socket, ssl, sys, time, urllib.request
API, REGISTRY, OTHER, TOKENS = sys.argv[1:]
print("ENV", json.dumps(dict(os.environ)), flush=True)
for path in ["/proc/1/environ", *glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        print("PROC", path, open(path, "rb").read().replace(b"\\0", b" ").decode(errors="replace"), flush=True)
    except OSError as error:
        print("PROC", path, error.strerror, flush=True)
for root in glob.glob("/proc/[0-9]*/root"):
    for folder in ["/push", "/source", "/var/lib/buildkit"]:
        try:
            for name in os.listdir(root + folder):
                print("FILE", folder + "/" + name, "through", root, flush=True)
        except OSError as error:
            print("ROOT", root + folder, error.strerror, flush=True)
print("MOUNTS", open("/proc/self/mountinfo").read().replace("\\n", " ; "), flush=True)
for top in ["/run", "/var/run", "/push", "/source", "/plan", "/workspace", "/tmp", "/root", "/home", "/builder", "/var/lib/buildkit"]:
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                print("FILE", path, open(path, "rb").read(4096).decode(errors="replace").replace("\\n", " "), flush=True)
            except OSError as error:
                print("FILE", path, error.strerror, flush=True)
# A moment in which the test reads what the credentials are.
time.sleep(10)
insecure = ssl._create_unverified_context()
for name, url in [("METADATA", "http://169.254.169.254/latest/meta-data/"), ("API", API + "/api/v1/namespaces"),
                  ("SECRETS", API + "/api/v1/namespaces/davit-builds/secrets"), ("REGISTRY", REGISTRY), ("OTHER", OTHER), ("TOKENS", TOKENS),
                  ("KUBELET", "https://" + os.environ.get("NODE", "10.0.0.1") + ":10250/pods")]:
    try:
        with urllib.request.urlopen(url, timeout=5, context=insecure) as answer:
            print("HTTP", name, answer.status, answer.read(500), flush=True)
    except urllib.error.HTTPError as error:
        print("HTTP", name, error.code, flush=True)
    except Exception as error:
        print("HTTP", name, "none", error, flush=True)
libc = ctypes.CDLL(None, use_errno=True)
def mount():
    if libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
for name, attempt in (("mount", mount),
                      ("mknod", lambda: os.mknod("/tmp/sda", 0o060600, os.makedev(8, 0))),
                      ("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)),
                      ("kcore", lambda: open("/proc/kcore", "rb").read(1))):
    try:
        attempt()
        print("MAY", name, "yes", flush=True)
    except OSError as error:
        print("MAY", name, "no", error, flush=True)
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print("SELF", *[name + " " + status[name].strip() for name in ["CapEff", "CapBnd", "NoNewPrivs", "Seccomp"]], sep=" | ", flush=True)
print("USERS", " ".join(open("/proc/self/uid_map").read().split()), flush=True)
`;

describe.skipIf(!machine.ok)('hostile builds', () => {
  let cluster: Cluster;
  let builds: BuildPlatform;
  let stop: (() => Promise<void>) | undefined;
  let team: Tenant;
  let other: Tenant;
  const credentials = new Map<string, string>();
  const answers: string[] = [];
  let watching: NodeJS.Timeout | undefined;

  beforeAll(async () => {
    ({ cluster, builds, stop } = await startBuilding({
      tenants: ['team', 'other'],
      progress: say,
      values: {
        'settings.builds.mode': 'userns',
        'settings.builds.timeoutSeconds': TIMEOUT_SECONDS,
        'settings.builds.concurrency': { perTenant: 3, total: 3 },
        'settings.builds.resources': {
          cpu: 0.1,
          cpuLimit: 0.5,
          memoryMb: 128,
          memoryLimitMb: 512,
          storageGi: 1,
        },
        'settings.builds.workspaceMb': 64,
      },
    }));
    team = await builds.platform.makeTenant('team');
    other = await builds.platform.makeTenant('other');
  });
  afterAll(async () => {
    clearInterval(watching);
    await stop?.();
  });

  async function get<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await cluster.kubectl(['get', ...args, '-o', 'json'])) as T;
  }

  async function call<T>(tenant: Tenant, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${builds.platform.apiUrl}${path}`, {
      method,
      headers: { 'x-api-key': tenant.token, 'x-tenant-id': tenant.id, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as T;
  }

  /** Makes a repository and a deployment of it. `steps` follow FROM. */
  async function start(name: string, steps: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
    const repoUrl = (await builds.gitea.makeRepository(name)).replace(/\.git$/, '');
    const dockerfile = `FROM ${builds.baseImages.python}\n${steps}\nUSER 65532:65532\nCMD ["python", "/app.py"]\n`;
    await builds.gitea.commit(name, { 'app.py': APP, Dockerfile: dockerfile, ...files });
    const record = builtRecord(name, { integrationId: builds.integrationId, repoUrl });
    await cluster.kubectl(['apply', '-n', 'team', '-f', '-'], { input: JSON.stringify(record) });
  }

  async function revisionOf(name: string): Promise<AppRevision> {
    const { items } = await get<{ items: AppRevision[] }>('appr', '-n', 'team');
    const found = items.find(({ spec }) => spec.deploymentName === name);
    if (!found) throw new Error(`${name} has no revision`);
    return found;
  }

  /** The build once it has ended. */
  function ended(name: string): Promise<AppRevision> {
    return eventually(async () => {
      const revision = await revisionOf(name);
      if (revision.status?.build?.finishedAt === undefined)
        throw new Error(`${name} is not done: ${JSON.stringify(revision.status)}`);
      return revision;
    }, 240_000);
  }

  /** What somebody reads who has the HTTP API alone. */
  async function overHttp(name: string, { spec }: AppRevision): Promise<{ status: string; status_message: string }> {
    const { resources } = await call<{ resources: { id: string; name: string }[] }>(
      team,
      'GET',
      `/v2/deployments?name=${name}`,
    );
    return call(team, 'GET', `/v2/deployments/${resources[0]?.id}/revisions/${spec.id}`);
  }

  /** The log that was kept, as the HTTP API gives it. */
  async function keptLog(name: string, { spec }: AppRevision, limit = 1000): Promise<string[]> {
    const { resources } = await call<{ resources: { id: string }[] }>(team, 'GET', `/v2/deployments?name=${name}`);
    const lines: string[] = [];
    let offset: string | undefined;
    do {
      const page: { logs: { message: string }[]; next_offset: string | null } = await call(
        team,
        'POST',
        `/v1/projects/${resources[0]?.id}/revisions/${spec.id}/build_logs`,
        { order: 'asc', limit, ...(offset !== undefined && { offset }) },
      );
      lines.push(...page.logs.map(({ message }) => message));
      offset = page.next_offset ?? undefined;
    } while (offset !== undefined && lines.length < 100_000);
    return lines;
  }

  it('an ordinary deployment is there first', async () => {
    await start('steady', 'COPY app.py /app.py');
    await eventually(async () => {
      const { status } = await revisionOf('steady');
      if (status?.state !== 'DEPLOYED') throw new Error(JSON.stringify(status));
    }, 240_000);
    const { items } = await get<{ items: { status: { podIP: string; phase: string } }[] }>(
      'pods',
      '-n',
      'team',
      '-l',
      'davit.dev/deployment=steady,davit.dev/component=server',
    );
    const address = items.find(({ status }) => status.phase === 'Running')?.status.podIP;
    watching = setInterval(() => {
      count();
      void fetch(`http://${address}:8000/ok`, { signal: AbortSignal.timeout(10_000) })
        .then((answer) => answer.text())
        .then(
          (text) => answers.push(text),
          (error: unknown) => answers.push(String(error)),
        );
    }, 1000);
  });

  /** Starts a build that looks for credentials, and reads which it has. */
  async function startSpy(name: string): Promise<void> {
    const kubernetes = await get<{ spec: { clusterIP: string } }>('service', 'kubernetes', '-n', 'default');
    const registry = `https://${builds.registry.host}`;
    const { port } = new URL(builds.platform.apiUrl);
    const targets = [
      `https://${kubernetes.spec.clusterIP}`,
      `${registry}/v2/team-${team.id.slice(0, 8)}/steady/tags/list`,
      `${registry}/v2/team-${other.id.slice(0, 8)}/shop/tags/list`,
      `http://${cluster.hostAddress}:${port}/v1/registry/token?service=davit-registry&scope=repository:team/steady:pull`,
    ].map((target) => `'${target}'`);
    await start(name, `COPY spy.py /spy.py\nRUN python /spy.py ${targets.join(' ')}`, { 'spy.py': SPY });
    const { spec } = await eventually(() => revisionOf(name), 60_000);
    credentials.clear();
    await eventually(async () => {
      for (const part of ['source', 'push']) {
        const { data } = await get<{ data: Record<string, string> }>(
          'secret',
          `build-${spec.id}-${part}`,
          '-n',
          BUILDS,
        );
        for (const [key, value] of Object.entries(data))
          if (key === 'token' || key === 'password')
            credentials.set(`${part} ${key}`, Buffer.from(value, 'base64').toString());
      }
      expect(credentials.size).toBe(2);
    }, 120_000);
  }

  it('they begin, as many at once as the platform allows', async () => {
    await startSpy('spy');
    await start('endless', 'RUN echo begun && sleep 100000');
    await start('full', 'RUN echo filling && dd if=/dev/zero of=/fill bs=1M count=1500 && sleep 100000');
    await start('forks', 'COPY forks.py /forks.py\nRUN python /forks.py', { 'forks.py': FORKS });
    await start('chatter', 'COPY app.py chatter.py /\nRUN python /chatter.py', { 'chatter.py': CHATTER });
    await start('baseless', `FROM ${builds.baseImages.python.replace(/:.*$/, '')}:nothing`);
  });

  async function expectNothingFound(name: string, mode: 'userns' | 'rootless'): Promise<void> {
    const revision = await ended(name);
    expect(revision.status?.build?.phase).toBe('Built');
    const lines = await keptLog(name, revision);
    const text = lines.join('\n');
    say(lines.filter((line) => /HTTP|MAY|SELF|USERS/.test(line)).join('\n  '));
    for (const [what, value] of credentials)
      expect([what, value !== '' && text.includes(value)]).toEqual([what, false]);
    expect(text).not.toMatch(/davit-registry-1\.|BUILDKITD_FLAGS|DOCKER_CONFIG|serviceaccount/);
    expect(text).not.toMatch(/FILE \/(push|source|workspace|var\/lib\/buildkit)/);
    const answer = (name: string): string | undefined => new RegExp(`HTTP ${name} (\\S+)`).exec(text)?.[1];
    expect(answer('API')).toMatch(/^(401|403|none)$/);
    expect(answer('SECRETS')).toMatch(/^(401|403|none)$/);
    expect(answer('REGISTRY')).toMatch(/^(401|none)$/);
    expect(answer('OTHER')).toMatch(/^(401|none)$/);
    expect(answer('TOKENS')).toMatch(/^(401|none)$/);
    expect(answer('METADATA')).toBe('none');
    expect(answer('KUBELET')).toMatch(/^(401|403|none)$/);
    const [, self = ''] = /SELF \| (.*)/.exec(text) ?? [];
    const fact = (label: string): string => new RegExp(`${label} (\\S+)`).exec(self)?.[1] ?? '';
    const facts = ['CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp']
      .map((label) => `\`${label} ${fact(label)}\``)
      .join(', ');
    expect(documented).toContain(`| what \`/proc/self/status\` says in a \`RUN\`, mode \`${mode}\` | ${facts} |`);
    for (const attempt of ['mount', 'mknod', 'packet', 'kcore']) expect(text).toContain(`MAY ${attempt} no`);
  }

  it('a RUN finds no credential, and what it reaches gives it nothing', () => expectNothingFound('spy', 'userns'));

  it('one without end is ended by the time limit, and its log is kept', async () => {
    const revision = await ended('endless');
    expect(revision.status?.build).toMatchObject({ phase: 'Failed', reason: 'TimedOut' });
    const answer = await overHttp('endless', revision);
    expect(answer).toMatchObject({ status: 'BUILD_FAILED', status_message: expect.stringContaining('timeoutSeconds') });
    await eventually(async () => expect((await keptLog('endless', revision)).join('\n')).toContain('begun'), 60_000);
  });

  it('one that fills the disk is evicted, and says which setting limits it', async () => {
    const revision = await ended('full');
    expect(revision.status?.build).toMatchObject({ phase: 'Failed', reason: 'OutOfDisk' });
    const answer = await overHttp('full', revision);
    expect(answer).toMatchObject({ status: 'BUILD_FAILED', status_message: expect.stringContaining('storageGi') });
  });

  /** Most processes and threads that a pod had, and the limit that the kubelet gave that pod. */
  let most = { tasks: 0, limit: 'none' };
  function count(): void {
    const pods = globSync('/sys/fs/cgroup/{pids/,}davit-*/kubepods{,/besteffort,/burstable}/pod*');
    for (const pod of pods) {
      const read = (name: string): string => readFileSync(join(pod, name), 'utf8').trim();
      try {
        const tasks = Number(read('pids.current'));
        if (tasks > most.tasks) most = { tasks, limit: read('pids.max') };
      } catch {
        // The pod is gone.
      }
    }
  }

  async function expectFewProcesses(name: string): Promise<void> {
    const revision = await ended(name);
    const { build } = revision.status ?? {};
    say(`${most.tasks} processes and threads of the pod that has most, whose limit is ${most.limit}`);
    expect(most.limit).toBe(String(POD_PIDS_LIMIT));
    // That it tried.
    expect(most.tasks).toBeGreaterThan(500);
    expect(most.tasks).toBeLessThanOrEqual(POD_PIDS_LIMIT);
    most = { tasks: 0, limit: 'none' };
    say(`${name}: ${build?.reason}: ${build?.message}`);
    expect(build?.phase).toBe('Failed');
    // The limits of memory, processes and time: whichever comes first.
    expect(build?.reason).toMatch(/^(StepFailed|OutOfMemory|TimedOut)$/);
    const { items } = await get<{ items: { status: { conditions: { type: string; status: string }[] } }[] }>('nodes');
    for (const { status } of items)
      expect(status.conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
  }

  it('one that forks without end is limited, and the node lives', () => expectFewProcesses('forks'));

  it('one that prints 100 MB succeeds with a bounded log', async () => {
    const revision = await ended('chatter');
    expect(revision.status?.build).toMatchObject({ phase: 'Built' });
    const bytes = (await keptLog('chatter', revision)).join('\n').length;
    say(`chatter: ${bytes} bytes of 100 MB are kept`);
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(8_500_000);
  });

  it('one from a base image that is not there names the line', async () => {
    const revision = await ended('baseless');
    expect(revision.status?.build).toMatchObject({ phase: 'Failed', reason: 'BaseImageNotFound', line: 2 });
    expect(await overHttp('baseless', revision)).toMatchObject({
      status: 'BUILD_FAILED',
      status_message: expect.stringContaining('base/python:nothing'),
    });
  });

  it('the same holds for a rootless builder', async () => {
    const settings = join(cluster.runDir, 'davit/controller-settings.yaml');
    await writeFile(settings, (await readFile(settings, 'utf8')).replace('mode: userns', 'mode: rootless'));
    builds.platform.processes.controller?.kill('SIGTERM');
    await startSpy('spy-rootless');
    await start('forks-rootless', 'COPY forks.py /forks.py\nRUN python /forks.py', { 'forks.py': FORKS });
    await expectNothingFound('spy-rootless', 'rootless');
    await expectFewProcesses('forks-rootless');
  });

  it('meanwhile the ordinary deployment answered every request', () => {
    clearInterval(watching);
    say(`the ordinary deployment answered ${answers.length} requests`);
    expect(answers.length).toBeGreaterThan(60);
    expect(answers.filter((text) => text !== 'steady')).toEqual([]);
  });
});
