// What Davit's builds stand on, without Davit: that both kinds of builder pod build, push and are confined to one
// repository on a real cluster, that its node runs what they pushed, and that the code hosts do as is expected of them.

import { createHmac } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureBuildImages, type Image } from '../../cluster/images/build.ts';
import { ensureBuilderImage } from '../../cluster/images/builder.ts';
import { realPods } from '../../cluster/machine.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Build, type BuilderKind, buildJob, kinds, trustObject } from './build-job.ts';
import { type GitHost, startGitHost } from './git-host.ts';
import { administrator, type Gitea, startGitea } from './gitea.ts';
import { type Registry, startRegistry } from './registry.ts';
import { type Server, serve } from './servers.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the builds are left out`);

const namespace = 'builds';
const application = {
  'app.py': `import http.server
import greeting

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(greeting.TEXT.encode())

http.server.HTTPServer(("", 8000), Handler).serve_forever()
`,
  'greeting/greeting.py': 'TEXT = "built here"\n',
  'greeting/setup.py': 'from setuptools import setup\nsetup(name="greeting", version="1", py_modules=["greeting"])\n',
  Dockerfile: `ARG BASE
FROM \${BASE}
WORKDIR /app
COPY greeting /tmp/greeting
RUN pip install --no-index --no-build-isolation /tmp/greeting
COPY app.py .
USER 1000:1000
CMD ["python", "app.py"]
`,
};

interface Terminated {
  readonly exitCode: number;
  readonly message?: string;
}
interface BuildPod {
  readonly status: {
    readonly initContainerStatuses?: readonly { readonly state: { readonly terminated?: Terminated } }[];
    readonly containerStatuses?: readonly { readonly state: { readonly terminated?: Terminated } }[];
  };
}

