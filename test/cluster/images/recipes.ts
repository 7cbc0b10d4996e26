// What goes into each image: Debian packages, files of ours, and how a runtime is to start it.
import { chmod, copyFile, cp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findProgram } from '../machine.ts';
import { ensureTools } from '../tools.ts';
import type { DebianPackage } from './debian.ts';
import { productionPackages } from './npm-packages.ts';
import type { RunConfig } from './oci.ts';
import type { Owner } from './tar.ts';

/** What the nodes of the test cluster run. */
export const nodeImageNames = ['postgres', 'redis', 'sample', 'pause'] as const;
/** What the Dockerfile builds with and runs on, where its own bases cannot be pulled. */
export const baseImageNames = ['build-base', 'run-base'] as const;
/** What a build starts from, and the registry that it is pushed to. */
export const buildImageNames = ['python', 'node', 'registry'] as const;
export const imageNames = [...nodeImageNames, ...baseImageNames, ...buildImageNames] as const;
export type NodeImageName = (typeof nodeImageNames)[number];
export type BaseImageName = (typeof baseImageNames)[number];
export type BuildImageName = (typeof buildImageNames)[number];
export type ImageName = (typeof imageNames)[number];

export interface Recipe {
  /** On top of `basePackages` where `onBase`. */
  readonly packages: readonly string[];
  readonly onBase: boolean;
  readonly ownerOf: (path: string) => Owner;
  /** Adds what packages don't bring, and answers with the tag and the configuration. */
  finish(root: string, packages: readonly DebianPackage[]): Promise<{ tag: string; config: RunConfig }>;
}

export const repositoryRoot = join(import.meta.dirname, '../../..');
export const sampleFolder = join(repositoryRoot, 'test/suites/e2e/sample');
const nodePackage = join(repositoryRoot, `node_modules/node-linux-${process.arch}`);

/** One layer that the images share: a shell with its usual tools, and the C and C++ libraries. */
export const basePackages = [
  'base-files',
  'bash',
  'coreutils',
  'dash',
  'findutils',
  'grep',
  'gzip',
  'hostname',
  'libc-bin',
  'libstdc++6',
  'mawk',
  'sed',
];

/** Dependencies that only installing or administrating asks for, and the compiler behind PostgreSQL's JIT (120 MB). */
export const unwantedPackages = new RegExp(
  `^(?:${[
    'adduser|debconf|debianutils|dpkg|init-system-helpers|lsb-base|netbase|passwd|sysvinit-utils|tar|ucf|usrmerge|usr-is-merged',
    'libaudit-common|libpam-(?:modules|runtime).*|libsemanage.*|libsepol.*|sensible-utils|util-linux.*|libmount1|libblkid1',
    'libsmartcols1|libudev1|libproc2.*|procps',
    'perl.*|libperl.*|lib.*-perl|libgdbm.*|libdb5.*|libsasl2-modules.*|openssl|ssl-cert',
    'libllvm.*|libz3.*|libffi.*-dev|postgresql|postgresql-(?:client-)?common|locales.*|libc-l10n|readline-common',
  ].join('|')})$`,
);

export const leftOutFiles = [
  'etc/cron*',
  'etc/init.d',
  'etc/logrotate.d',
  'etc/pam.d',
  'etc/systemd',
  'lib/systemd',
  'lib/udev',
  'usr/lib/systemd',
  'usr/lib/udev',
  'usr/lib/tmpfiles.d',
  'usr/lib/*/gconv',
  'usr/lib/postgresql/*/lib/bitcode',
  'usr/lib/postgresql/*/lib/llvmjit*',
  'usr/share/bash-completion',
  'usr/share/bug',
  'usr/share/doc',
  'usr/share/doc-base',
  'usr/share/gcc*',
  'usr/share/gdb',
  'usr/share/i18n',
  'usr/share/info',
  'usr/share/lintian',
  'usr/share/locale',
  'usr/share/man',
  'usr/share/postgresql/*/man',
  'usr/share/zoneinfo/posix',
  'usr/share/zoneinfo/right',
  'var/cache',
  'var/lock',
  // A link to /run, made with the base.
  'var/run',
];

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const root: Owner = { uid: 0, gid: 0 };
const service: Owner = { uid: 999, gid: 999 };

