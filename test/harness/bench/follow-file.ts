// The lines that another process adds to a file.

import { closeSync, openSync, readSync } from 'node:fs';

const LOOKS_EVERY_MS = 2;

export interface Following {
  /** Tells what has been added up to now, and no more. A second time nothing happens. */
  end(): void;
}

/** Tells each whole line that stands, or comes, after byte `from`, a few milliseconds after it was written. */
export function followFile(path: string, from: number, onLine: (line: string) => void): Following {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(64 * 1024);
  let at = from;
  let rest: Buffer = Buffer.alloc(0);
  let isOver = false;

  function look(): void {
    for (let size = next(); size > 0; size = next()) {
      at += size;
      rest = Buffer.concat([rest, chunk.subarray(0, size)]);
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.toString('utf8', 0, end);
        rest = rest.subarray(end + 1);
        onLine(line);
      }
    }
  }

  function next(): number {
    return isOver ? 0 : readSync(file, chunk, 0, chunk.length, at);
  }

  const timer = setInterval(look, LOOKS_EVERY_MS);
  return {
    end() {
      if (isOver) return;
      look();
      isOver = true;
      clearInterval(timer);
      closeSync(file);
    },
  };
}
