// Derives why a build failed from the termination messages of its containers.

import type { ContainerStatus } from '../deploy/assess/observed.ts';
import { BUILD_REASONS, type BuildReason } from '../kinds/build.ts';
import { LONGEST_QUOTE, quoted, shortened } from '../kinds/text.ts';

export interface BuildFailure {
  /** One of BUILD_REASONS, or a reason of the plan step (docs/builds.md). */
  readonly reason: string;
  readonly message: string;
  readonly line?: number;
  readonly instruction?: string;
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** Termination message of the scripts (build/job/scripts.ts) and the plan step: `Reason: sentence`. */
const REASON_AND_SENTENCE = /^([A-Z][A-Za-z]{2,63}): (\S[\s\S]*)$/;

/** The failure of the container `fetch`. */
export function fetchFailure({ message = '', exitCode }: Terminated): BuildFailure {
  return (
    failureOfScript(message) ?? {
      reason: 'FetchFailed',
      message: `The source could not be fetched (exit code ${exitCode}): ${quoted(message)}.`,
    }
  );
}

/** The failure of the container `plan`. */
export function planFailure({ message = '', exitCode }: Terminated): BuildFailure {
  return (
    failureIn(message) ?? {
      reason: 'PlanFailed',
      message: `The plan step failed (exit code ${exitCode}): ${quoted(message)}.`,
    }
  );
}

/** Without a message of the script, the kubelet takes the end of the log, which the source may have printed. */
function failureOfScript(message: string): BuildFailure | undefined {
  const found = failureIn(message);
  return found && Object.hasOwn(BUILD_REASONS, found.reason) ? found : undefined;
}

function failureIn(message: string): BuildFailure | undefined {
  const [, reason, sentence = ''] = REASON_AND_SENTENCE.exec(message.trim()) ?? [];
  return reason === undefined ? undefined : { reason, message: shortened(sentence) };
}

interface Kind {
  readonly reason: BuildReason;
  readonly sign: RegExp;
  /** What the user can do. The last sentence of the message. */
  readonly todo: string;
}

/** A sign of an image that could not be asked for, though it may exist. */
const BASE_IMAGE_UNREACHABLE =
  /(?:failed to (?:resolve source metadata|load metadata)|httpReadSeeker).*(?:connection refused|connection reset|timeout|deadline exceeded|no such host|failure in name resolution|no route to host|network is unreachable|server misbehaving|proxyconnect|\bEOF\b|x509: |tls: |: 50[0-4] |: 429 |toomanyrequests)/i;

/** Kinds of failures in BuildKit's output. The first one whose `sign` matches is taken. */
const KINDS: readonly Kind[] = [
  // The disk of a registry may be full, too.
  {
    reason: 'PushFailed',
    sign: /failed to push|error (?:writing|copying) (?:layer|manifest)|pushing (?:layers|manifest).*(?:error|failed)/i,
    todo: 'Ask the platform team to check the registry and the push credential, then create a new revision.',
  },
  {
    reason: 'OutOfDisk',
    sign: /no space left on device|disk quota exceeded/i,
    todo: 'The build exceeded its disk limit. Use less disk, or ask the platform team to raise settings.builds.resources.storageGi.',
  },
  {
    reason: 'BaseImageUnreachable',
    sign: BASE_IMAGE_UNREACHABLE,
    // It depends on the cause (unreachableBaseImage).
    todo: '',
  },
  {
    reason: 'BaseImageNotFound',
    sign: /failed to resolve source metadata|pull access denied|failed to load metadata/i,
    todo: 'Correct the image in this FROM, or ask the platform team to mirror it.',
  },
  {
    reason: 'DockerfileInvalid',
    sign: /dockerfile parse error|failed to parse dockerfile|unknown instruction|unexpected end of statement|failed to process "|dockerfile line greater than|(?:security\.insecure|network\.host|device) is not allowed/i,
    todo: 'Correct this line of the Dockerfile.',
  },
  {
    reason: 'OutOfMemory',
    sign: /did not complete successfully: exit code: 137|did not complete successfully: signal: killed/i,
    todo: 'The command was killed, most likely because the build exceeded its memory limit. Use less memory, or ask the platform team to raise settings.builds.resources.memoryLimitMb.',
  },
  {
    reason: 'StepFailed',
    sign: /did not complete successfully|failed to compute cache key|failed to calculate checksum|": not found/i,
    todo: 'Correct it. kubectl davit logs NAME --build, or build_logs of the HTTP API, shows its complete output.',
  },
];

/**
 * The failure of the container `build`, whose termination message is the end of its log. `warnings`: those of the plan step, one a
 * line. Commands of the message have NAME for the deployment.
 */
export function buildFailure({ message: log = '', exitCode, reason }: Terminated, warnings = ''): BuildFailure {
  const message = withoutCache(log);
  const reported = failureOfScript(message);
  if (reported?.reason === 'BuilderFailed') return reported;
  if (reason === 'OOMKilled')
    return {
      reason: 'OutOfMemory',
      message:
        'The builder was killed because it exceeded its memory limit. Use less memory, or ask the platform team to raise settings.builds.resources.memoryLimitMb.',
    };
  const error = /^(?:error|ERROR): (.*)$/m.exec(message)?.[1] ?? '';
  const kind = KINDS.find(({ sign }) => sign.test(error)) ?? KINDS.find(({ sign }) => sign.test(message));
  const where = failingLine(message);
  const words = quoted(error === '' ? endOfLog(message) : error);
  if (kind === undefined)
    return { reason: 'BuilderFailed', message: `The builder failed (exit code ${exitCode}): ${words}.`, ...where };
  const { todo } = kind;
  const place =
    where.line === undefined ? '' : `Line ${where.line} of the Dockerfile failed: ${where.instruction ?? ''}. `;
  if (kind.reason === 'BaseImageUnreachable')
    return { reason: kind.reason, message: shortened(`${place}${unreachableBaseImage(error || words)}`), ...where };
  if (kind.reason !== 'StepFailed')
    return { reason: kind.reason, message: shortened(`${place}${words}. ${todo}`), ...where };
  const output = printed(message);
  const { cause, rest } = causeIn(output);
  // What did not come to an end is the instruction, which stands there already.
  const isRepeated = where.line !== undefined && error.startsWith('failed to solve: process "');
  const sentences = [
    ...(cause === '' ? [] : [`${cause}.`]),
    `${place.trim()}`,
    ...(isRepeated && output.length > 0 ? [] : [`${words}.`]),
    ...(rest === '' ? [] : [`It printed: ${rest}.`]),
    ...adviceOf(warnings, `${where.instruction ?? ''} ${output.join(' ')}`),
    todo,
  ].filter((sentence) => sentence !== '');
  return { reason: kind.reason, message: shortened(sentences.join(' ')), ...where };
}

/**
 * The log without what BuildKit says of its cache, where it reads like errors: a first build has none, and no build fails of it.
 */
function withoutCache(log: string): string {
  const begun =
    /^#(\d+) (?:importing cache manifest from|exporting cache to|ERROR: failed to configure \S+ cache importer)/gm;
  const steps = [...log.matchAll(begun)].map(([, step]) => step);
  const block = /^-{6}\n > (?:importing cache manifest from|exporting cache to) .*\n(?:(?!-{6}$).*\n)*-{6}\n?/gm;
  const rest = log.replaceAll(block, '');
  return steps.length === 0 ? rest : rest.replaceAll(new RegExp(`^#(?:${steps.join('|')}) .*\\n?`, 'gm'), '');
}

/** Warnings of the plan about package indexes, if the failed step is one that installs packages. */
function adviceOf(warnings: string, step: string): string[] {
  const installs = /\b(pip|uv|npm|pnpm|yarn)\b/i.test(step);
  return installs
    ? warnings.split('\n').flatMap((line) => (/package index/.test(line) ? quoted(line, 300) + '.' : []))
    : [];
}

/**
 * Line (from 1) and text of the failing instruction. BuildKit prints it with surrounding lines and marks it by `>>>`.
 */
function failingLine(message: string): Pick<BuildFailure, 'line' | 'instruction'> {
  const marked = [...message.matchAll(/^ *(\d+) \| >>> (.*)$/gm)];
  const [, number] = marked[0] ?? /^\S*[Dd]ockerfile\S*:(\d+)$/m.exec(message) ?? [];
  if (number === undefined) return {};
  const instruction = quoted(marked.map(([, , text = '']) => text.replace(/\\\s*$/, '')).join(' '), 1000);
  return { line: Number(number), ...(instruction !== '' && { instruction }) };
}

const RULE = '------';
/** Number of quoted lines of the output, in addition to the line with the cause. */
const MOST_LINES = 8;

/**
 * The last lines that the instruction printed. BuildKit prints them between two rules, each line with a timestamp. The first
 * rule may be cut off. Without that block they are lines of the log, with the number of the step.
 */
function printed(message: string): string[] {
  const lines = message.split('\n');
  const end = lines.lastIndexOf(RULE);
  const begin = end < 1 ? -1 : lines.lastIndexOf(RULE, end - 1);
  const block = end < 0 ? [] : lines.slice(begin + 1, end).filter((line) => !line.startsWith(' > '));
  const own = block.flatMap((line) => /^\s*\d+\.\d+ (.*)$/.exec(line)?.[1] ?? []);
  if (own.some((line) => line.trim() !== '')) return withText(own);
  const [, step] = /^#(\d+) ERROR: /m.exec(message) ?? [];
  const ofStep = new RegExp(`^#${step ?? '\\d+'} \\d+\\.\\d+ (.*)$`);
  return withText(lines.flatMap((line) => ofStep.exec(line)?.[1] ?? []));
}

function withText(lines: readonly string[]): string[] {
  return lines.filter((line) => line.trim() !== '');
}

/** The end of a log without what BuildKit draws. */
function endOfLog(message: string): string {
  const lines = withText(message.split('\n')).filter((line) => !/^-{3,}$|^The end of the log:$/.test(line));
  return lastOf(lines, LONGEST_QUOTE);
}

/** The last of these lines that fit into `most` characters, on one line. */
function lastOf(lines: readonly string[], most: number): string {
  let kept = lines.slice(-MOST_LINES);
  while (kept.length > 1 && kept.join(' ').length > most) kept = kept.slice(1);
  return quoted(kept.join(' '), most);
}

/** An error as programs print it: the last line of a traceback, or `ERROR: …`. */
const ERROR_LINE = /^\s*(?:[\w.]+(?:Error|Exception|Exit|Interrupt)\b(?::|$)|(?:fatal|error|npm error|ERR!|E):? )/i;

/** The line that says why, and the others. */
function causeIn(output: readonly string[]): { readonly cause: string; readonly rest: string } {
  const at = output.findLastIndex((line) => ERROR_LINE.test(line));
  const found = at < 0 ? undefined : output[at];
  const others = output.filter((_line, index) => index !== at);
  return {
    cause: quoted(found?.trim().replace(/^(?:ERROR|error): /, ''), 400),
    rest: lastOf(others, 600),
  };
}

const BASE_IMAGE_ADVICE: readonly (readonly [cause: RegExp, todo: string])[] = [
  [
    /x509: |tls: /,
    'Builds do not trust the certificate of this registry. Ask the platform team to add its authority to caBundle.',
  ],
  [/^(?:50[0-4]|429) |toomanyrequests/, 'Try again later, or ask the platform team to mirror the image.'],
];
const BASE_IMAGE_REACH =
  'Use an image that builds can reach, such as one listed by kubectl davit platform, or ask the platform team to mirror it or to allow builds to reach this host (settings.builds.egress, settings.proxy). Then create a new revision.';

/** The sentences of a failure with the sign of an unreachable base image. `error`: BuildKit's, of one line. */
function unreachableBaseImage(error: string): string {
  const [, image = ''] = /metadata for (\S+): /.exec(error) ?? [];
  const [, host = '', cause = ''] = /https?:\/\/([^/"\s]+)\S*: (.*)$/.exec(error) ?? [];
  const words = quoted(cause || error.replace(/^.*metadata for \S+: /, ''), 400);
  const isAnswer = /^[45]\d\d /.test(words);
  const of = image === '' ? '' : ` for ${quoted(image, 300)}`;
  const who = isAnswer ? `${host} answers` : `The builder cannot reach ${host || 'the registry'}`;
  return `${who}${of}: ${words}. ${BASE_IMAGE_ADVICE.find(([sign]) => sign.test(words))?.[1] ?? BASE_IMAGE_REACH}`;
}
