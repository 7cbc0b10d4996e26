// The Job of one build as the tests start it by hand: fetch a commit, build its Dockerfile, push, leave the digest behind.

import type { Registry } from './registry.ts';

export const kinds = ['rootless', 'userNamespace'] as const;
/** How a builder gets the rights that it needs: as an unprivileged user, or as root of the pod's own user namespace. */
export type BuilderKind = (typeof kinds)[number];

export interface Build {
  readonly name: string;
  readonly kind: BuilderKind;
  readonly image: string;
  readonly source: { readonly url: string; readonly commit: string; readonly tokenSecret: string };
  /** Repository without a tag. */
  readonly target: string;
  /** With the registry's credential. */
  readonly pushSecret: string;
  readonly buildArgs: Readonly<Record<string, string>>;
}

/** Pods find it as `trust`: the authority of registry and code hosts, and BuildKit's settings. */
export function trustObject(registry: Registry): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'trust' },
    data: { 'ca.crt': registry.ca, 'buildkitd.toml': `[registry."${registry.host}"]\n  ca = ["/trust/ca.crt"]\n` },
  };
}

const fetch = `
printf '#!/bin/sh\\ncase "$1" in Username*) echo token;; *) cat /git/token;; esac\\n' > /tmp/askpass
chmod 700 /tmp/askpass
git init -q /workspace/source
cd /workspace/source
git fetch -q --depth 1 --no-tags "$URL" "$COMMIT"
git -c advice.detachedHead=false checkout -q FETCH_HEAD
git rev-parse HEAD > /dev/termination-log
rm -rf .git
`;

// bash as the first process ignores SIGTERM unless it says otherwise.
const build = `
trap 'kill $!; exit 143' TERM
cat /proc/self/uid_map
buildctl-daemonless.sh build "$@" &
wait $! || exit
sed -n 's/.*"containerimage.digest": "\\(.*\\)".*/\\1/p' /tmp/metadata.json > /dev/termination-log
`;

export function buildJob({ name, kind, image, source, target, pushSecret, buildArgs }: Build, host: string): object {
  const rootless = kind === 'rootless';
  const flags = [
    '--config=/trust/buildkitd.toml',
    '--root=/var/lib/buildkit',
    '--containerd-worker=false',
    rootless ? '--oci-worker-no-process-sandbox' : '--oci-worker-binary=/usr/local/bin/runc-in-user-namespace',
  ];
  const cache = `type=registry,ref=${target}:cache`;
  const args = [
    '--progress=plain',
    '--frontend=dockerfile.v0',
    // Otherwise a line `# syntax=` in the Dockerfile would have a frontend pulled from wherever it says, and run.
    '--opt=cmdline=dockerfile.v0',
    '--local=context=/workspace/source',
    '--local=dockerfile=/workspace/source',
    ...Object.entries(buildArgs).map(([key, value]) => `--opt=build-arg:${key}=${value}`),
    '--metadata-file=/tmp/metadata.json',
    `--registry-auth-tlscontext=host=${host},ca=/trust/ca.crt`,
    `--output=type=image,name=${target}:latest,push=true`,
    `--export-cache=${cache},mode=max,image-manifest=true,oci-mediatypes=true`,
    `--import-cache=${cache}`,
  ];
  const folders = {
    state: '/var/lib/buildkit',
    run: rootless ? '/run/user/1000' : '/run/buildkit',
    temporary: '/tmp',
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: 300,
      template: {
        metadata: { labels: { build: name } },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(rootless ? {} : { hostUsers: false }),
          securityContext: { fsGroup: 1000 },
          initContainers: [
            {
              name: 'fetch',
              image,
              command: ['/bin/bash', '-ec', fetch],
              env: Object.entries({
                URL: source.url,
                COMMIT: source.commit,
                HOME: '/tmp',
                GIT_ASKPASS: '/tmp/askpass',
                GIT_TERMINAL_PROMPT: '0',
                GIT_CONFIG_NOSYSTEM: '1',
                GIT_ALLOW_PROTOCOL: 'https',
                GIT_SSL_CAINFO: '/trust/ca.crt',
              }).map(([key, value]) => ({ name: key, value })),
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: {
                runAsNonRoot: true,
                runAsUser: 1000,
                runAsGroup: 1000,
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
                seccompProfile: { type: 'RuntimeDefault' },
              },
              volumeMounts: [
                { name: 'workspace', mountPath: '/workspace' },
                { name: 'trust', mountPath: '/trust' },
                { name: 'git', mountPath: '/git' },
                { name: 'fetch-temporary', mountPath: '/tmp' },
              ],
            },
          ],
          containers: [
            {
              name: 'build',
              image,
              command: ['/bin/bash', '-c', build, 'build', ...args],
              env: Object.entries({
                BUILDKITD_FLAGS: flags.join(' '),
                DOCKER_CONFIG: '/push',
                BUILDCTL_CONNECT_RETRIES_MAX: '50',
              }).map(([key, value]) => ({ name: key, value })),
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: rootless
                ? {
                    runAsNonRoot: true,
                    runAsUser: 1000,
                    runAsGroup: 1000,
                    capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID'] },
                    seccompProfile: { type: 'Unconfined' },
                    appArmorProfile: { type: 'Unconfined' },
                  }
                : {
                    runAsUser: 0,
                    runAsGroup: 0,
                    capabilities: { add: ['SYS_ADMIN'] },
                    procMount: 'Unmasked',
                    seccompProfile: { type: 'RuntimeDefault' },
                  },
              volumeMounts: [
                { name: 'workspace', mountPath: '/workspace', readOnly: true },
                { name: 'trust', mountPath: '/trust' },
                { name: 'push', mountPath: '/push' },
                ...Object.entries(folders).map(([volume, mountPath]) => ({ name: volume, mountPath })),
              ],
            },
          ],
          volumes: [
            { name: 'trust', configMap: { name: 'trust' } },
            { name: 'git', secret: { secretName: source.tokenSecret } },
            {
              name: 'push',
              secret: { secretName: pushSecret, items: [{ key: '.dockerconfigjson', path: 'config.json' }] },
            },
            ...['workspace', 'fetch-temporary', ...Object.keys(folders)].map((volume) => ({
              name: volume,
              emptyDir: {},
            })),
          ],
        },
      },
    },
  };
}
