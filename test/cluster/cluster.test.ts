// The embedded cluster itself, which everything else is tested on: what it offers, and that it leaves nothing behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from './api-client.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { writeImage, writeLayer } from './images/oci.ts';
import { realPods } from './machine.ts';
import { networksOf, slots } from './node-network.ts';
import { cgroupFolders, runVariable } from './run-folder.ts';
import { prepareSandboxImage, sandboxImage } from './sandbox-image.ts';
import { kubernetesRelease } from './tools.ts';

// The first run on a machine builds the tools.
const startMs = 30 * 60_000;
const linux = process.platform === 'linux';

async function podsPossible(): Promise<boolean> {
  if (process.env['DAVIT_PODS'] === 'off') return false;
  const machine = await realPods((line) => process.stderr.write(`${line}\n`));
  if (!machine.ok) process.stderr.write(`Real pods are left out: ${machine.reason}. ${machine.install}\n`);
  return machine.ok;
}

const real = await podsPossible();

/** Processes of the run, wherever they are; its own environment is the one thing that every process has from it. */
async function processesOf(runDir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      const command = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
      return environment.includes(`${runVariable}=${runDir}\0`) || command.includes(runDir) ? [command] : [];
    }),
  );
  return found.flat();
}

/** What is left of a run, after some patience: its keeper may still be at it. */
async function leftOvers(runDir: string): Promise<string[]> {
  let left: string[] = [];
  const gone = until(
    'the run to be gone',
    async () => {
      const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(runDir));
      left = [...(await processesOf(runDir)), ...mounts, ...(existsSync(runDir) ? [runDir] : [])];
      if (left.length > 0) throw new Error(left.join(', '));
    },
    60_000,
  );
  await gone.catch(() => undefined);
  return left;
}

/** A cluster in a process of its own, which can be killed. */
async function startApart(pods: 'on' | 'off'): Promise<{ launcher: ChildProcess; runDir: string }> {
  const cli = join(import.meta.dirname, 'cli.ts');
  const launcher = spawn(process.execPath, [cli, 'up', '--pods', pods], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: launcher.stdout })) {
    const runDir = /^KUBECONFIG=(.*)\/kubeconfig$/.exec(line)?.[1];
    if (runDir !== undefined) return { launcher, runDir };
  }
  throw new Error('the launcher printed no KUBECONFIG');
}

