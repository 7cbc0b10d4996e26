// What a release consists of, by its version and its registry: names, texts and refusals. Pure.

import { parseDocument, stringify } from 'yaml';

export interface Names {
  /** Repository of the image, without tag. */
  readonly image: string;
  /** Repository of the chart, without tag. */
  readonly chart: string;
  /** What `helm push` takes: it adds the name of the chart. */
  readonly chartFolder: string;
}

// Source: semver.org, without build metadata, which no tag of an image can have.
const VERSION = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,40})?$/;
const REGISTRY = /^[a-z0-9.-]{1,200}(:\d{1,5})?(\/[a-z0-9._-]{1,100}){0,10}$/;

/** Why this is no version of a release; undefined where it is. `manifest`: the version in package.json. */
export function versionTrouble(version: string, manifest: string): string | undefined {
  if (!VERSION.test(version)) return `--version must be a version such as 0.1.0, not "${version}".`;
  if (version !== manifest)
    return `package.json has version ${manifest}, not ${version}. Commit the new version first: npm version ${version} --no-git-tag-version`;
  return undefined;
}

/** `registry`: host with port and path, such as registry.example.com/platform. */
export function namesIn(registry: string): Names | { readonly refused: string } {
  if (!REGISTRY.test(registry))
    return {
      refused: `--to must be a registry such as registry.example.com/platform, in lower case and without a scheme, not "${registry}".`,
    };
  return { image: `${registry}/davit`, chart: `${registry}/charts/davit`, chartFolder: `oci://${registry}/charts` };
}

/** The section of a version, without its heading. Undefined where CHANGELOG has none. */
export function changesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf('\n') + 1).trim();
}

/** An image by name and digest. */
export interface Pinned {
  /** With its tag: docker.io/valkey/valkey:8.1.10-trixie. */
  readonly name: string;
  readonly digest: string;
}

/** Values of a chart whose images are the platform's: every one that it can name. */
export function namedImages(values: string): string[] {
  const document = parseDocument(values);
  const paths = [
    ['settings', 'images', 'postgres'],
    ['settings', 'images', 'cloudNativePg'],
    ['settings', 'images', 'redis'],
    ['registry', 'image'],
  ];
  return paths.map((path) => {
    const found = document.getIn(path);
    if (typeof found !== 'string') throw new Error(`values.yaml names no image in ${path.join('.')}`);
    return found;
  });
}

/** values.yaml of a released chart: Davit's image and those of the platform by digest. As text, because a YAML library moves comments. */
export function releasedValues(values: string, image: Pinned, others: readonly Pinned[]): string {
  const digests = others.map(({ name, digest }) => `\n  ${name}: ${digest}`).join('');
  return [
    ['\n  repository: davit\n', `\n  repository: ${image.name}\n`],
    ['\n  digest: ""\n', `\n  digest: ${image.digest}\n`],
    ['\nimageDigests: {}\n', `\nimageDigests:${digests}\n`],
  ].reduce((text, [from = '', to = '']) => {
    if (text.split(from).length !== 2) throw new Error(`values.yaml must have this once: ${from.trim()}`);
    return text.replace(from, () => to);
  }, values);
}

export function releasedChart(chart: string, version: string): string {
  const document = parseDocument(chart);
  document.set('version', version);
  document.set('appVersion', version);
  return document.toString({ lineWidth: 0 });
}

/** One line an image, as tools that copy images read it. */
export function imageList(images: readonly Pinned[]): string {
  return `${images
    .map(({ name, digest }) => `${name}@${digest}`)
    .toSorted()
    .join('\n')}\n`;
}

/** The name of an image in a registry that mirrors others, by the rule of the chart's `global.imageRegistry`. */
export function mirrored(name: string, mirror: string | undefined): string {
  if (mirror === undefined) return name;
  const [first = '', ...rest] = name.split('/');
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return `${mirror}/${hasHost ? rest.join('/') : name}`;
}

export interface Origin {
  /** URL of the repository; undefined where this clone has none. */
  readonly source: string | undefined;
  readonly commit: string;
  /** Seconds since 1970 of the commit: the time of everything in the release. */
  readonly epoch: number;
}

export interface Materials extends Origin {
  readonly version: string;
  readonly platforms: readonly string[];
  readonly bases: readonly Pinned[];
  /** SHA-256 of package-lock.json, in hexadecimal. */
  readonly lockfile: string;
  /** URI of what built it. */
  readonly builder: string;
}

/** The predicate of an attestation. Source: SLSA 1.0, "Provenance". */
export function provenanceOf({
  source = 'urn:davit:local-clone',
  commit,
  version,
  platforms,
  bases,
  lockfile,
  builder,
}: Materials): object {
  return {
    buildDefinition: {
      buildType: 'urn:davit:release:v1',
      externalParameters: { version, platforms, dockerfile: 'Dockerfile' },
      resolvedDependencies: [
        { uri: `git+${source}`, digest: { gitCommit: commit } },
        { uri: 'file:package-lock.json', digest: { sha256: lockfile } },
        ...bases.map(({ name, digest }) => ({
          uri: `docker://${name}`,
          digest: { sha256: digest.replace(/^sha256:/, '') },
        })),
      ],
    },
    runDetails: { builder: { id: builder } },
  };
}

/** package.json of the package with the plugin: one file, which needs no other package. */
export function pluginManifest(version: string, source: string | undefined): object {
  return {
    name: 'davit',
    version,
    description: 'kubectl davit: deploys, shows and manages deployments of Davit',
    license: 'Apache-2.0',
    type: 'module',
    ...(source !== undefined && { repository: { type: 'git', url: `git+${source}` } }),
    bin: { davit: 'kubectl-davit', 'kubectl-davit': 'kubectl-davit' },
    engines: { node: '>=24' },
  };
}

/** Manifest of a plugin for krew. Source: krew, "Writing Plugin Manifests". On Windows krew needs an .exe, so npm is the way there. */
export function krewManifest(version: string, uri: string, sha256: string): string {
  const selector = { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] };
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'davit' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Deploy and manage applications with Davit',
      description:
        'Deploys, shows and manages deployments of Davit, an open operator that adds a deployment service to a cluster.',
      caveats: 'Needs Node.js 24 or newer on the PATH.',
      platforms: [{ selector, uri, sha256, bin: 'kubectl-davit' }],
    },
  });
}

export interface Published extends Names {
  readonly version: string;
  readonly imageDigest: string;
  readonly chartDigest: string;
  /** Arguments of `cosign verify` that name the signer. */
  readonly signer: string;
}

/** How to install and to verify this release; then what it brings. */
export function releaseNotes(
  { version, image, imageDigest, chart, chartDigest, signer }: Published,
  changes: string,
): string {
  return `# Davit ${version}

Verify the image and the chart, then install them:

\`\`\`sh
cosign verify ${signer} ${image}@${imageDigest}
cosign verify ${signer} ${chart}@${chartDigest}
helm install davit oci://${chart} --version ${version} --namespace davit-system --create-namespace --wait
\`\`\`

The chart names every image by digest; \`images.txt\` lists them for a mirror. \`checksums.txt\` has the SHA-256 of each file, and
\`checksums.txt.sig\` its signature.

## Changes

${changes}
`;
}
