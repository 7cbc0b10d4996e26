import { expect, it } from 'vitest';
import { repositoryName } from './source.ts';

it.each<[url: string, owner: string | undefined, name?: string]>([
  ['https://host.example/team/shop', 'team', 'shop'],
  ['https://host.example/team/shop.git', 'team', 'shop'],
  ['https://host.example/below/team/shop/', 'team', 'shop'],
  ['https://host.example/t%C3%A9am/shop%20one', 'téam', 'shop one'],
  // Nothing that a caller can write into repo_url may throw: a reconcile would fail for ever.
  ...['%', '%zz', '%ff', '%c3', '%E0%A4%A', '%00', '%0a', '%2f', 'a%5cb', '.git', ''].flatMap(
    (part): [string, undefined][] => [
      [`https://host.example/team/${part}`, undefined],
      [`https://host.example/${part === '' ? '%' : part.replace('.git', '%zz')}/shop`, undefined],
    ],
  ),
  // Steps out of the path of the repository at the code host.
  ...['..', '.', '...git', '..git', '%2e%2e', '%2e.git', 'r/../../other/shop', './shop', 'x/%2e%2e/shop'].map(
    (part): [string, undefined] => [`https://host.example/team/${part}`, undefined],
  ),
  ['https://host.example/../shop', undefined],
  ['https://host.example/..git/shop', undefined],
  ['https://Host.example:443/team/shop', 'team', 'shop'],
  ['https://host.example/téam/shop', 'téam', 'shop'],
  ['https://host.example/shop', undefined],
  ['https://', undefined],
  ['shop', undefined],
])('the repository of %s is %s/%s', (url, owner, name) => {
  expect(repositoryName(url)).toEqual(owner === undefined ? undefined : { owner, name });
});