describe('control plane with the stand-in', () => {
  let cluster: Cluster;
  let other: Cluster;

  beforeAll(async () => {
    [cluster, other] = await Promise.all([
      startCluster({ pods: 'off', auditLog: true }),
      startCluster({ pods: 'off' }),
    ]);
  }, startMs);

  afterAll(async () => {
    await Promise.all([cluster.stop(), other.stop()]);
  });

  it('says its version and what sets the status of pods', async () => {
    const version = await cluster.api.call<{ gitVersion: string }>('GET', '/version');
    expect(version.gitVersion).toBe(kubernetesRelease().version);
    expect(cluster.node).toBe('stand-in');
  });

  it('gives an admin who may do everything and is not exempt as system:masters are', async () => {
    const review = await cluster.kubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}']);
    expect(JSON.parse(review)).toEqual(['davit:admins', 'system:authenticated']);
    expect((await cluster.kubectl(['auth', 'can-i', '*', '*', '--all-namespaces'])).trim()).toBe('yes');
  });

  it('gives tokens of ServiceAccounts with no more than their rights', async () => {
    const token = await cluster.tokenFor('default', 'default', { audience: 'someone', seconds: 600 });
    const [, payload = ''] = token.split('.');
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    expect(claims).toMatchObject({ aud: ['someone'], sub: 'system:serviceaccount:default:default' });
    const own = await cluster.tokenFor('default', 'default');
    await expect(cluster.kubectl(['get', 'secrets', `--token=${own}`])).rejects.toThrow(/forbidden/);
  });

  it('runs controllers, and fails images called missing', async () => {
    await cluster.kubectl(['create', 'deployment', 'web', '--image=web:1', '--replicas=2']);
    await cluster.kubectl(['create', 'deployment', 'lost', '--image=missing:1']);
    await cluster.kubectl(['wait', '--for=condition=Available', 'deployment/web', '--timeout=30s']);
    const reason = '{.items[0].status.containerStatuses[0].state.waiting.reason}';
    await cluster.kubectl(['wait', 'pod', '-l', 'app=lost', '--for=jsonpath={.status.phase}=Pending', '--timeout=30s']);
    await until('the pull to fail', async () => {
      expect(await cluster.kubectl(['get', 'pod', '-l', 'app=lost', '-o', `jsonpath=${reason}`])).toBe(
        'ImagePullBackOff',
      );
    });
    await cluster.kubectl(['delete', 'deployment', 'web', '--cascade=foreground']);
    expect(await cluster.kubectl(['get', 'pods', '-l', 'app=web', '-o', 'name'])).toBe('');
  });

  it('binds claims, grows them, and removes their volumes', async () => {
    await cluster.kubectl(['apply', '-f', '-'], { input: claim });
    await cluster.kubectl(['wait', 'pvc/data', '--for=jsonpath={.status.phase}=Bound', '--timeout=30s']);
    await cluster.kubectl(['patch', 'pvc', 'data', '-p', '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}']);
    await cluster.kubectl(['wait', 'pvc/data', '--for=jsonpath={.status.capacity.storage}=2Gi', '--timeout=30s']);
    await cluster.kubectl(['delete', 'pvc', 'data']);
    await until('the volume to be removed', async () => {
      expect(await cluster.kubectl(['get', 'pv', '-o', 'name'])).toBe('');
      expect(await readdir(join(cluster.runDir, 'volumes'))).toEqual([]);
    });
  });

  it('shares nothing with another cluster at the same time', async () => {
    await cluster.kubectl(['create', 'namespace', 'only-here']);
    await expect(other.kubectl(['get', 'namespace', 'only-here'])).rejects.toThrow(/NotFound/);
    await expect(other.kubectl(['get', 'namespaces', `--token=${cluster.adminToken}`])).rejects.toThrow(/Unauthorized/);
  });

  it('writes an audit log when asked', async () => {
    expect(other.auditLog).toBeUndefined();
    expect(await readFile(cluster.auditLog ?? '', 'utf8')).toContain('"username":"davit-admin"');
  });

  it('refuses to load an image that nothing would run', async () => {
    await expect(cluster.loadImage('any.tar', 'any:1')).rejects.toThrow(/stand-in/);
  });

  it.runIf(linux)('leaves nothing when stopped', async () => {
    await Promise.all([cluster.stop(), other.stop()]);
    expect(await leftOvers(cluster.runDir)).toEqual([]);
    expect(await leftOvers(other.runDir)).toEqual([]);
  });
});

describe('a start that fails', () => {
  it(
    'quotes the server that did not start, and keeps its log',
    async () => {
      const failure = await startCluster({ pods: 'off', apiServerArgs: ['--no-such-flag'] }).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure?.message).toMatch(/did not start \(logs: .*logs\)/);
      expect(String(failure?.cause)).toContain('unknown flag: --no-such-flag');
      const logs = /logs: (.*?)\)/.exec(failure?.message ?? '')?.[1] ?? '';
      expect(await readdir(logs)).toContain('kube-apiserver.log');
      await rm(dirname(logs), { recursive: true });
    },
    startMs,
  );
});

