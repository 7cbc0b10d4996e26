import { describe, expect, it } from 'vitest';
import { instructionsOf } from '../../kinds/source-files.ts';
import { imagesUsed } from './dockerfile-text.ts';
import { PlanFailure } from './failure.ts';
import { judged } from './judge.ts';

const registry = { host: 'r.example', own: 'team-11111111' };
const foreign = 'r.example/other-22222222/shop';

function reasonOf(dockerfile: string, tokens = false): string | undefined {
  try {
    judged(dockerfile, { baseImages: {}, registry: { ...registry, tokens } });
    return undefined;
  } catch (error) {
    if (error instanceof PlanFailure) return `${error.reason} ${/Line \d+/.exec(error.message)?.[0]}`;
    throw error;
  }
}

describe('an image of another tenant', () => {
  it.each([
    ['FROM', `FROM ${foreign}\n`, 1],
    ['FROM in small letters, after a comment', `# a\n\nfrom ${foreign}:1 as build\n`, 3],
    ['FROM with a flag', `FROM --platform=linux/amd64 ${foreign}\n`, 1],
    ['FROM of an argument', `ARG BASE=${foreign}\nFROM $BASE\n`, 2],
    ['FROM of two arguments', 'ARG HOST="r.example" PATH=other-22222222/shop\nFROM ${HOST}/${PATH}\n', 2],
    ['FROM of an argument with a default', `ARG BASE\nFROM \${BASE:-${foreign}}\n`, 2],
    ['FROM in two lines', `FROM \\\n  ${foreign}\n`, 1],
    ['FROM with another escape', `# escape=\`\nFROM \`\n  ${foreign}\n`, 2],
    ['a later FROM', `FROM python AS one\nFROM ${foreign}\n`, 2],
    ['COPY', `FROM python\nCOPY --chown=1:1 --from=${foreign} / /x\n`, 2],
    ['a mount', `FROM python\nRUN --mount=type=bind,from=${foreign},target=/x cp -r /x /y\n`, 2],
    ['after a here-document', `FROM python\nRUN <<EOF\nFROM x\nEOF\nCOPY --from=${foreign} / /x\n`, 5],
  ])('is refused in %s', (_what, dockerfile, line) => {
    expect(reasonOf(dockerfile)).toBe(`ImageNotAllowed Line ${line}`);
    expect(reasonOf(dockerfile, true)).toBe(`ImageNotAllowed Line ${line}`);
  });

  it.each([
    ['a base image', 'FROM r.example/base/python:3.12\n'],
    ['its own', 'FROM r.example/team-11111111/shop:1\n'],
    ['another registry', 'FROM docker.io/library/python\n'],
    ['a stage', 'FROM python AS build\nFROM build\nCOPY --from=build /a /b\nCOPY --from=0 /a /b\n'],
    ['a stage of the platform', 'FROM python AS base-amd64\nFROM base-${TARGETARCH}\n'],
    ['nothing', 'FROM scratch\n'],
    ['a comment', `# FROM ${foreign}\nFROM python\n`],
    ['a here-document', `FROM python\nRUN <<-"EOF"\n\tFROM ${foreign}\n\tEOF\n`],
    ['what a RUN prints', `FROM python\nRUN echo COPY --from=${foreign}\n`],
  ])('is not seen in %s', (_what, dockerfile) => {
    expect(reasonOf(dockerfile)).toBeUndefined();
  });

  it('is assumed where the text does not tell, unless the registry has tokens', () => {
    const dockerfile = 'ARG A=xr.example/other-22222222/shop\nFROM ${A#x}\n';
    expect(reasonOf(dockerfile)).toBe('ImageNotAllowed Line 2');
    expect(reasonOf(dockerfile, true)).toBeUndefined();
  });
});

