// Loaded with --import into a controller whose clock is to be wrong: the wall clock is SKEW_MS ahead (or behind), while
// monotonic clocks and timers are what they are.

const skewMs = Number(process.env['SKEW_MS']);
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...all: [] | [number | string | Date]) {
    // With arguments it is no question of what time it is.
    if (all.length === 0) super(RealDate.now() + skewMs);
    else super(...(all as [number]));
  }

  static override now(): number {
    return RealDate.now() + skewMs;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