export async function finishBase(folder: string): Promise<void> {
  for (const path of ['dev', 'etc', 'home', 'proc', 'run', 'sys', 'usr/local/bin', 'var/lib']) {
    await mkdir(join(folder, path), { recursive: true });
  }
  await folderWithMode(join(folder, 'tmp'), 0o1777);
  await folderWithMode(join(folder, 'var/tmp'), 0o1777);
  await folderWithMode(join(folder, 'root'), 0o700);
  await symlink('/run', join(folder, 'var/run'));
  // What maintainer scripts would have chosen.
  await symlink('mawk', join(folder, 'usr/bin/awk')).catch(ignoreExisting);
  await symlink('dash', join(folder, 'usr/bin/sh')).catch(ignoreExisting);
  await writeAccounts(folder, []);
  await writeFile(
    join(folder, 'etc/nsswitch.conf'),
    'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  );
}

/** Debian's packages have no RECORD, so pip cannot replace one by the version that an application needs: what setuptools uses is not listed. */
async function forgetPackages(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.endsWith('.dist-info') && !/^(pip|setuptools|wheel)-/.test(name))
      await rm(join(folder, name), { recursive: true });
}

/** As much of the official `python` and `node` images as a Dockerfile on them relies on: names of programs, and `pip install`. */
const bases: Readonly<Record<'python' | 'node', Recipe>> = {
  python: {
    packages: ['python3', 'python3-pip', 'python3-setuptools', 'ca-certificates'],
    onBase: true,
    ownerOf: () => root,
    async finish(folder, packages) {
      const version = packages.find((p) => p.name === 'python3')?.version ?? '';
      const minor = /^\d+\.\d+/.exec(version)?.[0] ?? '3';
      for (const name of ['python', 'pip']) {
        await symlink(`${name}3`, join(folder, 'usr/bin', name)).catch(ignoreExisting);
      }
      // Debian's Python wants to be managed by apt alone; an image's belongs to who builds on it.
      await rm(join(folder, `usr/lib/python${minor}/EXTERNALLY-MANAGED`), { force: true });
      await forgetPackages(join(folder, 'usr/lib/python3/dist-packages'));
      await trustPublicAuthorities(folder);
      return { tag: minor, config: { Env: [`PATH=${systemPath}`, 'LANG=C.UTF-8'], Cmd: ['python3'] } };
    },
  },

  node: {
    packages: ['ca-certificates'],
    onBase: true,
    ownerOf: () => root,
    async finish(folder) {
      await addNodeAndNpm(folder);
      await trustPublicAuthorities(folder);
      const tag = (await nodeVersion()).split('.')[0] ?? '';
      return { tag, config: { Env: [`PATH=${systemPath}`, 'LANG=C.UTF-8'], Cmd: ['node'] } };
    },
  },
};

