// A tar archive (POSIX.1-2001, "pax") in which nothing depends on when and by whom it is made, without the contents. Pure.

const BLOCK = 512;
/** Largest size that the 11 octal digits of a header hold. */
const LARGEST_IN_HEADER = 0o77777777777;

/** Time of all entries, in seconds since 1970. Zip archives, which wheels are, hold no time before 1980. */
const TIME = 499162500;

export interface TarEntry {
  /** Relative, with slashes. */
  readonly path: string;
  readonly isExecutable: boolean;
  /** Bytes. */
  readonly size: number;
  /** Target of a symbolic link, whose size is 0. */
  readonly link?: string;
}

/** The header of an entry; its content follows, then `padding` of its size. */
export function header(entry: TarEntry): Uint8Array<ArrayBuffer> {
  const records = [
    ...(fits(entry.path) ? [] : [paxRecord('path', entry.path)]),
    ...(entry.link === undefined || fits(entry.link) ? [] : [paxRecord('linkpath', entry.link)]),
    ...(entry.size <= LARGEST_IN_HEADER ? [] : [paxRecord('size', String(entry.size))]),
  ];
  const own = block(entry, entry.link === undefined ? '0' : '2');
  if (records.length === 0) return own;
  const extended = joined(records);
  const before = block({ path: 'pax', isExecutable: false, size: extended.length }, 'x');
  return joined([before, extended, padding(extended.length), own]);
}

/** What fills up the last block of a content. */
export function padding(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** The end of an archive. */
export const END = new Uint8Array(2 * BLOCK);

function fits(text: string): boolean {
  return /^[\x20-\x7e]{1,100}$/.test(text);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** `LENGTH KEY=VALUE\n`, where LENGTH counts its own digits too. */
function paxRecord(key: string, value: string): Uint8Array {
  const rest = new TextEncoder().encode(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length += 1;
  return joined([new TextEncoder().encode(String(length)), rest]);
}

function block({ path, isExecutable, size, link = '' }: TarEntry, type: '0' | '2' | 'x'): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BLOCK);
  const write = (text: string, at: number, most = BLOCK): void => {
    new TextEncoder().encodeInto(text, bytes.subarray(at, at + most));
  };
  const octal = (value: number, at: number, digits: number): void => write(value.toString(8).padStart(digits, '0'), at);
  write(path, 0, 100);
  octal(isExecutable ? 0o755 : 0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size <= LARGEST_IN_HEADER ? size : 0, 124, 11);
  octal(TIME, 136, 11);
  write('        ', 148);
  write(type, 156);
  write(link, 157, 100);
  write('ustar\u000000', 257);
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  write('\u0000 ', 154);
  return bytes;
}
