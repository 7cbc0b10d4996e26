// Lines about steps that may take minutes. While nothing new is said, the last line is repeated with its time, so that nobody takes a
// long step for one that hangs.

/** How long a step is silent. Longer than the 15 seconds after which a compilation repeats its line itself. */
const SILENT_MS = 20_000;

export interface StepsSaid {
  say(line: string): void;
  /** From here on silence is no step. */
  done(): void;
}

/** `write` gets whole lines. */
export function sayingSteps(write: (line: string) => void): StepsSaid {
  let last = '';
  let since = performance.now();
  const timer = setInterval(() => {
    if (last !== '') write(`  still, after ${Math.round((performance.now() - since) / 1000)} s: ${last}`);
  }, SILENT_MS);
  timer.unref();
  return {
    say(line) {
      write(line);
      last = line.trim();
      since = performance.now();
      timer.refresh();
    },
    done: () => clearInterval(timer),
  };
}