describe.runIf(linux)('a launcher that is killed', () => {
  it('leaves nothing with the stand-in', async () => {
    const { launcher, runDir } = await startApart('off');
    expect((await processesOf(runDir)).length).toBeGreaterThan(4);
    launcher.kill('SIGKILL');
    expect(await leftOvers(runDir)).toEqual([]);
  }, 120_000);

  it('leaves nothing on SIGTERM', async () => {
    const { launcher, runDir } = await startApart('off');
    launcher.kill('SIGTERM');
    await new Promise((resolve) => launcher.once('exit', resolve));
    expect(await leftOvers(runDir)).toEqual([]);
  }, 120_000);

  it('is cleaned up by the next start when its keeper is killed as well', async () => {
    const { launcher, runDir } = await startApart('off');
    const keeper = Number(await readFile(join(runDir, 'owner'), 'utf8'));
    process.kill(keeper, 'SIGKILL');
    launcher.kill('SIGKILL');
    await until('the keeper to be gone', async () => expect(existsSync(`/proc/${keeper}`)).toBe(false));
    const next = await startCluster({ pods: 'off' });
    await next.stop();
    expect(await leftOvers(runDir)).toEqual([]);
  }, 120_000);

  it.runIf(real)(
    'leaves nothing with real pods',
    async () => {
      const { launcher, runDir } = await startApart('on');
      launcher.kill('SIGKILL');
      expect(await leftOvers(runDir)).toEqual([]);
    },
    startMs,
  );
});

const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

