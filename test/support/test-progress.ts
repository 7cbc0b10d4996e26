// How far a run of vitest is, from what progress-reporter.ts has written.

/** The environment variable that names the file. */
export const PROGRESS_FILE = 'DAVIT_TEST_PROGRESS';

export interface ReportedTest {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly message?: string;
}

/** A line of the file. */
export type ProgressEvent =
  | { readonly began: string }
  | { readonly test: ReportedTest; readonly of: string }
  | {
      readonly ended: string;
      readonly hasFailed: boolean;
      readonly tests: readonly ReportedTest[];
      readonly message?: string;
    }
  | { readonly over: true };

export interface ReportedFile {
  readonly path: string;
  readonly tests: readonly ReportedTest[];
  readonly hasEnded: boolean;
  readonly hasFailed: boolean;
  /** The first error outside of a test. */
  readonly message?: string;
}

export interface TestProgress {
  readonly files: readonly ReportedFile[];
  /** Whether all files have ended, and vitest has said so. */
  readonly isOver: boolean;
}

/** The last line counts only if it is whole. */
export function progressOf(text: string): TestProgress {
  const files = new Map<string, ReportedFile>();
  let isOver = false;
  for (const line of text.split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as ProgressEvent;
    if ('began' in event) files.set(event.began, { path: event.began, tests: [], hasEnded: false, hasFailed: false });
    else if ('test' in event) addTest(files, event.of, event.test);
    else if ('ended' in event) {
      const { ended: path, ...rest } = event;
      files.set(path, { path, hasEnded: true, ...rest });
    } else isOver = true;
  }
  return { files: [...files.values()], isOver };
}

function addTest(files: Map<string, ReportedFile>, path: string, test: ReportedTest): void {
  const file = files.get(path) ?? { path, tests: [], hasEnded: false, hasFailed: false };
  // The end of a file has all of its tests. One that is told after it would count twice.
  if (!file.hasEnded) files.set(path, { ...file, tests: [...file.tests, test] });
}
