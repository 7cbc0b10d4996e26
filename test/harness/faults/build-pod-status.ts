// What a kubelet says of a pod that builds, and in what words its containers end. Pure.

export interface BuildOutcome {
  readonly exitCode: number;
  /** Termination message. */
  readonly message: string;
}

/** The files of the two Secrets of a build. */
export interface Credentials {
  readonly source: Readonly<Record<string, string>>;
  readonly push: Readonly<Record<string, string>>;
}

interface Shown {
  readonly spec: {
    readonly initContainers: readonly { readonly name: string; readonly image: string }[];
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
}

const failed = (message: string): BuildOutcome => ({ exitCode: 1, message });
const done = (message: string): BuildOutcome => ({ exitCode: 0, message });

/** As src/build/job/scripts.ts and BuildKit say it. A status of 0 stands for no answer. */
export const endOf = {
  fetch(status: number, url: string, commit: string): BuildOutcome {
    if (status === 200) return done(commit);
    if (status === 401) return failed(`CodeHostRefused: The code host refuses the credentials for ${url}.`);
    return failed(`FetchFailed: fatal: unable to access '${url}': the answer was ${status}`);
  },
  upload(status: number): BuildOutcome {
    return status === 200 ? done('') : failed(`FetchFailed: The registry answered ${status}.`);
  },
  plan: (): BuildOutcome => failed('ConfigurationMissing: The file Dockerfile is not in the source.'),
  step: (): BuildOutcome =>
    failed(
      '   3 | >>> RUN exit 7\nerror: failed to solve: process "/bin/sh -c exit 7" did not complete successfully: exit code: 7',
    ),
  push(status: number, target: string): BuildOutcome {
    return failed(`error: failed to solve: failed to push ${target}: unexpected status from PUT request: ${status}`);
  },
};

/**
 * The whole status, given how the first containers have ended, in the order in which they run; the one after them runs. An
 * ended container stays ended.
 */
export function statusOf({ spec }: Shown, outcomes: readonly BuildOutcome[]): Record<string, unknown> {
  const all = [...spec.initContainers, ...spec.containers];
  const hasFailed = outcomes.some(({ exitCode }) => exitCode !== 0);
  const isOver = hasFailed || outcomes.length === all.length;
  const time = new Date().toISOString();
  const statuses = all.map(({ name, image }, index) => {
    const outcome = outcomes[index];
    const isRunning = !isOver && index === outcomes.length;
    const isInit = index < spec.initContainers.length;
    const state = outcome
      ? {
          terminated: {
            ...outcome,
            reason: outcome.exitCode === 0 ? 'Completed' : 'Error',
            startedAt: time,
            finishedAt: time,
            containerID: `played://${name}`,
          },
        }
      : isRunning
        ? { running: { startedAt: time } }
        : { waiting: { reason: 'PodInitializing' } };
    return {
      name,
      image,
      imageID: '',
      restartCount: 0,
      ready: outcome !== undefined && isInit && outcome.exitCode === 0,
      started: isRunning,
      state,
    };
  });
  return {
    phase: hasFailed
      ? 'Failed'
      : isOver
        ? 'Succeeded'
        : outcomes.length < spec.initContainers.length
          ? 'Pending'
          : 'Running',
    startTime: time,
    initContainerStatuses: statuses.slice(0, spec.initContainers.length),
    containerStatuses: statuses.slice(spec.initContainers.length),
  };
}
