// Server-Sent Events (WHATWG HTML, 9.2.6) as they are read with fetch, which sends a token where EventSource cannot. Pure.

export interface ServerEvent {
  readonly event: string;
  readonly data: unknown;
  /** What is sent back as Last-Event-ID to go on after this event. */
  readonly id: string | undefined;
}

export interface EventParser {
  /** The events that `text`, the next piece of the stream, ends. */
  push(text: string): ServerEvent[];
  /** Milliseconds to wait before connecting again, as the stream says. */
  readonly retryMs: number | undefined;
}

/** Reads the API's own streams: data is JSON in one line, and a line ends with a line feed. */
export function makeEventParser(): EventParser {
  let rest = '';
  let fields: Record<string, string> = {};
  let retryMs: number | undefined;

  function end(): ServerEvent[] {
    const { event = 'message', data, id } = fields;
    fields = {};
    return data === undefined ? [] : [{ event, data: JSON.parse(data) as unknown, id }];
  }

  return {
    push(text) {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      return lines.flatMap((line) => {
        if (line === '') return end();
        const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (name === 'retry') retryMs = Number(value);
        else fields[name] = value;
        return [];
      });
    },
    get retryMs() {
      return retryMs;
    },
  };
}
