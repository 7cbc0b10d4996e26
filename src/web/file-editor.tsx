// The text of a davit.yaml with the numbers of its lines, and what is wrong beside the line that it is about. Part of create.js.

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { fieldSentence, NO_YAML } from '../kinds/file-finding.ts';
import type { Finding } from './api.ts';
import { Area } from './parts.tsx';
import { Rows } from './rows.tsx';
import { plain } from './text.ts';

/** Lines that an empty text has room for. */
const LEAST_LINES = 8;

/** What is wrong, as a sentence that names its field. `loc` begins with `body` and `file`. */
export function sentenceOf({ loc, msg, type }: Finding): string {
  return plain(type === NO_YAML ? msg : fieldSentence({ loc: loc.slice(2), msg, type }));
}

export interface EditorProps {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly readOnly?: boolean;
  readonly onText: (text: string) => void;
}

export function Editor({ id, label, text, findings, readOnly = false, onText }: EditorProps): VNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const marks = useRef<HTMLPreElement>(null);
  const lines = text.split('\n');
  const wrong = Map.groupBy(findings, ({ line }) => line);

  function goTo(line: number): void {
    const begin = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
    area.current?.focus();
    area.current?.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
  }

  return (
    <>
      <label class="hidden" for={id}>
        {label}
      </label>
      <div class="editor">
        <pre class="lines" aria-hidden="true">
          {eachLine(lines, (_text, line) => (wrong.has(line) ? <b key={line}>{line}</b> : String(line)))}
        </pre>
        <div class="written">
          <pre class="marks" ref={marks} aria-hidden="true">
            {eachLine(lines, (line, at) => {
              const found = wrong.get(at);
              return (
                found && (
                  <span key={at}>
                    <s>{line}</s>
                    <em>{found.map(sentenceOf).join(' ')}</em>
                  </span>
                )
              );
            })}
          </pre>
          <Area
            ref={area}
            id={id}
            // With a bar to scroll sideways, one line less would scroll away from its number.
            rows={Math.max(lines.length + 1, LEAST_LINES)}
            value={text}
            wrap="off"
            readOnly={readOnly}
            aria-invalid={findings.length > 0}
            aria-describedby={`${id}-findings`}
            onInput={(event) => onText(event.currentTarget.value)}
            onScroll={({ currentTarget }) => {
              if (marks.current) marks.current.scrollLeft = currentTarget.scrollLeft;
            }}
          />
        </div>
      </div>
      <div id={`${id}-findings`} role="alert">
        <Rows
          none=""
          rows={findings.map((finding) => ({
            key: JSON.stringify(finding),
            tone: 'bad',
            says: sentenceOf(finding),
            acts: [
              finding.line !== undefined && {
                label: `Line ${finding.line}`,
                of: `of ${label}`,
                onClick: () => goTo(finding.line ?? 1),
              },
            ],
          }))}
        />
      </div>
    </>
  );
}

/** Something for each line, from 1, on a line of its own. */
function eachLine(
  lines: readonly string[],
  shown: (text: string, line: number) => VNode | string | undefined,
): (VNode | string | undefined)[] {
  return lines.flatMap((text, at) => [shown(text, at + 1), '\n']);
}
