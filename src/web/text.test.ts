// Log lines, links and ages as the page shows them.

import { describe, expect, it } from 'vitest';
import type { Deployment } from '../deploy/http/payloads.ts';
import { age, commandOf, isHealthCheck, linkTo, plain, wordsOf } from './text.ts';

describe('a line from outside', () => {
  it.each([
    { reason: 'colours', text: '\u001B[1;31mred\u001B[0m text', shown: 'red text' },
    { reason: 'an eight-bit control sequence', text: '\u009B31mred', shown: 'red' },
    { reason: 'a cursor that moves', text: '10 %\u001B[2K\u001B[1G20 %', shown: '10 %20 %' },
    { reason: 'a title, ended by a bell', text: '\u001B]0;title\u0007text', shown: 'text' },
    {
      reason: 'a hyperlink, ended by a string terminator',
      text: '\u001B]8;;https://bad.example\u001B\\text\u001B]8;;\u001B\\',
      shown: 'text',
    },
    { reason: 'a string without an end, whose text stays', text: '\u001B]0;text', shown: '0;text' },
    { reason: 'other escapes', text: '\u001B7\u001B(Btext\u001Bc', shown: 'text' },
    { reason: 'a lone escape and a bell', text: 'a\u001B\u0007', shown: 'a\uFFFD\uFFFD' },
    { reason: 'marks that turn the direction of text', text: 'a\u202Ecba', shown: 'a\uFFFDcba' },
    { reason: 'markup, which stays text', text: '<img src=x onerror=alert(1)>', shown: '<img src=x onerror=alert(1)>' },
  ])('is shown without $reason', ({ text, shown }) => {
    expect(plain(text)).toBe(shown);
  });

  it('of a megabyte takes a moment, whatever it repeats', () => {
    for (const piece of ['\u001B]', '\u001B[0', '\u001B[ ', '\u009D8;', '\u001B']) {
      const began = process.cpuUsage();
      plain(piece.repeat(2 ** 20 / piece.length));
      // Time of the processor, because the machine may be busy.
      expect(process.cpuUsage(began).user / 1000, JSON.stringify(piece)).toBeLessThan(2000);
    }
  });
});

describe('a link', () => {
  it.each([
    { url: 'https://shop.example/a', link: 'https://shop.example/a' },
    { url: 'http://shop.team.svc', link: 'http://shop.team.svc/' },
    { url: 'javascript:alert(1)', link: undefined },
    { url: ' JaVaScRiPt:alert(1)', link: undefined },
    { url: 'data:text/html,<script>alert(1)</script>', link: undefined },
    { url: 'https://bank.example@bad.example/', link: undefined },
    { url: 'shop.example', link: undefined },
    { url: '//bad.example', link: undefined },
    { url: null, link: undefined },
  ])('of $url is $link', ({ url, link }) => {
    expect(linkTo(url)).toBe(link);
  });
});

it.each([
  { seconds: -5, shown: '0 s' },
  { seconds: 59, shown: '59 s' },
  { seconds: 60, shown: '1 min' },
  { seconds: 3600 * 5 + 100, shown: '5 h' },
  { seconds: 86_400 * 40, shown: '40 d' },
])('an age of $seconds seconds is $shown', ({ seconds, shown }) => {
  const then = '2026-01-01T00:00:00Z';
  expect(age(then, new Date(Date.parse(then) + seconds * 1000))).toBe(shown);
});

it.each([
  ['GET /ok 200 1 ms', true],
  ['10.0.0.1 - "GET /healthz HTTP/1.1" 200 OK', true],
  ['"GET / HTTP/1.1" 200 "kube-probe/1.33"', true],
  ['GET /ok 503 1 ms', false],
  ['GET /okay 200', false],
  ['POST /ok 200', false],
])('a health check that succeeded: %s', (message, expected) => {
  expect(isHealthCheck(message)).toBe(expected);
});

it.each([
  ['', []],
  ['  python  manage.py check ', ['python', 'manage.py', 'check']],
  [`sh -c 'echo "a  b" && ls'`, ['sh', '-c', 'echo "a  b" && ls']],
  [`a="b c"d '' "it's"`, ['a=b cd', '', "it's"]],
  [`--name="a b" 'c "d"'`, ['--name=a b', 'c "d"']],
  [String.raw`"a \"b\" \\ \d" 'c\d'`, [String.raw`a "b" \ \d`, String.raw`c\d`]],
  ['echo "not closed', ['echo', 'not closed']],
  ['$(HOME) ; rm *', ['$(HOME)', ';', 'rm', '*']],
])('the words of %j', (line, words) => {
  expect(wordsOf(line)).toEqual(words);
});

it.each([
  [null, undefined, 'team', 'kubectl davit open shop -n team'],
  [null, undefined, undefined, 'kubectl davit open shop'],
  ['1', 'edge', 'team', 'kubectl davit open shop -n edge'],
])('listener %s in %s, seen in %s, is reached by %s', (id, place, namespace, command) => {
  const source_config = { listener_id: id, listener_config: { k8s_namespace: place } };
  expect(commandOf('open', { name: 'shop', source_config } as unknown as Deployment, namespace)).toBe(command);
});
