// Server-Sent Events (WHATWG HTML, 9.2): who asks for them, and how an event is written. Pure.

export const EVENT_STREAM = 'text/event-stream';

export interface StreamEvent {
  readonly event: string;
  /** JSON in one line. */
  readonly data: string;
  /** What a client sends back as Last-Event-ID; without it the id of the event before stays. */
  readonly id?: string;
}

export function eventText({ event, data, id }: StreamEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/**
 * Whether an Accept header (RFC 9110, 12.5.1) asks for events: it names them, not only with a wildcard, and prefers them to
 * JSON. A client that names both alike gets JSON, as without the header.
 */
export function asksForEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.toLowerCase().split(',').map(rangeOf);
  const weightOf = (type: string): number => Math.max(0, ...ranges.filter((range) => range.type === type).map(weight));
  const events = weightOf(EVENT_STREAM);
  return events > 0 && events > weightOf('application/json');
}

interface Range {
  readonly type: string;
  readonly weight: number;
}

function weight(range: Range): number {
  return range.weight;
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const number = q === undefined ? 1 : Number(q);
  return { type, weight: Number.isFinite(number) ? number : 0 };
}
