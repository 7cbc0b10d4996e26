import { expect, it } from 'vitest';
import { chartReadme } from './chart-readme.ts';

it('has a row for each value, with the comment above it, and for values that are not set', () => {
  const values = [
    '# About the file.',
    '',
    'image:',
    '  # Where it is pulled from.',
    '  repository: davit',
    '  tag: ""',
    '# What runs,',
    '# and how: well.',
    'api:',
    '  # A number | of pods.',
    '  replicas: 2',
    '  # If absent, the default.',
    '  # className: nginx',
  ];
  expect(chartReadme(values.join('\n')).split('\n').slice(-7)).toEqual(
    [
      '| `image.repository` | `davit` | Where it is pulled from. |',
      '| `image.tag` | `""` |  |',
      '| `api` |  | What runs, and how: well. |',
      '| `api.replicas` | `2` | A number \\| of pods. |',
      '| `api.className` | (`nginx`) | If absent, the default. |',
      '',
    ].toSpliced(0, 0, '|---|---|---|'),
  );
});
