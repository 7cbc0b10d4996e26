// One JSON object a line on stdout: a fixed message, and fields beside it.
export type Log = (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void;

export function makeLog(common: object): Log {
  return (level, message, fields = {}) => {
    process.stdout.write(
      `${JSON.stringify({ time: new Date().toISOString(), level, message, ...common, ...fields })}\n`,
    );
  };
}

/** The message, and those of its causes; connection errors of several addresses carry theirs in `errors`. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return error.errors.map(errorText).join('; ');
  const cause = error.cause === undefined ? '' : `: ${errorText(error.cause)}`;
  return `${error.message || error.name}${cause}`;
}
