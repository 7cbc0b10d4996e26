// The steps of a build, read from the plain progress that BuildKit writes (docs of `docker buildx build --progress=plain`):
// `#7 [4/6] RUN make`, lines of the step as `#7 1.2 text`, and its end, `#7 DONE 3.4s`, `#7 CACHED` or `#7 ERROR: why`. Pure.

import type { Tone } from './health.ts';

export interface BuildStep {
  /** As its lines begin: `7`. */
  readonly number: string;
  readonly title: string;
  /** `off`: taken from the cache. */
  readonly tone: Tone;
  readonly seconds?: number;
  /** Why it failed. */
  readonly lastLine?: string;
}

/** In the order in which they began. Those of BuildKit's own, such as loading the context, have no number of all and are left out. */
export function stepsOf(lines: readonly string[]): BuildStep[] {
  const steps = new Map<string, BuildStep>();
  for (const line of lines) {
    const [, number = '', text = ''] = /^#(\d+) (.*)$/s.exec(line) ?? [];
    const step = steps.get(number);
    if (step === undefined) {
      if (isStep(text)) steps.set(number, { number, title: text, tone: 'busy' });
      continue;
    }
    const seconds = /^DONE (\d+(?:\.\d+)?)s$/.exec(text)?.[1];
    if (seconds !== undefined) steps.set(number, { ...step, tone: 'good', seconds: Number(seconds) });
    else if (text === 'CACHED') steps.set(number, { ...step, tone: 'off' });
    else if (text.startsWith('ERROR: ')) steps.set(number, { ...step, tone: 'bad', lastLine: text.slice(7) });
  }
  return [...steps.values()];
}

/** `[4/6] RUN make`, or `[base 4/6] RUN make` of a stage with a name. */
function isStep(text: string): boolean {
  const label = text.startsWith('[') ? text.slice(1, Math.max(1, text.indexOf(']'))) : '';
  return /^\d+\/\d+$/.test(label.split(' ').at(-1) ?? '');
}
