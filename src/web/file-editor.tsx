// The text of a davit.yaml with the numbers of its lines, and what is wrong beside the line that it is about. Part of create.js.

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { fieldSentence, NO_YAML } from '../kinds/file-finding.ts';
import type { Finding } from './api.ts';
import { Mark } from './parts.tsx';
import { plain } from './text.ts';

/** Lines that an empty text has room for. */
const LEAST_LINES = 8;

/** What is wrong, as a sentence that names its field. `loc` begins with `body` and `file`. */
export function sentenceOf({ loc, msg, type }: Finding): string {
  return plain(type === NO_YAML ? msg : fieldSentence({ loc: loc.slice(2), msg }));
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
        <pre class="numbers" aria-hidden="true">
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
          <textarea
            ref={area}
            id={id}
            rows={Math.max(lines.length, LEAST_LINES)}
            value={text}
            wrap="off"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
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
      <Findings id={`${id}-findings`} findings={findings} onLine={goTo} />
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

interface FindingsProps extends Pick<EditorProps, 'id' | 'findings'> {
  readonly onLine: (line: number) => void;
}

function Findings({ id, findings, onLine }: FindingsProps): VNode {
  return (
    <div id={id} role="alert">
      {findings.length > 0 && (
        <ul class="findings">
          {findings.map((finding) => (
            <li key={JSON.stringify(finding)}>
              {finding.line !== undefined && (
                <button type="button" onClick={() => onLine(finding.line ?? 1)}>
                  Line {finding.line}
                </button>
              )}
              <Mark tone="bad">{sentenceOf(finding)}</Mark>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