export const recipes: Readonly<Record<ImageName, Recipe>> = {
  ...bases,

  registry: {
    packages: [],
    onBase: false,
    ownerOf: () => root,
    async finish(folder) {
      const { registry = '' } = await ensureTools(['registry'], () => undefined);
      await copyFile(join(registry, 'registry'), join(folder, 'usr/bin/registry'));
      await folderWithMode(join(folder, 'tmp'), 0o1777);
      // As the official image is started, but not as root.
      const config = {
        Env: ['PATH=/bin', 'OTEL_TRACES_EXPORTER=none'],
        User: '1000:1000',
        Entrypoint: ['registry'],
        Cmd: ['serve', '/etc/distribution/config.yml'],
      };
      return { tag: '3', config };
    },
  },

  postgres: {
    packages: ['postgresql', 'postgresql-17-pgvector', 'libnss-wrapper'],
    onBase: true,
    ownerOf: (path) => (/^(?:var\/lib|run)\/postgresql(?:\/|$)/.test(path) ? service : root),
    async finish(folder, packages) {
      const server = packages
        .map((p) => ({ ...p, major: /^postgresql-(\d+)$/.exec(p.name)?.[1] }))
        .find((p) => p.major);
      if (server?.major === undefined) throw new Error('the package postgresql brings no server');
      const { major, version } = server;
      await writeAccounts(folder, [`postgres:x:999:999:PostgreSQL:/var/lib/postgresql:/bin/bash`]);
      await folderWithMode(join(folder, 'var/lib/postgresql'), 0o755);
      await folderWithMode(join(folder, 'var/lib/postgresql/data'), 0o1777);
      await folderWithMode(join(folder, 'run/postgresql'), 0o1777);
      await folderWithMode(join(folder, 'docker-entrypoint-initdb.d'), 0o755);
      const sample = join(folder, `usr/share/postgresql/${major}/postgresql.conf.sample`);
      const settings = await readFile(sample, 'utf8');
      await writeFile(sample, settings.replace(/^#listen_addresses = 'localhost'/m, "listen_addresses = '*'"));
      await addEntrypoint(folder, 'postgres');
      return {
        tag: major,
        config: {
          Env: [
            `PATH=${systemPath}:/usr/lib/postgresql/${major}/bin`,
            'LANG=C.UTF-8',
            `PG_MAJOR=${major}`,
            `PG_VERSION=${version}`,
            'PGDATA=/var/lib/postgresql/data',
          ],
          Entrypoint: ['docker-entrypoint.sh'],
          Cmd: ['postgres'],
          Volumes: { '/var/lib/postgresql/data': {} },
          ExposedPorts: { '5432/tcp': {} },
          // SIGTERM would wait for every client to leave; SIGINT ends their sessions and stops cleanly.
          StopSignal: 'SIGINT',
        },
      };
    },
  },

  redis: {
    packages: ['valkey-server', 'valkey-tools'],
    onBase: true,
    ownerOf: (path) => (/^data(?:\/|$)/.test(path) ? service : root),
    async finish(folder, packages) {
      const version = packages.find((p) => p.name === 'valkey-server')?.version ?? '';
      const upstream = version.replace(/^\d+:/, '').replace(/\+.*/, '');
      await writeAccounts(folder, ['valkey:x:999:999:Valkey:/data:/usr/sbin/nologin']);
      await folderWithMode(join(folder, 'data'), 0o755);
      // As in the official image, which answers to the names of Redis too.
      await symlink('valkey-server', join(folder, 'usr/bin/redis-server'));
      await symlink('valkey-cli', join(folder, 'usr/bin/redis-cli'));
      await addEntrypoint(folder, 'redis');
      return {
        tag: upstream.split('.')[0] || '1',
        config: {
          Env: [`PATH=${systemPath}`, `VALKEY_VERSION=${upstream}`],
          Entrypoint: ['docker-entrypoint.sh'],
          Cmd: ['valkey-server'],
          WorkingDir: '/data',
          Volumes: { '/data': {} },
          ExposedPorts: { '6379/tcp': {} },
        },
      };
    },
  },

  sample: {
    packages: [],
    onBase: true,
    ownerOf: () => root,
    async finish(folder) {
      await addNode(folder, 'usr/local/bin/node');
      await writeAccounts(folder, ['node:x:1000:1000:Node.js:/home/node:/bin/bash']);
      const application = join(folder, 'app');
      await mkdir(application);
      for (const file of await sampleFiles()) {
        await copyFile(join(sampleFolder, file), join(application, file));
        await chmod(join(application, file), 0o644);
      }
      await writeFile(join(application, 'package.json'), '{"name":"davit-sample","private":true,"type":"module"}\n');
      const { copyInto } = await productionPackages(repositoryRoot, sampleDependencies);
      await copyInto(application);
      return {
        tag: '1',
        config: {
          Env: [`PATH=${systemPath}`, 'LANG=C.UTF-8', 'NODE_ENV=production', 'PORT=8000'],
          User: '1000:1000',
          Cmd: ['node', '/app/main.ts'],
          WorkingDir: '/app',
          ExposedPorts: { '8000/tcp': {} },
        },
      };
    },
  },

  pause: {
    packages: ['busybox-static'],
    onBase: false,
    ownerOf: () => root,
    async finish(folder) {
      await copyFile(join(import.meta.dirname, 'pause/pause'), join(folder, 'pause'));
      await chmod(join(folder, 'pause'), 0o755);
      return { tag: '1', config: { Env: ['PATH=/bin'], User: '65535:65535', Entrypoint: ['/pause'] } };
    },
  },

  'build-base': {
    packages: [],
    onBase: true,
    ownerOf: () => root,
    async finish(folder) {
      await addNodeAndNpm(folder);
      // It is never pushed: what this machine trusts, the build on it may trust.
      const trusted = process.env['NODE_EXTRA_CA_CERTS'];
      if (trusted !== undefined) {
        await mkdir(join(folder, 'etc/ssl/certs'), { recursive: true });
        await copyFile(trusted, join(folder, 'etc/ssl/certs/ca-certificates.crt'));
      }
      return {
        tag: '1',
        config: {
          Env: [
            `PATH=${systemPath}`,
            'LANG=C.UTF-8',
            ...(trusted === undefined ? [] : ['NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt']),
          ],
        },
      };
    },
  },

  // As the distroless images are: Node, the libraries it is linked to, and nothing that could be run besides.
  'run-base': {
    packages: ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'],
    onBase: false,
    ownerOf: () => root,
    async finish(folder) {
      await addNode(folder, 'nodejs/bin/node');
      await writeAccounts(folder, ['nonroot:x:65532:65532:nonroot:/:/sbin/nologin']);
      await folderWithMode(join(folder, 'tmp'), 0o1777);
      return { tag: '1', config: { Env: [`PATH=${systemPath}`], User: '65532:65532' } };
    },
  },
};

export const sampleDependencies = ['pg', 'redis'];

/** The sample's sources, its tests left out, in a stable order. */
export async function sampleFiles(): Promise<string[]> {
  const files = await readdir(sampleFolder);
  return files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts')).toSorted();
}

/** What the node binary is, without reading its 120 MB. */
export async function nodeVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(nodePackage, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}

async function addNode(folder: string, path: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await copyFile(join(nodePackage, 'bin/node'), join(folder, path));
  await chmod(join(folder, path), 0o755);
}

async function addNodeAndNpm(folder: string): Promise<void> {
  await addNode(folder, 'usr/local/bin/node');
  await writeAccounts(folder, ['node:x:1000:1000:Node.js:/home/node:/bin/bash']);
  const npm = join(folder, 'usr/local/lib/node_modules/npm');
  await cp(await npmFolder(), npm, { recursive: true, dereference: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'));
}

/** What the package's maintainer script would have put together. */
export async function trustPublicAuthorities(folder: string): Promise<void> {
  const from = join(folder, 'usr/share/ca-certificates/mozilla');
  const files = (await readdir(from)).toSorted();
  const certificates = await Promise.all(files.map((file) => readFile(join(from, file), 'utf8')));
  await mkdir(join(folder, 'etc/ssl/certs'), { recursive: true });
  await writeFile(join(folder, 'etc/ssl/certs/ca-certificates.crt'), certificates.join(''));
}

/** The npm of this machine: a script of many, which any Node runs. */
async function npmFolder(): Promise<string> {
  const program = findProgram('npm');
  if (program === undefined) throw new Error('npm is missing: the base that the Dockerfile builds with needs it');
  return dirname(dirname(await realpath(program)));
}

async function addEntrypoint(folder: string, name: 'postgres' | 'redis'): Promise<void> {
  await mkdir(join(folder, 'usr/local/bin'), { recursive: true });
  const entrypoint = join(folder, 'usr/local/bin/docker-entrypoint.sh');
  await copyFile(join(import.meta.dirname, name, 'docker-entrypoint.sh'), entrypoint);
  // A checkout may have lost the mode.
  await chmod(entrypoint, 0o755);
}

async function writeAccounts(folder: string, own: readonly string[]): Promise<void> {
  const accounts = [
    'root:x:0:0:root:/root:/bin/bash',
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    ...own,
  ];
  const groups = accounts.map((account) => {
    const [name, , , gid] = account.split(':');
    return `${name === 'nobody' ? 'nogroup' : name}:x:${gid}:`;
  });
  await mkdir(join(folder, 'etc'), { recursive: true });
  await writeFile(join(folder, 'etc/passwd'), `${accounts.join('\n')}\n`);
  await writeFile(join(folder, 'etc/group'), `${groups.join('\n')}\n`);
}

async function folderWithMode(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true });
  // Not by mkdir, whose mode is cut by the umask.
  await chmod(path, mode);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
