// The terminal of the person who calls.

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Failure, Interrupted } from '../transport/kubectl.ts';
import type { Terminal } from './command.ts';

/** Questions go to standard error, so that the output of a command can be redirected. */
export function makeTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  return {
    isInteractive: Boolean(stdin.isTTY && stderr.isTTY),
    isTyped: Boolean(stdin.isTTY),
    isShown: Boolean(stdout.isTTY),
    async ask(question, hidden = false) {
      // readline writes what is typed to its output: nowhere if it is hidden.
      if (hidden) stderr.write(question);
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({ input: stdin, output: hidden ? nowhere : stderr, terminal: true });
      try {
        return await new Promise<string>((resolve, reject) => {
          lines.once('SIGINT', () => reject(new Interrupted('Interrupted: nothing was changed.')));
          lines.once('close', () => reject(new Failure('The input has ended: nothing was changed.')));
          lines.question(hidden ? '' : question).then(resolve, reject);
        });
      } finally {
        lines.close();
        if (hidden) stderr.write('\n');
      }
    },
    input: () => buffer(stdin),
  };
}
