// How a command ends, the same for all. docs/plugin.md has the table.

/** Each code with what it means there and in the help. */
export const EXIT_CODES = {
  done: { code: 0, short: 'done' },
  failed: { code: 1, short: 'failed or refused' },
  misused: { code: 2, short: 'wrong use' },
  undecided: { code: 124, short: 'timed out' },
  interrupted: { code: 130, short: 'Ctrl-C' },
  unread: { code: 141, short: 'the reader of the output has closed it' },
} as const;
