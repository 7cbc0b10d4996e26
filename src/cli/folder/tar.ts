// A tar archive (POSIX.1-2001, "pax") in which nothing depends on when and by whom it is made. Pure, but for the contents that pass through.

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
export function header(entry: TarEntry): Buffer {
  const records = [
    ...(fits(entry.path) ? [] : [paxRecord('path', entry.path)]),
    ...(entry.link === undefined || fits(entry.link) ? [] : [paxRecord('linkpath', entry.link)]),
    ...(entry.size <= LARGEST_IN_HEADER ? [] : [paxRecord('size', String(entry.size))]),
  ];
  const own = block(entry, entry.link === undefined ? '0' : '2');
  if (records.length === 0) return own;
  const extended = Buffer.concat(records);
  const before = block({ path: 'pax', isExecutable: false, size: extended.length }, 'x');
  return Buffer.concat([before, extended, padding(extended.length), own]);
}

/** What fills up the last block of a content. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** The end of an archive. */
export const END = Buffer.alloc(2 * BLOCK);

function fits(text: string): boolean {
  return /^[\x20-\x7e]{1,100}$/.test(text);
}

/** `LENGTH KEY=VALUE\n`, where LENGTH counts its own digits too. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length += 1;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function block({ path, isExecutable, size, link = '' }: TarEntry, type: '0' | '2' | 'x'): Buffer {
  const bytes = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void => {
    bytes.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  };
  bytes.write(path.slice(0, 100), 0, 100, 'utf8');
  octal(isExecutable ? 0o755 : 0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size <= LARGEST_IN_HEADER ? size : 0, 124, 11);
  octal(TIME, 136, 11);
  bytes.write('        ', 148, 'latin1');
  bytes.write(type, 156, 'latin1');
  bytes.write(link.slice(0, 100), 157, 100, 'utf8');
  bytes.write('ustar\u000000', 257, 'latin1');
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  bytes.write('\u0000 ', 154, 'latin1');
  return bytes;
}
