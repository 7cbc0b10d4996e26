// Where the API server has the log of a container.

export interface ContainerLog {
  readonly pod: string;
  readonly container: string;
  /** The log before its last restart. */
  readonly previous: boolean;
}

/** `query`: further parameters. Each line begins with its time. */
export function logPath(
  namespace: string,
  { pod, container, previous }: ContainerLog,
  query: Readonly<Partial<Record<'limitBytes' | 'sinceTime' | 'tailLines', string>>>,
): string {
  const all = new URLSearchParams({ container, timestamps: 'true', ...(previous && { previous: 'true' }), ...query });
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${all.toString()}`;
}