describe("the platform's package index", () => {
  const warned = (
    dockerfile: string,
    indexes = ['PIP_INDEX_URL', 'UV_DEFAULT_INDEX', 'NPM_CONFIG_REGISTRY'],
  ): string[] =>
    judged(dockerfile, { baseImages: {}, indexes }).map(
      (warning) => `${/^Line \d+/.exec(warning)?.[0]} ${/ARG ([\w ]+) after FROM/.exec(warning)?.[1]}`,
    );

  it.each<[string, string, string[]]>([
    ['that pip does not know', 'FROM python\nRUN pip install a\n', ['Line 2 PIP_INDEX_URL']],
    ['that a module does not know', 'FROM python\nRUN cd x && python -m pip install a\n', ['Line 2 PIP_INDEX_URL']],
    [
      'that uv and npm do not know',
      'FROM x\nRUN uv sync\nRUN ["npm", "ci"]\n',
      ['Line 2 UV_DEFAULT_INDEX', 'Line 3 NPM_CONFIG_REGISTRY'],
    ],
    ['that is declared', 'FROM python\nARG PIP_INDEX_URL\nRUN pip install a\n', []],
    ['that another stage declares', 'FROM a\nARG PIP_INDEX_URL\nFROM b\nRUN pip install a\n', ['Line 4 PIP_INDEX_URL']],
    [
      'that is declared before the first stage alone',
      'ARG PIP_INDEX_URL\nFROM b\nRUN pip install a\n',
      ['Line 3 PIP_INDEX_URL'],
    ],
    ['that is set', 'FROM b\nENV PIP_INDEX_URL=https://x\nRUN pip install a\n', []],
    ['of nobody', 'FROM b\nRUN apt-get install pipewire && ./pip.sh && echo uvicorn\n', []],
  ])('%s', (_what, dockerfile, warnings) => {
    expect(warned(dockerfile)).toEqual(warnings);
  });

  const PLAIN = ['PIP_INDEX_URL', 'UV_DEFAULT_INDEX', 'PIP_TRUSTED_HOST', 'UV_INSECURE_HOST', 'NPM_CONFIG_REGISTRY'];
  const HOST = 'Line 3 PIP_TRUSTED_HOST';
  it.each<[string, string, string[]]>([
    ['neither', 'FROM python\nRUN pip install a\n', ['Line 2 PIP_INDEX_URL PIP_TRUSTED_HOST']],
    ['the index alone', 'FROM x\nARG PIP_INDEX_URL\nRUN pip install a\n', [HOST]],
    ['the host alone', 'FROM x\nARG PIP_TRUSTED_HOST\nRUN pip install a\n', ['Line 3 PIP_INDEX_URL']],
    ['both', 'FROM x\nARG PIP_INDEX_URL PIP_TRUSTED_HOST\nRUN pip install a\n', []],
    ['both in two lines', 'FROM x\nARG PIP_INDEX_URL\nARG PIP_TRUSTED_HOST\nRUN pip install a\n', []],
    ['the index, and hosts by an option', 'FROM x\nARG PIP_INDEX_URL\nRUN pip install --trusted-host b a\n', []],
    ['the index by an option', 'FROM x\nARG PIP_INDEX_URL\nRUN pip install -i $PIP_INDEX_URL a\n', [HOST]],
    ['the index as a default', 'FROM x\nARG PIP_INDEX_URL=https://x\nRUN pip install a\n', [HOST]],
    ['an index of its own', 'FROM x\nENV PIP_INDEX_URL=https://x\nRUN pip install a\n', []],
    [
      'the index in two stages',
      'FROM x\nARG PIP_INDEX_URL PIP_TRUSTED_HOST\nFROM y\nRUN pip install a\n',
      ['Line 4 PIP_INDEX_URL PIP_TRUSTED_HOST'],
    ],
    ['what uv and npm need', 'FROM x\nARG UV_DEFAULT_INDEX NPM_CONFIG_REGISTRY\nRUN uv sync\nRUN npm ci\n', []],
  ])('of plain http, for a Dockerfile that declares %s', (_what, dockerfile, warnings) => {
    expect(warned(dockerfile, PLAIN)).toEqual(warnings);
  });

  it('is ignored by pip where it is plain http, and the warning says so', () => {
    const dockerfile = 'FROM x\nARG PIP_INDEX_URL\nRUN pip install a\n';
    expect(judged(dockerfile, { baseImages: {}, indexes: PLAIN })).toEqual([
      "Line 3 of the Dockerfile uses the platform's package index, which is plain http, so pip ignores it, because its stage does not declare the host as trusted. Add a line ARG PIP_TRUSTED_HOST after FROM.",
    ]);
  });

  it('is not missed where the platform has none', () => {
    expect(warned('FROM python\nRUN pip install a\n', [])).toEqual([]);
  });
});

it('reads instructions with their lines', () => {
  const text = 'FROM a\r\nRUN b && \\\r\n  # a comment\r\n\r\n  c\r\nCMD ["d"]';
  expect(instructionsOf(text)).toEqual([
    { name: 'FROM', rest: 'a', line: 1 },
    { name: 'RUN', rest: 'b &&   c', line: 2 },
    { name: 'CMD', rest: '["d"]', line: 6 },
  ]);
  expect(imagesUsed(instructionsOf(text))).toEqual([{ line: 1, image: 'a' }]);
});
