// `npm run release`: makes a release of the commit that is checked out, and publishes its image and its chart. Its options are in USAGE;
// CONTRIBUTING, "Releasing", describes what comes out. Everything is made before anything is published; run again with the same commit, it completes
// what an earlier run has left.

import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { ensureProgram } from '../cluster/machine.ts';
import { optionsOf } from '../support/options.ts';
import { sha256Of, writeChart, writePlugin } from './files.ts';
import { basesOf, buildImage, byDigest } from './image.ts';
import {
  changesOf,
  imageList,
  krewManifest,
  mirrored,
  type Names,
  namedImages,
  namesIn,
  type Origin,
  type Pinned,
  provenanceOf,
  releaseNotes,
  versionTrouble,
} from './plan.ts';
import { chartAt, digestAt, type Programs, programAt, releasePrograms } from './programs.ts';

const USAGE = `npm run release -- --version 0.1.0 --to registry.example.com/platform [options]

  --version V         the version, which package.json has too
  --to REGISTRY       where image and chart are pushed: REGISTRY/davit and REGISTRY/charts/davit
  --key FILE          private key of cosign, with its password in COSIGN_PASSWORD; without it the identity of
                      the workflow that runs this signs
  --platforms LIST    instead of linux/amd64,linux/arm64
  --build-base NAME   instead of the Dockerfile's BUILD_BASE
  --run-base NAME     instead of the Dockerfile's RUN_BASE
  --mirror REGISTRY   where the bases and the platform's images are read, instead of the registries in their names
  --out FOLDER        for the files; dist/release/VERSION by default
  --plain-http        the registry has no TLS
  --help
`;

const values = optionsOf(
  {
    version: { type: 'string', default: '' },
    to: { type: 'string', default: '' },
    key: { type: 'string' },
    platforms: { type: 'string', default: 'linux/amd64,linux/arm64' },
    'build-base': { type: 'string' },
    'run-base': { type: 'string' },
    mirror: { type: 'string' },
    out: { type: 'string' },
    'plain-http': { type: 'boolean', default: false },
  },
  { command: 'npm run release', usage: USAGE },
);

const root = join(import.meta.dirname, '../..');
const began = performance.now();

function say(line: string): void {
  process.stdout.write(`[${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s] ${line}\n`);
}

/** What a person has to change before a release can be made: one line, without a stack. */
class Refused extends Error {}

const git = programAt('git', { cwd: root });

/** The commit that is checked out. Throws Refused for a tree with changes, which no commit names. */
async function originOf(): Promise<Origin> {
  const changed = (await git('status', '--porcelain')).trim();
  if (changed !== '')
    throw new Refused(
      `The tree has changes that are in no commit: ${changed.split('\n')[0]?.trim()}. Commit them, or stash them.`,
    );
  const [commit = '', epoch = ''] = (await git('log', '-1', '--format=%H %ct')).trim().split(' ');
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  const source = server !== undefined && repository !== undefined ? `${server}/${repository}` : undefined;
  return { commit, epoch: Number(epoch), source };
}

function needSigner(): void {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: ofWorkflow, SIGSTORE_ID_TOKEN: token } = process.env;
  if (values.key === undefined && ofWorkflow === undefined && token === undefined)
    throw new Refused(
      'Nothing signs this release: --key is missing, and this is no workflow with an identity. Make a key with cosign generate-key-pair, and name it with --key.',
    );
}

async function pinned({ crane }: Programs, names: readonly string[]): Promise<Pinned[]> {
  const found: Pinned[] = [];
  for (const name of names) {
    const there = mirrored(name, values.mirror);
    const digest = await digestAt(crane, there).catch((error: unknown) => {
      throw new Refused(
        `The digest of ${there} cannot be read. ${error instanceof Error ? error.message : String(error)}`,
      );
    });
    if (digest === undefined)
      throw new Refused(
        `${there} does not exist, so its digest cannot be in the release. Copy it there, or name another registry with --mirror.`,
      );
    found.push({ name, digest });
  }
  return found;
}

