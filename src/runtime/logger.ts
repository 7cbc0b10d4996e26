// pino, set up once: one line an event, a fixed message and fields. Never a token, never a secret's value.

import { type Logger, pino } from 'pino';

export type { Logger };

export function makeLogger(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        'token',
        '*.token',
        'headers.authorization',
        'headers["x-api-key"]',
        'req.headers.authorization',
        'req.headers["x-api-key"]',
        '*.value',
      ],
      censor: '[redacted]',
    },
  });
}
