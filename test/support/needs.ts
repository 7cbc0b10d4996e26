// What the tests of each project need that takes long to make. It is made before they run, and they make nothing of it
// themselves (test/cluster/prepared.ts).

import { ensureBaseImages, ensureBuildImages, ensureImages, imagesOf } from '../cluster/images/build.ts';
import { ensureBuilderImage } from '../cluster/images/builder.ts';
import { nodeImageNames } from '../cluster/images/recipes.ts';
import { ensureProgram, realPods } from '../cluster/machine.ts';
import type { Progress } from '../cluster/prepared.ts';
import { isPrepared, noteFailure } from '../cluster/prepared.ts';
import { prepareSandboxImage } from '../cluster/sandbox-image.ts';
import { ensureTools, gatewayApi, helmFolder, kubernetesRelease, type ToolModule } from '../cluster/tools.ts';
import { ensureDavitImage } from '../image/davit-image.ts';
import { ensureN8n, ensureTraced } from '../suites/applications/npm-applications.ts';
import { ensureExampleImages } from '../suites/applications/python-image.ts';
import { ensureScalingImages } from '../suites/applications/scaling-systems.ts';
import { chromiumHere } from '../suites/page/browser.ts';
import { BARMAN_CLOUD, ensureBarmanCloud } from './barman-cloud.ts';
import { ensureCloudNativePg } from './cloudnative-pg.ts';
import { ensureCollector } from './collector.ts';
import { ensureGlewlwyd, GLEWLWYD } from './glewlwyd.ts';
import { ensureNewerPostgres, NEWER_POSTGRES } from './newer-postgres.ts';
import { ensurePublishedClient } from './published-client.ts';
import { landedSource } from './upgrade/landed.ts';

export interface Need {
  /** As messages have it, and the guards of test/cluster/prepared.ts. */
  readonly name: string;
  /** On two cores, with nothing in any cache; of several that share packages, after those above it. */
  readonly seconds: number;
  /** Whether it is compiled: one after another, for the compiler fills the machine's cores on its own. */
  readonly compiled?: boolean;
  /** Whether it is for real pods alone. */
  readonly pods?: boolean;
  make(progress: Progress): Promise<unknown>;
}

const tool = (module: ToolModule, seconds: number, name: string = module): Need => ({
  name,
  seconds,
  compiled: true,
  make: (progress) => ensureTools([module], progress),
});
const program = (name: string, seconds: number): Need => ({
  name,
  seconds,
  make: (progress) => ensureProgram(name, progress),
});

const kubernetes = tool('kubernetes', 720, kubernetesRelease().folder);
const containerd: Need = { ...tool('containerd', 60), pods: true };
const helm = tool('helm', 60, helmFolder());
const lua = tool('lua', 5);
const prometheus = tool('prometheus', 60);
const gateway: Need = { name: 'gateway-api', seconds: 5, make: () => gatewayApi() };
const machine: Need = { name: 'system packages of real pods', seconds: 10, make: realPods };
const images: Need = {
  name: imagesOf(nodeImageNames),
  seconds: 20,
  pods: true,
  async make(progress) {
    await ensureImages(progress);
    await prepareSandboxImage();
  },
};
const chromium: Need = { name: 'chromium', seconds: 60, make: findChromium };
const langgraph: Need = { name: 'langgraph', seconds: 20, make: ensurePublishedClient };
const landed: Need = { name: 'release to upgrade from', seconds: 40, make: () => landedSource() };
const jq = program('jq', 5);
const davitImage: Need = { name: 'image of Davit', seconds: 90, pods: true, make: ensureDavitImage };
const landedImage: Need = {
  name: 'image of the release to upgrade from',
  seconds: 60,
  pods: true,
  make: async (progress) => ensureDavitImage(progress, { folder: await landedSource(), suffix: '-landed' }),
};
const baseImages: Need = { name: 'images of the Dockerfile', seconds: 30, pods: true, make: ensureBaseImages };
const application = (name: string, seconds: number, make: Need['make']): Need => ({
  name: `application ${name}`,
  seconds,
  pods: true,
  make,
});

const pods = [machine, containerd, images];

