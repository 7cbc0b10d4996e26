// The level of a line: what loggers of many languages write, as text and as JSON. Pure.

import { asObject, jsonOf } from '../lib/json-value.ts';
import type { Level } from './payloads.ts';

/** What a line says. */
export interface Said {
  /** Without the escape sequences of terminals. */
  readonly message: string;
  readonly level: Level | null;
}

const WORDS: Readonly<Record<string, Level>> = {
  TRACE: 'DEBUG',
  DEBUG: 'DEBUG',
  INFO: 'INFO',
  NOTICE: 'INFO',
  LOG: 'INFO',
  WARN: 'WARNING',
  WARNING: 'WARNING',
  ERROR: 'ERROR',
  ERR: 'ERROR',
  CRITICAL: 'CRITICAL',
  FATAL: 'CRITICAL',
  PANIC: 'CRITICAL',
};
const UPPER = Object.keys(WORDS).join('|');
const EITHER = `${UPPER}|${UPPER.toLowerCase()}|${Object.keys(WORDS)
  .map((word) => `${word.charAt(0)}${word.slice(1).toLowerCase()}`)
  .join('|')}`;

/** In prose a lower-case word is no level: it counts as a field, in brackets, and at the start of a line. */
const NAMED = new RegExp(
  [
    String.raw`\b(?:level|lvl|severity)="?(?<field>${EITHER})\b`,
    String.raw`\[ *(?<bracketed>${EITHER}) *\]`,
    String.raw`^(?<first>${EITHER}) ?:`,
    String.raw`^(?:\d{4}[/-]\d\d[/-]\d\d[ T])?\d\d:\d\d:\d\d\S* +(?<timed>${EITHER})\b`,
    String.raw`\b(?<capitals>${UPPER})\b`,
  ].join('|'),
);
/** Where loggers write it. */
const HEAD = 200;
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?)/g;

/** The numbers of pino and bunyan. */
function levelOfNumber(level: number): Level {
  if (level >= 60) return 'CRITICAL';
  if (level >= 50) return 'ERROR';
  if (level >= 40) return 'WARNING';
  return level >= 30 ? 'INFO' : 'DEBUG';
}

/** The level that a single line names. null if it names none. */
export function levelOf(message: string): Level | null {
  if (message.startsWith('{')) {
    const { level, severity, levelname } = asObject(jsonOf(message));
    const named = level ?? severity ?? levelname;
    if (typeof named === 'number') return levelOfNumber(named);
    if (typeof named === 'string') return WORDS[named.toUpperCase()] ?? null;
  }
  const [word] = Object.values(NAMED.exec(message.slice(0, HEAD))?.groups ?? {}).filter((one) => one !== undefined);
  return WORDS[word?.toUpperCase() ?? ''] ?? null;
}

const TRACEBACK = 'Traceback (most recent call last)';
/** A frame, where reading begins within a traceback. */
const FRAME = /^ +File "[^"]*", line \d+/;
/** Frames, their code, and the boxes and margins that some draw. The first line that has none is the error itself. */
const WITHIN = /^[\s|+│╰]/;

/** Takes the lines of one container in their order: all lines of a traceback are errors. */
export function makeLeveller(): (line: Buffer) => () => Said {
  let isWithin = false;
  return (line) => {
    const head = line.subarray(0, HEAD);
    const isFrame = head[0] === 0x20 && FRAME.test(head.toString('latin1'));
    const isInside = isFrame || (isWithin && WITHIN.test(head.toString('utf8')));
    const isEdge = isWithin || head.includes(TRACEBACK);
    isWithin = isInside || head.includes(TRACEBACK);
    return () => {
      const message = line.toString('utf8').replace(/\r$/, '').replaceAll(ESCAPES, '');
      if (isInside) return { message, level: 'ERROR' };
      return { message, level: levelOf(message) ?? (isEdge ? 'ERROR' : null) };
    };
  };
}