/** The source at the commit: what an ignored file would add to this folder is not in it. */
async function sourceAt({ commit }: Origin, scratch: string): Promise<string> {
  const folder = join(scratch, 'source');
  await mkdir(folder);
  const archive = join(scratch, 'source.tar');
  await git('archive', `--output=${archive}`, commit);
  await programAt('tar')('--extract', `--file=${archive}`, `--directory=${folder}`);
  return folder;
}

interface Signing {
  /** Arguments of cosign for whoever signs. */
  readonly signs: readonly string[];
  /** For whoever verifies. */
  readonly verifies: string;
}

function signingOf({ source = '' }: Origin): Signing {
  if (values.key !== undefined)
    return {
      signs: ['--key', resolve(values.key), '--use-signing-config=false', '--tlog-upload=false'],
      verifies: '--key cosign.pub --insecure-ignore-tlog=true',
    };
  return {
    signs: [],
    verifies: `--certificate-identity-regexp '^${source}/' --certificate-oidc-issuer https://token.actions.githubusercontent.com`,
  };
}

interface Made extends Pick<Signing, 'signs'> {
  readonly version: string;
  readonly digest: string;
  readonly layout: string;
  readonly chart: string;
  readonly provenance: string;
  readonly bill: string;
}

/** Pushes by digest, signs, and gives the names last. Resolves to the digest of the chart. Run again, it completes. */
async function publish(
  { crane, helm, cosign }: Programs,
  names: Names,
  { signs, version, digest, layout, chart, provenance, bill }: Made,
): Promise<string> {
  const image = `${names.image}@${digest}`;
  say(`Pushing ${image}`);
  await crane('push', layout, image);
  await cosign('sign', '--yes', ...signs, image);
  for (const [type, predicate] of [
    ['cyclonedx', bill],
    ['slsaprovenance1', provenance],
  ] as const) {
    await cosign('attest', '--yes', ...signs, '--type', type, '--predicate', predicate, image);
  }
  say(`Pushing ${names.chart}:${version}`);
  await helm('push', chart, names.chartFolder);
  const chartDigest = await digestAt(crane, `${names.chart}:${version}`);
  if (chartDigest === undefined) throw new Error(`${names.chart}:${version} was pushed, and is not there.`);
  await cosign('sign', '--yes', ...signs, `${names.chart}@${chartDigest}`);
  await crane('tag', image, version);
  return chartDigest;
}