/** By the names of vitest.config.ts. */
export const needs = {
  unit: [helm, lua],
  searches: [],
  published: [langgraph],
  page: [kubernetes, helm, chromium],
  integration: [kubernetes, helm],
  clusters: [kubernetes, helm],
  platforms: [kubernetes, helm, ...pods, gateway],
  long: [kubernetes, helm, landed],
  e2e: [kubernetes, helm, ...pods],
  pods: [kubernetes, helm, ...pods],
  'under-load': [kubernetes, helm, ...pods],
  broken: [kubernetes, helm, ...pods, chromium, prometheus],
  listener: [kubernetes, helm, ...pods, jq],
  install: [kubernetes, helm, ...pods, jq, prometheus, baseImages, davitImage, landed, landedImage],
  release: [
    kubernetes,
    helm,
    ...pods,
    tool('registry', 60),
    tool('cosign', 300),
    program('buildah', 30),
    program('git', 10),
    baseImages,
  ],
  builds: [
    kubernetes,
    helm,
    ...pods,
    langgraph,
    ...(['registry', 'buildkit', 'rootlesskit', 'runc'] as const).map((module) => ({
      ...tool(module, 60),
      pods: true,
    })),
    { ...tool('gitea', 590), pods: true },
    program('git', 10),
    { name: 'images of builds', seconds: 40, pods: true, make: ensureBuildImages },
    { name: 'image of the builder', seconds: 40, pods: true, make: ensureBuilderImage },
    baseImages,
    davitImage,
  ],
  'oauth-servers': [{ name: GLEWLWYD, seconds: 20, make: ensureGlewlwyd }],
  backups: [
    kubernetes,
    helm,
    ...pods,
    { ...tool('versitygw', 120), pods: true },
    baseImages,
    davitImage,
    { name: NEWER_POSTGRES, seconds: 20, pods: true, make: ensureNewerPostgres },
  ],
  nodes: [
    kubernetes,
    helm,
    ...pods,
    { ...tool('kube-router', 120), pods: true },
    program('ipset', 5),
    { ...tool('versitygw', 120), pods: true },
    ...(['registry', 'buildkit', 'rootlesskit', 'runc'] as const).map((module) => ({
      ...tool(module, 60),
      pods: true,
    })),
    { name: 'images of builds', seconds: 40, pods: true, make: ensureBuildImages },
    { name: 'image of the builder', seconds: 40, pods: true, make: ensureBuilderImage },
    baseImages,
    davitImage,
  ],
  'cloudnative-pg': [
    kubernetes,
    helm,
    ...pods,
    { ...tool('cloudnative-pg', 330), pods: true },
    { name: 'image of CloudNativePG', seconds: 10, pods: true, make: ensureCloudNativePg },
    { ...tool(BARMAN_CLOUD, 280), pods: true },
    { name: 'images of the Barman Cloud plugin', seconds: 30, pods: true, make: ensureBarmanCloud },
    { ...tool('versitygw', 120), pods: true },
    baseImages,
    davitImage,
  ],
  applications: [
    kubernetes,
    helm,
    ...pods,
    { ...tool('keda', 600), pods: true },
    { ...tool('metrics-server', 120), pods: true },
    { name: 'otel-collector', seconds: 120, compiled: true, pods: true, make: ensureCollector },
    { name: 'images of KEDA and metrics-server', seconds: 20, pods: true, make: ensureScalingImages },
    ...['langhost', 'aegra', 'prefect'].map((name) =>
      application(name, 120, (progress) => ensureExampleImages(name, progress)),
    ),
    application('traced', 60, ensureTraced),
    application('n8n', 600, ensureN8n),
  ],
} as const satisfies Readonly<Record<string, readonly Need[]>>;

export type Project = keyof typeof needs;

/** Of the project `unit`, the only files that need a program: another one alone compiles nothing. */
const UNIT_FILES: Readonly<Record<string, RegExp>> = {
  [helm.name]: /\/(chart|chart-oauth|chart-registry|helm-test|proxy|scripts)\.test\.ts$/,
  [lua.name]: /\/(argo-cd|needs)\.test\.ts$/,
};

/** What these files of a project need. */
export function needsOf(project: Project, files: readonly string[]): readonly Need[] {
  return needs[project].filter(({ name }) => {
    const only = project === 'unit' ? UNIT_FILES[name] : undefined;
    return only === undefined || files.some((file) => only.test(file));
  });
}

/** What is needed and this machine lacks. */
export async function lacking(wanted: ReadonlySet<Need>): Promise<readonly Need[]> {
  const mayRunPods = process.env['DAVIT_PODS'] !== 'off' && process.platform === 'linux' && process.getuid?.() === 0;
  const lacks: Need[] = [];
  for (const need of wanted) {
    if (need.pods === true && !mayRunPods) continue;
    if (!(await isPrepared(() => need.make(() => undefined)))) lacks.push(need);
  }
  return lacks;
}

/** Makes what is needed. What fails is told, and fails again, with the reason, in the tests that need it. */
export async function prepare(wanted: readonly Need[], say: Progress): Promise<void> {
  const lacks = await lacking(new Set(wanted));
  if (lacks.length === 0) return;
  const minutes = Math.ceil(lacks.reduce((sum, { seconds }) => sum + seconds, 0) / 60);
  const names = lacks.map(({ name }) => name).join('; ');
  say(`Once on this machine, before the tests, about ${minutes} min on two cores: ${names}`);
  const began = Date.now();
  let left = lacks.length;
  const makeAll = async (some: readonly Need[]): Promise<void> => {
    for (const { name, make } of some) {
      await make(say).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        noteFailure(name, why);
        say(`${name} could not be prepared: ${why}`);
      });
      left -= 1;
      say(`${name}: done; ${left === 0 ? `all in ${Math.round((Date.now() - began) / 1000)} s` : `${left} left`}`);
    }
  };
  // What is fetched and packed is beside what is compiled.
  await Promise.all([
    makeAll(lacks.filter(({ compiled }) => compiled === true)),
    makeAll(lacks.filter(({ compiled }) => compiled !== true)),
  ]);
}

async function findChromium(): Promise<void> {
  const found = await chromiumHere();
  if ('missing' in found) throw new Error(found.missing);
}