const server = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers:
        - name: before
          image: ${sandboxImage}
          command: [sh, -c, 'echo from-the-volume > /data/index.html']
          volumeMounts: [{name: data, mountPath: /data}]
          securityContext: &restricted
            runAsUser: 1000
            runAsNonRoot: true
            allowPrivilegeEscalation: false
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
      containers:
        - name: web
          image: ${sandboxImage}
          command: [httpd, -f, -p, '8080', -h, /data]
          volumeMounts: [{name: data, mountPath: /data}]
          readinessProbe: {httpGet: {path: /index.html, port: 8080}, periodSeconds: 1}
          resources: {limits: {memory: 64Mi, cpu: 200m}}
          securityContext: *restricted
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`;

describe.runIf(real)('real pods', () => {
  let cluster: Cluster;
  let pod: string;

  beforeAll(async () => {
    cluster = await startCluster({ pods: 'on' });
    await cluster.kubectl(['apply', '-f', '-'], { input: `${claim}---${server}` });
    await cluster.kubectl(['wait', '--for=condition=Available', 'deployment/web', '--timeout=60s']);
    pod = (await cluster.kubectl(['get', 'pods', '-l', 'app=web', '-o', 'name'])).split('\n')[0] ?? '';
  }, startMs);

  afterAll(() => cluster.stop());

  /** `nc`, since wget of a static busybox crashes in glibc's name services. */
  const get = String.raw`(printf 'GET / HTTP/1.0\r\n\r\n'; sleep 0.2) | nc`;

  function inPod(command: string): Promise<string> {
    return cluster.kubectl(['exec', pod, '-c', 'web', '--', 'sh', '-c', command]);
  }

  it('resolve names of the cluster', async () => {
    const kubernetes = await cluster.kubectl(['get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}']);
    expect(await inPod('nslookup kubernetes.default.svc.cluster.local')).toContain(`Address: ${kubernetes}`);
    const web = await cluster.kubectl(['get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}']);
    expect(await inPod('nslookup web.default.svc.cluster.local')).toContain(`Address: ${web}`);
  });

  it('reach a Service, also one that they are behind', async () => {
    // More often than there are endpoints, so that one answer comes from the asking pod itself.
    const script = `for i in 1 2 3 4 5 6 7 8; do ${get} web.default.svc.cluster.local 80 | tail -n 1; done`;
    expect(await inPod(script)).toBe('from-the-volume\n'.repeat(8));
  });

  it('answer from this machine by the Service address', async () => {
    const web = await cluster.kubectl(['get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}']);
    const response = await fetch(`http://${web}/`, { signal: AbortSignal.timeout(5000) });
    expect(await response.text()).toBe('from-the-volume\n');
  });

  it('reach the API server under its name in the cluster', async () => {
    // Plain text to a TLS port: the API server answers that with a sentence.
    expect(await inPod(`${get} kubernetes.default 443`)).toContain('Client sent an HTTP request to an HTTPS server');
  });

  it('reach nothing beyond the cluster, and learn it at once', async () => {
    const started = Date.now();
    expect(await inPod('nc -w 20 192.0.2.200 80 2>&1 </dev/null || true')).toContain('refused');
    expect(await inPod('nc -w 20 example.com 80 2>&1 </dev/null || true')).toContain('bad address');
    // Each would wait for twenty seconds.
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  it('fail soon when their image is nowhere', async () => {
    await cluster.kubectl(['run', 'lost', '--image=registry.example/lost:1']);
    const reason = '{.status.containerStatuses[0].state.waiting.reason}';
    await until(
      'the pull to fail',
      async () => {
        const said = await cluster.kubectl(['get', 'pod', 'lost', '-o', `jsonpath=${reason}`]);
        expect(['ErrImagePull', 'ImagePullBackOff']).toContain(said);
      },
      60_000,
    );
  });

  it('run by digest after an image has been loaded', async () => {
    const { digestRef } = await cluster.loadImage(await prepareSandboxImage(), sandboxImage);
    expect(digestRef).toMatch(/^davit\.local\/busybox@sha256:[0-9a-f]{64}$/);
    await cluster.kubectl(['run', 'pinned', `--image=${digestRef}`]);
    await cluster.kubectl(['wait', 'pod/pinned', '--for=condition=Ready', '--timeout=30s']);
  });

  it('run in two clusters at once', async () => {
    const other = await startCluster({ pods: 'on' });
    try {
      await other.kubectl(['run', 'alone', `--image=${sandboxImage}`]);
      await other.kubectl(['wait', 'pod/alone', '--for=condition=Ready', '--timeout=60s']);
      expect(
        await cluster.kubectl(['get', 'pods', '-l', 'app=web', '--field-selector=status.phase=Running', '-o', 'name']),
      ).toMatch(/^(pod\/web-.*\n){2}$/);
    } finally {
      await other.stop();
    }
    // The other's end must not have touched what is still here.
    expect(await inPod('echo still here')).toBe('still here\n');
  }, 120_000);

  it('leave nothing when their cluster is stopped', async () => {
    const { runDir, server } = cluster;
    const slot = slots.find((number) => server.includes(`//${networksOf([number])[0].hostAddress}:`));
    expect(slot).toBeDefined();
    await cluster.stop();
    expect(await leftOvers(runDir)).toEqual([]);
    const groups = await cgroupFolders(`davit-${slot}`);
    expect(groups.filter((group) => existsSync(group))).toEqual([]);
    expect(existsSync(`/sys/class/net/davit${slot}`)).toBe(false);
  });

  it('can load an image that a former cluster had loaded, and forgotten', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-late-image-'));
    await writeFile(join(folder, 'file'), 'late');
    // Two layers: the second is put upon the first, which must be the one of this cluster.
    const layers = [
      await writeLayer(folder, join(folder, '..', `${basename(folder)}.1`), () => ({ uid: 0, gid: 0 })),
      await writeLayer(folder, join(folder, '..', `${basename(folder)}.2`), () => ({ uid: 1, gid: 1 })),
    ];
    const archive = `${folder}.tar`;
    await writeImage(archive, 'davit.local/late:1', layers, { Env: [] });
    for (const round of ['first', 'second']) {
      const next = await startCluster({ pods: 'on' });
      const { name } = await next.loadImage(archive, 'davit.local/late:1').finally(() => next.stop());
      expect(name, round).toBe('davit.local/late:1');
    }
    await Promise.all(
      [folder, archive, ...layers.map(({ file }) => file)].map((path) => rm(path, { recursive: true })),
    );
  }, 120_000);
});