describe.skipIf(!machine.ok)('builds', () => {
  let cluster: Cluster;
  let registry: Registry;
  let gitea: Gitea;
  let gitHost: GitHost;
  let builder: Image;
  let bases: { readonly python: string; readonly node: string };
  let repository: string;
  /** An older one than the branch's head. */
  let commit: string;

  beforeAll(async () => {
    const images = await ensureBuildImages(say);
    builder = await ensureBuilderImage(say);
    cluster = await startCluster({
      pods: 'on',
      userNamespaces: true,
      images: [builder, images.registry],
      progress: say,
    });
    registry = await startRegistry(cluster, images.registry);
    bases = { python: await registry.publish(images.python), node: await registry.publish(images.node) };
    gitea = await startGitea(cluster, say);
    gitHost = await startGitHost(cluster.hostAddress, `${cluster.runDir}/git`);
    repository = await gitea.makeRepository('shop');
    commit = await gitea.commit('shop', application);
    await gitea.commit('shop', { 'app.py': 'raise SystemExit("not this commit")\n' });
    await cluster.kubectl(['create', 'namespace', namespace]);
    await apply(trustObject(registry));
  });

  afterAll(async () => {
    await gitHost?.close();
    await registry?.close();
    await cluster?.stop();
  });

  async function apply(object: object): Promise<void> {
    await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(object) });
  }

  async function applySecret(name: string, type: string, stringData: Record<string, string>): Promise<void> {
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, stringData });
  }

  async function credential(name: string, ...grant: Parameters<Registry['allow']>): Promise<string> {
    await applySecret(name, 'kubernetes.io/dockerconfigjson', { '.dockerconfigjson': registry.allow(...grant) });
    return name;
  }

  /** Runs a build to its end; what its containers left behind, its log, and how long the whole Job took. */
  async function run(build: Build): Promise<{ fetch?: Terminated; build?: Terminated; log: string; seconds: number }> {
    const began = performance.now();
    await apply(buildJob(build, registry.host));
    const get = ['get', 'pods', '-n', namespace, '-l', `build=${build.name}`, '-o', 'json'];
    return eventually(async () => {
      const pods = JSON.parse(await cluster.kubectl(get)) as { items: readonly BuildPod[] };
      const { initContainerStatuses, containerStatuses } = pods.items[0]?.status ?? {};
      const fetch = initContainerStatuses?.[0]?.state.terminated;
      const built = containerStatuses?.[0]?.state.terminated;
      if (!built && (fetch?.exitCode ?? 0) === 0) throw new Error(`${build.name} is not done: ${JSON.stringify(pods)}`);
      const seconds = (performance.now() - began) / 1000;
      const log = built ? await cluster.kubectl(['logs', '-n', namespace, '-c', 'build', `job/${build.name}`]) : '';
      return { ...(fetch && { fetch }), ...(built && { build: built }), log, seconds };
    }, 150_000);
  }

  async function buildOf(name: string, kind: BuilderKind, target: string, pushSecret: string): Promise<Build> {
    const { token, revoke } = await gitea.makeToken();
    await applySecret(`git-${name}`, 'Opaque', { token });
    revocations.set(name, revoke);
    const source = { url: repository, commit, tokenSecret: `git-${name}` };
    return { name, kind, image: builder.name, source, target, pushSecret, buildArgs: { BASE: bases.python } };
  }
  const revocations = new Map<string, () => Promise<void>>();

  it('the node says that its pods may have user namespaces', async () => {
    const { items } = JSON.parse(await cluster.kubectl(['get', 'nodes', '-o', 'json'])) as {
      items: { status: { runtimeHandlers: { name: string; features: { userNamespaces?: boolean } }[] } }[];
    };
    expect(items[0]?.status.runtimeHandlers.map(({ features }) => features.userNamespaces)).toContain(true);
  });

  describe.each(kinds)('a builder of the kind %s', (kind) => {
    const name = kind.toLowerCase();
    const target = (): string => `${registry.host}/team-${name}/shop`;
    let digest: string;

    it('builds a commit of a private repository, pushes by a token for one repository and tells the digest', async () => {
      const push = await credential(`push-${name}`, `team-${name}/shop`, ['pull', 'push']);
      const cold = await run(await buildOf(`${name}-cold`, kind, target(), push));
      expect(cold.build, cold.log).toMatchObject({ exitCode: 0 });
      expect(cold.fetch?.message?.trim()).toBe(commit);
      digest = cold.build?.message?.trim() ?? '';
      expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(
        await registry.crane(['digest', `${target()}:latest`], registry.allow(`team-${name}/shop`, ['pull'])),
      ).toBe(digest);
      // 0 0 4294967295 is what a process without a user namespace of its own sees.
      const [, outside] = /^ *0 +(\d+) +\d+/m.exec(cold.log) ?? [];
      expect(Number(outside) > 0).toBe(kind === 'userNamespace');

      const cached = await run(await buildOf(`${name}-cached`, kind, target(), push));
      expect(cached.build, cached.log).toMatchObject({ exitCode: 0, message: expect.stringContaining(digest) });
      expect(cached.log).toContain('CACHED');
      say(
        `${kind}: Job with fetch, build and push ${cold.seconds.toFixed(1)} s cold, ${cached.seconds.toFixed(1)} s cached`,
      );
    });

    it('is refused a push to another repository', async () => {
      const other = `${registry.host}/another-team/shop`;
      const { build, log } = await run(await buildOf(`${name}-elsewhere`, kind, other, `push-${name}`));
      expect(build?.exitCode).not.toBe(0);
      expect(log).toContain('insufficient_scope');
      const look = registry.crane(['ls', other], registry.allow('another-team/shop', ['pull']));
      await expect(look).rejects.toThrow('NAME_UNKNOWN');
    });

    it('makes an image that the node pulls by digest and runs', async () => {
      const pull = await credential(`pull-${name}`, `team-${name}/shop`, ['pull']);
      const image = `${target()}@${digest}`;
      const pod = `shop-${name}`;
      await apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: pod },
        spec: {
          imagePullSecrets: [{ name: pull }],
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'app', image, readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 } }],
        },
      });
      await cluster.kubectl(['wait', `pod/${pod}`, '-n', namespace, '--for=condition=Ready', '--timeout=120s']);
      const { status } = JSON.parse(await cluster.kubectl(['get', 'pod', pod, '-n', namespace, '-o', 'json'])) as {
        status: { podIP: string; containerStatuses: { imageID: string }[] };
      };
      expect(status.containerStatuses[0]?.imageID).toBe(image);
      expect(await (await fetch(`http://${status.podIP}:8000/`)).text()).toBe('built here');
    });
  });

  it('a password of the registry ends with its time', async () => {
    const look = ['ls', `${registry.host}/team-rootless/shop`];
    await expect(registry.crane(look, registry.allow('team-rootless/shop', ['pull'], -1))).rejects.toThrow('401');
    expect(await registry.crane(look, registry.allow('team-rootless/shop', ['pull']))).toContain('latest');
  });

  it('an image is not pulled without a pull secret', async () => {
    const image = `${registry.host}/team-rootless/shop:latest`;
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'no-secret' },
      spec: { containers: [{ name: 'app', image, imagePullPolicy: 'Always' }] },
    });
    await eventually(async () => {
      const events = await cluster.kubectl(['get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].message}']);
      expect(events).toMatch(/Failed to pull image "[^"]*team-rootless\/shop:latest".*insufficient_scope/);
    }, 60_000);
  });

  it('a build on the Node base runs npm', async () => {
    const { url, commit: at } = await gitHost.commit('site', {
      Dockerfile:
        'ARG BASE\nFROM ${BASE}\nWORKDIR /app\nCOPY package.json .\nRUN npm install --offline && node -p 1+41\n',
      'package.json': '{"name":"site","version":"1.0.0"}\n',
    });
    await applySecret('no-token', 'Opaque', { token: '' });
    const push = await credential('push-site', 'team/site', ['pull', 'push']);
    const source = { url, commit: at, tokenSecret: 'no-token' };
    const target = `${registry.host}/team/site`;
    const buildArgs = { BASE: bases.node };
    const made = await run({
      name: 'site',
      kind: 'rootless',
      image: builder.name,
      source,
      target,
      pushSecret: push,
      buildArgs,
    });
    expect(made.build, made.log).toMatchObject({ exitCode: 0 });
    expect(made.log).toMatch(/^#\d+ [\d.]+ 42$/m);
  });

  it('a token that was revoked fetches nothing more', async () => {
    const build = await buildOf('revoked', 'rootless', `${registry.host}/team-rootless/shop`, 'push-rootless');
    await revocations.get('revoked')?.();
    const { fetch, build: built } = await run(build);
    expect(built).toBeUndefined();
    expect(fetch?.message).toContain('Authentication failed');
  });

  it('a push calls the webhook, signed', async () => {
    const secret = 'webhook-secret';
    const calls: { readonly headers: Readonly<Record<string, unknown>>; readonly body: string }[] = [];
    const receiver: Server = await serve(cluster.hostAddress, async (request, response) => {
      calls.push({ headers: request.headers, body: await text(request) });
      response.end();
    });
    try {
      const hook = { type: 'gitea', active: true, events: ['push'] };
      const config = { url: `${receiver.url}/hook`, content_type: 'json', secret };
      await gitea.call('POST', `/repos/${administrator}/shop/hooks`, { ...hook, config });
      const pushed = await gitea.commit('shop', { 'README.md': 'More.\n' });
      const call = await eventually(async () => {
        const [first] = calls;
        if (!first) throw new Error('no call of the webhook');
        return first;
      });
      const signature = createHmac('sha256', secret).update(call.body).digest('hex');
      expect(call.headers).toMatchObject({
        'x-gitea-event': 'push',
        'x-gitea-signature': signature,
        'x-hub-signature-256': `sha256=${signature}`,
      });
      expect(JSON.parse(call.body)).toMatchObject({ ref: 'refs/heads/main', after: pushed });
    } finally {
      await receiver.close();
    }
  });
});
