import { expect, it } from 'vitest';
import { valuesTable } from './chart-readme.ts';

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
  expect(valuesTable(values.join('\n')).split('\n').slice(-7)).toEqual(
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

it('has rows for an example of several lines, and attributes none of them to the next key', () => {
  const values = [
    'builds:',
    '  # Where images are kept.',
    '  # registry:',
    '  #   host: r.example',
    '  #   Secrets, of which one pushes: and',
    '  #   one pulls.',
    '  #   pushSecret: push',
    '  #   true: without them.',
    '  #   tokens: false',
    '  images: {}',
    '    # Of the builder.',
    '    # builder: b:1',
    '  # Where pods run.',
    '  placement: {}',
    '    # server:',
    '    #   nodeSelector: {pool: apps}',
    'revisions:',
    '  kept: 10',
  ];
  expect(valuesTable(values.join('\n')).split('\n').slice(-11)).toEqual([
    '|---|---|---|',
    '| `builds.registry` |  | Where images are kept. |',
    '| `builds.registry.host` | (`r.example`) |  |',
    '| `builds.registry.pushSecret` | (`push`) | Secrets, of which one pushes: and one pulls. |',
    '| `builds.registry.tokens` | (`false`) | true: without them. |',
    '| `builds.images` | `{}` |  |',
    '| `builds.images.builder` | (`b:1`) | Of the builder. |',
    '| `builds.placement` | `{}` | Where pods run. |',
    '| `builds.placement.server.nodeSelector` | (`{pool: apps}`) |  |',
    '| `revisions.kept` | `10` |  |',
    '',
  ]);
});
