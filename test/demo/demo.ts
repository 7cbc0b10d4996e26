// `npm run demo`: a real Kubernetes of one's own, Davit on it, and a sample deployment that answers. Each step is
// printed with its time. `--once` tears down after READY, `--json FILE` tells scripts where everything is,
// `--context NAME` uses a cluster of one's own kubeconfig instead of the embedded one, `--build` also builds an image,
// `--codehost` also one of a repository, `--listener` also runs a deployment on a second cluster, `--oauth` also gives people's tokens,
// `--backups` also backs up the sample's database, `--helm` installs Davit by Helm.

import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Settings } from '../../src/kinds/settings.ts';
import type { PlatformThatBuilds } from '../support/build-platform.ts';
import { roomIn, smallWords } from '../support/node-room.ts';
import { kubeconfigFor, type Platform, startRendered, TEAM_ACCOUNT, type Tenant } from '../support/platform.ts';
import { writePlugin } from '../support/plugin.ts';
import { sayingSteps } from '../support/steps-said.ts';
import { call, type Deployment, type Stage } from './api-calls.ts';
import { backupCommands } from './backups.ts';
import { buildDeployments } from './builds.ts';
import { renderedChart } from './chart.ts';
import { connectContext, localContexts } from './context.ts';
import { type DemoCluster, DemoError, TENANT } from './demo-cluster.ts';
import { embeddedDemoCluster } from './embedded.ts';
import { type FurtherCluster, ON_FURTHER_CLUSTER, startFurtherCluster } from './further-cluster.ts';
import { startDemoTokens, type TokenFacts, tokenCommands } from './tokens.ts';

const USAGE = `Usage: npm run demo [-- OPTION ...]

  --once          tear everything down after READY and exit 0
  --build         also build a deployment from a folder, with a registry of the demo's own. The first time, BuildKit and the
                  registry are compiled, which takes five to ten minutes more
  --codehost      the same, and build a deployment from a repository, with a Gitea of the demo's own, which takes another ten
                  minutes to compile the first time
  --listener      also start a second cluster, enroll it as a listener and run a deployment on it. Helm is compiled the first time
  --oauth         also run an OAuth server of the demo's own, from which agents get people's tokens. Helm is compiled the first time
  --backups       also run a store for backups of the demo's own, and back up the sample's database. Helm and the store are compiled the
                  first time, and Davit's image is built
  --helm          install Davit by Helm, as a platform team does: two pods of each part, TLS, failover within 15 s. Helm is compiled the
                  first time, and Davit's image is built
  --json FILE     write {apiUrl, token, tenantId, kubeconfig, sampleImage, hosting, registryUrl, baseImages, packageIndex, oauth}
                  to FILE once all is up. Without --build the three before the last are null, without --oauth the last is
  --context NAME  use this context of your kubeconfig instead of the embedded cluster
  --image IMAGE   deploy this image instead of the sample
`;

const DEPLOYMENT = 'hello';
/** Room stays for what a user creates beside it. */
const SMALL = { cpu: 0.05, memory_mb: 128, db_cpu: 0.05, db_memory_mb: 128, redis_cpu: 0.02, redis_memory_mb: 64 };
const READY_WITHIN_MS = 300_000;
const began = Date.now();
/** From here on there is a cluster to be torn down step by step. */
let started = false;

const steps = sayingSteps((line) =>
  process.stdout.write(`${`${((Date.now() - began) / 1000).toFixed(1)} s`.padStart(8)}  ${line}\n`),
);
const { say } = steps;

interface Options {
  readonly once: boolean;
  readonly build: boolean;
  readonly codehost: boolean;
  readonly listener: boolean;
  readonly oauth: boolean;
  readonly backups: boolean;
  readonly helm: boolean;
  readonly json: string | undefined;
  readonly context: string | undefined;
  readonly image: string | undefined;
}

