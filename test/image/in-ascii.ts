// A bundle in ASCII: V8 keeps the text of a file in two bytes a character if one of them is beyond Latin-1, which cost the API 7 MiB.

import type { Plugin } from 'rolldown';

/** Writes characters beyond ASCII as escapes, which strings, templates, regular expressions and names may have. */
export const inAscii: Plugin = {
  name: 'in-ascii',
  generateBundle(_options, bundle) {
    for (const part of Object.values(bundle)) {
      if (part.type !== 'chunk') continue;
      const [escaped] = /\\[^\0-\x7f].*/.exec(part.code) ?? [];
      if (escaped !== undefined) throw new Error(`${part.fileName}: after a backslash, write an escape: ${escaped}`);
      part.code = part.code.replaceAll(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }
  },
};
