// What the kubelet says of a container whose image it cannot pull.
// Source: kubernetes/pkg/kubelet/images/types.go.

import { quoted } from '../../kinds/text.ts';
import type { ContainerStatus } from './observed.ts';

/** Longest quotation of the kubelet, in characters. */
const LONGEST_CAUSE = 512;

const PULL_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'ErrImageInspect',
  'SignatureValidationFailed',
]);

export function failsToPull({ state }: ContainerStatus): boolean {
  return PULL_REASONS.has(state?.waiting?.reason ?? '');
}

/** What the registry, or the way to it, says; empty if the kubelet does not tell. And what helps. */
export interface PullFailure {
  readonly cause: string;
  readonly todo: string;
}

const OTHER_PROCESSOR =
  "The image is built for another processor architecture than the node's: build it for the node's architecture (docker buildx build --platform).";

/** What helps where a program cannot run on the processor of its node. */
export function adviceOnProcessor(words: string): string | undefined {
  return /exec format error/.test(words) ? OTHER_PROCESSOR : undefined;
}

/** The first cause that fits. containerd says "not found" also of what it has found and cannot use. */
const ADVICE: readonly (readonly [cause: RegExp, todo: string])[] = [
  [/no space left on device/, "The node's disk is full. Free space on it. The pull is retried automatically."],
  [/no match(?:ing manifest)? for platform|no matching manifest/, OTHER_PROCESSOR],
  [
    /unexpected media type|failed to (?:extract|unpack)|failed size validation|unexpected commit digest|mismatched image rootfs|invalid (?:checksum|tar header|character)|unexpected end of JSON|cannot unmarshal|manifest.*(?:exceeds|too large)/,
    'The node cannot use the image from the registry. Build and push it again.',
  ],
  [/\b429 |toomanyrequests|\b50[0-4] [A-Z]/, 'The registry refuses the pull for now. It is retried automatically.'],
  [/pull policy of Never/, 'image_pull_policy is Never, so the image must be on the node: choose another policy.'],
  [/couldn't parse image name|invalid reference format/, 'Correct the name of the image.'],
  [/^SignatureValidationFailed/, 'Sign the image as the nodes require, or choose a signed one.'],
  [/x509|certificate|tls: /i, "Check the registry's certificate: the nodes must trust its authority."],
  [
    /connection refused|no such host|i\/o timeout|no route to host|network is unreachable|deadline exceeded|server misbehaving/i,
    "Check the registry's host and port in the image, and that the nodes can reach it.",
  ],
  [
    /\b401\b|\b403\b|unauthorized|forbidden|denied|authentication required/i,
    'Check the name, and the pull secrets (image_pull_secrets).',
  ],
  [/not found|\b404\b|manifest unknown|name unknown/i, 'Check its name and tag.'],
];
const ANY = 'Check its name and tag, and the pull secrets (image_pull_secrets).';

/**
 * The cause of the last pull, which the kubelet repeats while it waits for the next one. Ports and times differ each time, and
 * each change of a status would wake the record.
 */
export function pullFailureOf({ state }: ContainerStatus): PullFailure {
  const { reason, message = '' } = state?.waiting ?? {};
  const [, repeated] = /^Back-off pulling image "[^"]*"(?:: ErrImagePull: ([\s\S]*))?$/.exec(message) ?? [
    message,
    message,
  ];
  const words = reason === 'ImagePullBackOff' ? (repeated ?? '') : message;
  const cause = quoted(words, LONGEST_CAUSE)
    .replaceAll(/((?:\d+\.){3}\d+|\]):\d+->/g, '$1->')
    .replaceAll(/current time \S+ is/g, 'the current time is');
  return { cause, todo: ADVICE.find(([pattern]) => pattern.test(cause))?.[1] ?? ANY };
}