function readOptions(): Options {
  const options = {
    once: { type: 'boolean' },
    build: { type: 'boolean' },
    codehost: { type: 'boolean' },
    listener: { type: 'boolean' },
    oauth: { type: 'boolean' },
    backups: { type: 'boolean' },
    helm: { type: 'boolean' },
    json: { type: 'string' },
    context: { type: 'string' },
    image: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    const { values } = parseArgs({ options });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const { once = false, codehost = false, build = codehost, json, context, image } = values;
    const { listener = false, oauth = false, backups = false, helm = false } = values;
    if (build && context !== undefined)
      throw new Error("--build needs the demo's own cluster: leave out --context, or set settings.builds on yours.");
    for (const [option, isSet] of Object.entries({ listener, oauth, backups, helm })) {
      if (isSet && (build || context !== undefined))
        throw new Error(
          `--${option} needs the demo's own cluster, and cannot be combined with --build, --codehost or --context.`,
        );
    }
    if (helm && (listener || oauth || backups))
      throw new Error('--helm cannot be combined with --listener, --oauth or --backups.');
    return { once, build, codehost, listener, oauth, backups, helm, json, context, image };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** A tenant that was just made is known to the API a moment later, and so are its rights. */
async function createWhenKnown(stage: Stage, image: string): Promise<Deployment> {
  const database = stage.cluster.backups && { backup: { keep: 3 } };
  const body = {
    name: DEPLOYMENT,
    source: 'external_docker',
    database_deletion_policy: 'Delete',
    source_config: { resource_spec: SMALL, ...(database && { database }) },
    source_revision_config: { image_uri: image },
    secrets: [{ name: 'GREETING', value: 'hello from a Secret' }],
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(stage, 'POST', '/v2/deployments', body);
    } catch (error) {
      if (attempt === 20 || !(error instanceof DemoError) || !/ 40[13] /.test(error.message)) throw error;
      await sleep(250);
    }
  }
}

async function untilReady(stage: Stage, created: Deployment, name = DEPLOYMENT): Promise<void> {
  const { tenant, cluster, stopping } = stage;
  const { target } = cluster;
  let shown = '';
  for (const end = Date.now() + READY_WITHIN_MS; Date.now() < end; await sleep(250)) {
    if (stopping.aborted) throw new DemoError('Stopped.');
    const { status, phase } = await call(stage, 'GET', `/v2/deployments/${created.id}`);
    const words = status === 'UNKNOWN' && phase ? phase : status;
    if (words !== shown) say(`Deployment ${name} is ${words}`);
    shown = words;
    if (status === 'READY') return;
  }
  const said = await target.kubectl(['get', 'appd,pods', '-n', tenant.namespace]).catch(() => '');
  const why = await target
    .kubectl([
      'get',
      'appd',
      name,
      '-n',
      tenant.namespace,
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Ready")].message}',
    ])
    .catch(() => '');
  throw new DemoError(`The deployment was not READY within ${READY_WITHIN_MS / 1000} s: ${why}\n${said}`);
}

async function run(options: Options, stopping: AbortSignal): Promise<void> {
  if (options.context === undefined) await sayLocalContexts();
  const tokens = options.oauth ? await startDemoTokens() : undefined;
  const cluster: DemoCluster =
    options.context === undefined
      ? await embeddedDemoCluster(say, { ...options, tokens })
      : await connectContext(options.context, say);
  started = true;
  let platform: Platform | undefined;
  let builds: PlatformThatBuilds | undefined;
  let further: FurtherCluster | undefined;
  try {
    builds = await cluster.startBuildPlatform?.();
    platform =
      builds?.platform ??
      (await cluster.startHub?.()) ??
      (await startRendered(cluster.target, await renderedChart(cluster.images), { progress: say }));
    say(`Davit serves its API at ${platform.apiUrl}`);
    const tenant = await platform.makeTenant(TENANT);
    say(`Tenant ${TENANT} is made`);
    stopping.throwIfAborted();
    const image = options.image ?? cluster.sampleImage;
    const stage = { platform, tenant, cluster, stopping };
    await cluster.backups?.admit(tenant.namespace);
    const sample = await deploy(stage, image);
    const backup = await cluster.backups?.backUp(tenant.namespace, DEPLOYMENT, stopping);
    if (backup !== undefined) say(`Backup ${backup} of its database is in the store`);
    if (builds !== undefined) await buildDeployments(stage, builds, say);
    const ofTokens = await tokens?.setUp(stage, say);
    if (options.listener) {
      further = await startFurtherCluster(stage, say);
      say(`Creating deployment ${ON_FURTHER_CLUSTER}, which runs there`);
      await untilReady(stage, await further.deploy(), ON_FURTHER_CLUSTER);
      for (const line of await further.describe()) say(line);
    }
    if (options.json !== undefined) {
      const facts = {
        apiUrl: platform.apiUrl,
        token: tenant.token,
        tenantId: tenant.id,
        kubeconfig: cluster.kubeconfig,
        sampleImage: cluster.realPods ? image : null,
        hosting: 'both',
        registryUrl: builds?.registry.host ?? null,
        baseImages: builds?.baseImages ?? null,
        packageIndex: builds?.packageIndex ?? null,
        oauth: ofTokens ?? null,
      };
      await writeFile(options.json, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
    }
    await writePlugin(cluster.directory);
    await saySmallNode(cluster);
    steps.done();
    await sayWhatNext(platform, tenant, cluster, { builds, further, ofTokens, sample });
    if (!options.once && !stopping.aborted) {
      say('Ctrl-C ends it all.');
      // A timer keeps this process: with --helm nothing else does.
      await sleep(2 ** 31 - 1, undefined, { signal: stopping }).catch(() => undefined);
    }
  } catch (error) {
    // Ctrl-C reaches Davit's processes too: what fails after it is no news.
    if (stopping.aborted) throw new DemoError('Stopped before it was READY.');
    await showComplaints(cluster.target.logsDir);
    throw error;
  } finally {
    say('Tearing down');
    // While Davit still runs: nobody else would finish the teardown of a record.
    if (cluster.outlivesDemo) await removeDeployment(cluster);
    await further?.stop();
    await (builds ?? platform)?.stop();
    await tokens?.stop();
    await cluster.stop();
    say('Gone');
  }
}

/** Before minutes of compiling: a cluster that is there already needs none. */
async function sayLocalContexts(): Promise<void> {
  const contexts = await localContexts();
  if (contexts.length === 0) return;
  say('Your kubeconfig has a cluster of this machine. To use it, without compiling anything:');
  for (const context of contexts) say(`  npm run demo -- --context ${context}`);
  say("Going on with a cluster of the demo's own.");
}

/** What Davit itself complained of, before its logs go with the rest. */
async function showComplaints(logsDir: string): Promise<void> {
  for (const part of ['controller', 'api']) {
    const log = await readFile(`${logsDir}/davit-${part}.log`, 'utf8').catch(() => '');
    const complaints = log.split('\n').filter((line) => line !== '' && !/"level":"(info|debug|trace)"/.test(line));
    if (complaints.length > 0) process.stderr.write(`\ndavit ${part} said:\n  ${complaints.slice(-8).join('\n  ')}\n`);
  }
}

async function deploy(stage: Stage, image: string): Promise<Deployment> {
  const { tenant, cluster } = stage;
  say(`Creating deployment ${DEPLOYMENT} of ${image}`);
  const created = await createWhenKnown(stage, image);
  await untilReady(stage, created);
  if (cluster.askSample) {
    for (const line of await cluster.askSample(tenant.namespace, DEPLOYMENT)) say(line);
  } else if (!cluster.realPods) {
    say('No pod really ran (stand-in), so the sample server is not asked.');
  }
  return created;
}

async function removeDeployment({ target }: DemoCluster): Promise<void> {
  const args = ['delete', 'appd', DEPLOYMENT, '-n', TENANT, '--ignore-not-found', '--timeout=300s'];
  await target.kubectl(args).catch((error: unknown) => {
    say(`The deployment could not be removed: ${String(error)}`);
    say(
      'Without Davit its deletion waits, and so does that of the objects below: docs/install.md, "Uninstalling", says what to do.',
    );
  });
}

/** What a newcomer deploys beside the sample has the platform's sizes, and waits for ever on a node without room. */
async function saySmallNode({ target, realPods }: DemoCluster): Promise<void> {
  if (!realPods) return;
  const [nodes, pods] = await Promise.all(
    [['nodes'], ['pods', '-A']].map(async (args) => JSON.parse(await target.kubectl(['get', ...args, '-o', 'json']))),
  );
  const { server, postgres, redis } = Settings.parse({}).sizes.plain;
  const words = smallWords(roomIn(nodes.items, pods.items), {
    what: 'A deployment without sizes of its own',
    cpu: Math.round((server.cpu + postgres.cpu + redis.cpu) * 100) / 100,
    memoryMb: server.memoryMb + postgres.memoryMb + redis.memoryMb,
  });
  if (words !== undefined) say(words);
}

async function sayWhatNext(
  platform: Platform,
  tenant: Tenant,
  cluster: DemoCluster,
  {
    builds,
    further,
    ofTokens,
    sample,
  }: {
    readonly builds: PlatformThatBuilds | undefined;
    readonly further: FurtherCluster | undefined;
    readonly ofTokens: TokenFacts | undefined;
    readonly sample: Deployment;
  },
): Promise<void> {
  const inFile = async (name: string, secret: string): Promise<string> => {
    const file = `${cluster.directory}/${name}`;
    await writeFile(file, secret, { mode: 0o600 });
    return `$(cat ${file})`;
  };
  const token = await inFile('token', tenant.token);
  const editor = `${cluster.directory}/editor.kubeconfig`;
  await writeFile(editor, await kubeconfigFor(cluster.target, TENANT, TEAM_ACCOUNT), { mode: 0o600 });
  // The last two are for kubectl davit.
  const forPlugin = [`DAVIT_SERVER=${platform.apiUrl}`, `DAVIT_TOKEN=${token}`];
  // kubectl finds its plugins on the PATH, and the plugin needs the Node that runs the demo.
  const path = [cluster.directory, dirname(process.execPath), ...cluster.programs].join(':');
  const exports = [
    `PATH="${path}:$PATH"`,
    ...cluster.exports,
    `API=${platform.apiUrl}`,
    `TOKEN=${token}`,
    ...forPlugin,
  ];
  if (builds !== undefined) {
    const { CA, BASE } = builds.variables;
    exports.push(`CA=${CA}`, `BASE=${BASE}`);
    // With its password.
    const gitea = builds.codeHost?.gitea.signedIn;
    if (gitea !== undefined) exports.push(`GITEA=${await inFile('gitea-address', gitea)}`);
  }
  const plugin = 'kubectl davit';
  const shell = process.env['SHELL']?.endsWith('/zsh') ? 'zsh' : 'bash';
  const flags = cluster.kubectlCommand.replace(/^kubectl/, '');
  const change = { spec: { sourceRevisionConfig: { imageUri: cluster.nextImage } } };
  const lines = [
    '',
    `READY  ${platform.apiUrl}`,
    '',
    'Try next, in another terminal:',
    `  export ${exports.join(' ')}`,
    `  source <(kubectl completion ${shell})   # completes ${plugin}, too`,
    `  ${cluster.kubectlCommand} get appd`,
    `  ${cluster.kubectlCommand} describe appd ${DEPLOYMENT}`,
    // Flags of kubectl follow the name of a plugin.
    ...['status', ...(cluster.realPods ? ['logs'] : [])].map((word) => `  ${plugin} ${word} ${DEPLOYMENT}${flags}`),
    ...(further === undefined
      ? []
      : [
          `  ${cluster.kubectlCommand} get lsn`,
          `  ${cluster.kubectlCommand} --kubeconfig ${further.kubeconfig} get appd,pods -A`,
        ]),
    ...(ofTokens === undefined ? [] : tokenCommands(ofTokens)),
    ...(cluster.backups === undefined ? [] : backupCommands(sample, DEPLOYMENT, cluster.kubectlCommand)),
    '  curl -s -H "X-Api-Key: $TOKEN" "$API/v2/deployments"',
    ...(platform.metricsUrl === undefined ? [] : [`  curl -s ${platform.metricsUrl}   # the controller's metrics`]),
    ...(cluster.commands ?? []),
    `  ${cluster.kubectlCommand} patch appd ${DEPLOYMENT} --type=merge -p '${JSON.stringify(change)}'   # a new revision`,
    `  ${cluster.kubectlCommand} get appr`,
    `  ${platform.apiUrl}/ in a browser, with that token; the API is described at ${platform.apiUrl}/docs`,
    `  ${plugin} rollback ${DEPLOYMENT}${flags}   # and back; all commands: ${plugin} --help`,
    `${cluster.outlivesDemo ? 'That context is your own' : "That KUBECONFIG is an administrator's"}. To be a member of the team, with roles davit-editor and edit in namespace ${TENANT} and no other right:`,
    `  export KUBECONFIG=${editor}   # then kubectl and ${plugin} need no flags`,
    `Then deploy something of your own: ${builds === undefined ? 'docs/start.md, "A deployment"' : 'docs/builds.md, "From a clean clone to READY"'}.`,
    '',
  ];
  process.stdout.write(lines.join('\n'));
  process.stdout.write('\n');
}

const options = readOptions();
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopping.abort();
    // A build under way has nothing to tear down, and what has begun to start goes with this process.
    if (!started) process.exit(130);
  });
}
try {
  await run(options, stopping.signal);
  process.exit(0);
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? `\n  ${error.cause.message}` : '';
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}${cause}\n`);
  process.exit(1);
}
