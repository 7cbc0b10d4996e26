// What a benchmark has to say: samples against a goal, and the one JSON object that it ends with. Pure.

/** A measure is met by its median. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number };

/** Printed beside the ratio: seconds, bytes, counts, each under a name with its unit (`wallMs`, `rssMiB`). */
export type Absolutes = Readonly<Record<string, number | string>>;

export type Figure = Taken | NotTaken;

export interface Taken {
  /** `P1`, or `P14.rest` where a measure has several. */
  readonly key: string;
  readonly goal: Goal;
  /** One for each repeat; not empty. */
  readonly samples: readonly number[];
  readonly absolutes?: Absolutes;
}

/** A measure that could not be taken, and why: nobody is to take silence for success. */
export interface NotTaken {
  readonly key: string;
  readonly goal: Goal;
  readonly why: string;
  readonly absolutes?: Absolutes;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The value below which half of the samples are; between the middle two of an even number. Throws for none. */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** Linear between neighbours, as numpy's default: quantile([1, 2], 0.5) is 1.5. Throws for no samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) throw new RangeError('no samples');
  return below + (above - below) * (position - Math.floor(position));
}

export function spreadOf(samples: readonly number[]): Spread {
  return { median: median(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

/**
 * Each repeat's ours by its own theirs: what slows the machine slows both. Throws unless both have as many, and for
 * something divided by nothing.
 */
export function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  if (ours.length !== theirs.length) throw new RangeError(`${ours.length} samples against ${theirs.length}`);
  return ours.map((value, index) => {
    const by = theirs[index] ?? 0;
    if (by <= 0) throw new RangeError(`sample ${index} is to be divided by ${by}`);
    return value / by;
  });
}

/**
 * By how much one costs more than one did at any smaller size, given what one costs at each size, the smallest first.
 * Below 1 where it only gets cheaper: a start that is shared by more is no growth. Throws for fewer than two sizes.
 */
export function growth(costs: readonly number[]): number {
  const [first, ...larger] = costs;
  if (first === undefined || larger.length === 0) throw new RangeError('growth is between two sizes at least');
  let least = first;
  let most = 0;
  for (const cost of larger) {
    most = Math.max(most, cost / least);
    least = Math.min(least, cost);
  }
  return most;
}

export function isMet(figure: Figure): boolean {
  if ('why' in figure) return false;
  const middle = median(figure.samples);
  return 'atMost' in figure.goal ? middle <= figure.goal.atMost : middle >= figure.goal.atLeast;
}

export type Verdict = 'met' | 'not met' | 'not judged';

/**
 * A run of fewer records than the goals are for is not judged: what is shared by few records costs each of them more. A goal of zero is for
 * every size.
 */
export function verdict(figure: Figure, isSmall: boolean): Verdict {
  const isOfEverySize = 'atMost' in figure.goal && figure.goal.atMost === 0;
  if (isSmall && !isOfEverySize && !('why' in figure)) return 'not judged';
  return isMet(figure) ? 'met' : 'not met';
}

/**
 * The last line of a run: one JSON object, one key a figure. Throws when two have the same key. `ok` is null for what is not judged.
 */
export function summary(figures: readonly Figure[], isSmall = false): string {
  const all: Record<string, object> = {};
  for (const figure of figures) {
    if (figure.key in all) throw new Error(`two figures are called ${figure.key}`);
    all[figure.key] = shown(figure, isSmall);
  }
  return JSON.stringify(all);
}

function shown(figure: Figure, isSmall: boolean): object {
  const { goal, absolutes } = figure;
  const said = 'atMost' in goal ? { goal: goal.atMost, better: 'lower' } : { goal: goal.atLeast, better: 'higher' };
  if ('why' in figure) return { ...said, ok: false, why: figure.why, ...absolutes };
  const { median: middle, min, max } = spreadOf(figure.samples);
  return {
    ...said,
    median: rounded(middle),
    min: rounded(min),
    max: rounded(max),
    samples: figure.samples.length,
    ok: verdict(figure, isSmall) === 'not judged' ? null : isMet(figure),
    ...absolutes,
  };
}

/** To four significant digits: more would be noise. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
