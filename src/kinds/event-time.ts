// When an event happened last, of both API groups that have events. Whoever may write events writes these times as he likes.

interface TimedEvent {
  readonly series?: { readonly lastObservedTime?: string | null };
  /** The API group v1 has it, and older clients write it in events.k8s.io. */
  readonly lastTimestamp?: string | null;
  readonly deprecatedLastTimestamp?: string | null;
  readonly eventTime?: string | null;
  /** The API server writes it. */
  readonly metadata: { readonly creationTimestamp?: string };
}

/** So much may the clock of a node be ahead, in milliseconds. */
const AHEAD_MS = 60_000;

/**
 * As RFC 3339. What would be in the future did not happen then: it counts from the time at which the API server got it. `now` in
 * milliseconds since 1970.
 */
export function lastTime(
  { series, lastTimestamp, deprecatedLastTimestamp, eventTime, metadata }: TimedEvent,
  now: number,
): string | undefined {
  const told = series?.lastObservedTime ?? lastTimestamp ?? deprecatedLastTimestamp ?? eventTime;
  return told && Date.parse(told) <= now + AHEAD_MS ? told : metadata.creationTimestamp;
}

/** The time of an event in milliseconds since 1970; 0 if it is unknown. */
export function lastTimeMs(event: TimedEvent, now: number): number {
  return Date.parse(lastTime(event, now) ?? '') || 0;
}