async function release(): Promise<void> {
  const { version } = values;
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const trouble = versionTrouble(version, manifest.version);
  if (trouble !== undefined) throw new Refused(trouble);
  const names = namesIn(values.to);
  if ('refused' in names) throw new Refused(names.refused);
  const changes = changesOf(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (changes === undefined)
    throw new Refused(`CHANGELOG.md has no section for ${version}. Write one with the heading: ## ${version}`);
  needSigner();
  const origin = await originOf();
  const isPlain = values['plain-http'];
  const programs = await releasePrograms({ progress: say, isPlain });
  const before = await digestAt(programs.crane, `${names.image}:${version}`).catch((error: unknown) => {
    throw new Refused(`The registry of --to cannot be used. ${error instanceof Error ? error.message : String(error)}`);
  });

  const scratch = await mkdtemp(join(tmpdir(), 'davit-release-'));
  try {
    const source = await sourceAt(origin, scratch);
    const named = basesOf(await readFile(join(source, 'Dockerfile'), 'utf8'));
    const bases = await pinned(programs, [values['build-base'] ?? named.build, values['run-base'] ?? named.run]);
    const others = await pinned(
      programs,
      namedImages(await readFile(join(source, 'charts/davit/values.yaml'), 'utf8')),
    );

    // --out may be any folder of the caller's: what else is in it stays.
    const kept = resolve(values.out ?? join(root, 'dist/release', version));
    await mkdir(kept, { recursive: true });
    const out = join(scratch, 'out');
    await mkdir(out);
    say(`Building the image at commit ${origin.commit.slice(0, 12)} for ${values.platforms}`);
    const layout = join(scratch, 'layout');
    const [buildBase, runBase] = bases.map((base) => byDigest({ ...base, name: mirrored(base.name, values.mirror) }));
    const platforms = values.platforms.split(',');
    const digest = await buildImage({
      buildah: await ensureProgram('buildah', say),
      // None of an earlier run: what is released is made of the commit alone.
      storage: join(scratch, 'layers'),
      source,
      layout,
      origin,
      version,
      platforms,
      bases: { build: buildBase ?? '', run: runBase ?? '' },
      isPlain,
    });
    if (before !== undefined && before !== digest)
      throw new Refused(
        `${names.image}:${version} exists and is another image (${before}; this commit gives ${digest}). A release never changes: choose the next version.`,
      );

    say('Writing the chart, the plugin and the lists');
    const files = { source, scratch, out, version, epoch: origin.epoch };
    const image = { name: names.image, digest };
    const chart = await writeChart(files, image, others);
    // An interrupted release leaves the chart without the image's name; nobody has to see it change.
    const chartBefore = await chartAt(programs.crane, `${names.chart}:${version}`);
    if (chartBefore !== undefined && chartBefore !== (await sha256Of(chart)))
      throw new Refused(
        `${names.chart}:${version} exists and is another chart. A release never changes: choose the next version, or release from the commit that the chart was made of.`,
      );
    const archive = await writePlugin(files, root, origin.source);
    const downloads =
      origin.source === undefined ? 'https://example.com' : `${origin.source}/releases/download/v${version}`;
    const statement = provenanceOf({
      ...origin,
      version,
      platforms,
      bases,
      lockfile: await sha256Of(join(source, 'package-lock.json')),
      builder: process.env['GITHUB_WORKFLOW_REF'] ?? 'urn:davit:local-builder',
    });
    const [provenance, bill] = [join(out, 'provenance.json'), join(out, 'sbom.cdx.json')];
    await copyFile(join(scratch, 'dist/sbom.cdx.json'), bill);
    await writeFile(provenance, `${JSON.stringify(statement, null, 2)}\n`);
    await writeFile(join(out, 'images.txt'), imageList([{ ...image, name: `${image.name}:${version}` }, ...others]));
    await writeFile(
      join(out, 'davit.krew.yaml'),
      krewManifest(version, `${downloads}/${basename(archive)}`, await sha256Of(archive)),
    );
    await writeFile(join(out, 'install.yaml'), await rendered(programs, chart));

    const { signs, verifies: signer } = signingOf(origin);
    const made = { signs, version, digest, layout, chart, provenance, bill };
    const chartDigest = await publish(programs, names, made).catch((error: unknown) => {
      throw new Error(
        `The release is not complete: ${names.image}:${version} does not name it yet. Run the same command again at the same commit; it completes what is there.\n${error instanceof Error ? error.message : String(error)}`,
      );
    });
    await writeFile(
      join(out, 'RELEASE-NOTES'),
      releaseNotes({ ...names, version, imageDigest: digest, chartDigest, signer }, changes),
    );
    if (values.key !== undefined)
      await writeFile(join(out, 'cosign.pub'), await programs.cosign('public-key', '--key', resolve(values.key)));
    await writeChecksums(out, programs, signs);
    await cp(out, kept, { recursive: true });
    say(`Released ${version}:`);
    process.stdout.write(
      `\n  ${names.image}:${version}  ${digest}\n  ${names.chart}:${version}  ${chartDigest}\n  ${kept}\n`,
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Without a certificate of its own: a key that everybody can read protects nothing. */
async function rendered({ helm }: Programs, chart: string): Promise<string> {
  const args = ['--namespace', 'davit-system', '--include-crds', '--set', 'api.tls.secretName=davit-api-tls'];
  const text = await helm('template', 'davit', chart, ...args);
  if (/^kind: Secret$/m.test(text)) throw new Error('install.yaml would contain a Secret.');
  return `# Before: kubectl create namespace davit-system, and a Secret davit-api-tls there with tls.crt and tls.key for davit-api.davit-system.svc.\n${text}`;
}

async function writeChecksums(out: string, { cosign }: Programs, signs: readonly string[]): Promise<void> {
  const list = programAt('sh', { cwd: out });
  const checksums = join(out, 'checksums.txt');
  await list('-c', 'sha256sum -- * > .checksums && mv .checksums checksums.txt');
  await cosign('sign-blob', '--yes', ...signs, '--bundle', `${checksums}.sig`, checksums);
}

try {
  await release();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
