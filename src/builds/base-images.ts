// What BuildKit says of a base image whose registry does not answer, or does not serve it: which host, why, and what helps.

import { quoted } from '../schema/text.ts';

/** A sign of an image that could not be asked for, though it may exist. */
export const BASE_IMAGE_UNREACHABLE =
  /(?:failed to (?:resolve source metadata|load metadata)|httpReadSeeker).*(?:connection refused|connection reset|timeout|deadline exceeded|no such host|failure in name resolution|no route to host|network is unreachable|server misbehaving|proxyconnect|\bEOF\b|x509: |tls: |: 50[0-4] |: 429 |toomanyrequests)/i;

const ADVICE: readonly (readonly [cause: RegExp, todo: string])[] = [
  [/x509: |tls: /, 'Builds must trust the certificate of this registry: have its authority added to caBundle.'],
  [/^(?:50[0-4]|429) |toomanyrequests/, 'Try it again later, or have the platform mirror the image.'],
];
const REACH =
  'Name an image that builds can reach, such as one that kubectl davit platform prints, have the platform mirror it, or have builds let through to this host (settings.builds.egress, settings.proxy). Then ask for a new revision.';

/** The sentences of a failure with the sign of an unreachable base image. `error`: BuildKit's, of one line. */
export function unreachableBaseImage(error: string): string {
  const [, image = ''] = /metadata for (\S+): /.exec(error) ?? [];
  const [, host = '', cause = ''] = /https?:\/\/([^/"\s]+)\S*: (.*)$/.exec(error) ?? [];
  const words = quoted(cause || error.replace(/^.*metadata for \S+: /, ''), 400);
  const isAnswer = /^[45]\d\d /.test(words);
  const of = image === '' ? '' : ` for ${quoted(image, 300)}`;
  const who = isAnswer ? `${host} answers` : `The builder cannot reach ${host || 'the registry'}`;
  return `${who}${of}: ${words}. ${ADVICE.find(([sign]) => sign.test(words))?.[1] ?? REACH}`;
}
