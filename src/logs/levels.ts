// The level of a line: what loggers of many languages write, as text and as JSON. Pure.

import { withoutEscapes } from '../kinds/text.ts';
import { asObject, jsonOf } from '../runtime/json-value.ts';
import type { Level } from './payloads.ts';

/** What a line says. */
export interface Said {
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
const WORD = 'trace|debug|info|notice|log|warn|warning|error|err|critical|fatal|panic';

/** In prose a lower-case word is no level: it counts as a field, in brackets, and at the start of a line. */
const NAMED = [
  new RegExp(String.raw`\b(?:level|lvl|severity)="?(${WORD})\b`, 'i'),
  new RegExp(String.raw`\[ *(${WORD}) *\]`, 'i'),
  new RegExp(String.raw`^(${WORD}) ?:`, 'i'),
  /^(?:\d{4}[/-]\d\d[/-]\d\d[ T])?\d\d:\d\d:\d\d[\d.,:Z+-]* ([A-Za-z]+)\b/,
  /\b(TRACE|DEBUG|INFO|NOTICE|LOG|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|PANIC)\b/,
];
/** Where loggers write it. */
const HEAD = 200;

/** The numbers of pino and bunyan. */
function levelOfNumber(level: number): Level {
  if (level >= 60) return 'CRITICAL';
  if (level >= 50) return 'ERROR';
  if (level >= 40) return 'WARNING';
  return level >= 30 ? 'INFO' : 'DEBUG';
}

function wordOf([, word = '']: readonly string[]): string {
  return word.toUpperCase();
}

/** The level that a single line names. null if it names none. */
export function levelOf(message: string): Level | null {
  if (message.startsWith('{')) {
    const { level, severity, levelname } = asObject(jsonOf(message));
    const named = level ?? severity ?? levelname;
    if (typeof named === 'number') return levelOfNumber(named);
    if (typeof named === 'string') return WORDS[named.toUpperCase()] ?? null;
  }
  const head = message.slice(0, HEAD);
  const [first] = NAMED.map((one) => one.exec(head))
    .filter((match) => match !== null && wordOf(match) in WORDS)
    .toSorted((a, b) => (a?.index ?? 0) - (b?.index ?? 0));
  return first ? (WORDS[wordOf(first)] ?? null) : null;
}

const TRACEBACK = 'Traceback (most recent call last)';
/** A frame, where reading begins within a traceback. */
const FRAME = /^ +File "[^"]*", line \d+/;
/** Frames, their code, and the boxes and margins that some draw. The first line that has none is the error itself. */
const WITHIN = /^[\s|+│╰]/;

/**
 * Takes the lines of one container in their order: all lines of a traceback are errors. `keepsEscapes`: messages keep the escape sequences
 * of terminals.
 */
export function makeLeveller(keepsEscapes = false): (line: Buffer) => () => Said {
  let isWithin = false;
  return (line) => {
    const head = line.subarray(0, HEAD);
    const isFrame = head[0] === 0x20 && FRAME.test(head.toString('latin1'));
    const isInside = isFrame || (isWithin && WITHIN.test(head.toString('utf8')));
    const isEdge = isWithin || head.includes(TRACEBACK);
    isWithin = isInside || head.includes(TRACEBACK);
    return () => {
      const text = line.toString('utf8').replace(/\r$/, '');
      const plain = withoutEscapes(text);
      const message = keepsEscapes ? text : plain;
      if (isInside) return { message, level: 'ERROR' };
      return { message, level: levelOf(plain) ?? (isEdge ? 'ERROR' : null) };
    };
  };
}
