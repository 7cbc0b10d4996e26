import { expect, it } from 'vitest';
import { fromRegistry, imageBase, isOlderImage, isSameLine, majorVersion, parseImage } from './image.ts';

const digest = `sha256:${'a'.repeat(64)}`;

it.each([
  { reference: 'nginx', want: { repository: 'nginx' } },
  { reference: 'nginx:1.27', want: { repository: 'nginx', tag: '1.27' } },
  { reference: 'localhost:5000/team/app', want: { repository: 'localhost:5000/team/app' } },
  { reference: 'localhost:5000/team/app:v3', want: { repository: 'localhost:5000/team/app', tag: 'v3' } },
  { reference: `app@${digest}`, want: { repository: 'app', digest } },
  { reference: `r.io:443/app:v3@${digest}`, want: { repository: 'r.io:443/app', tag: 'v3', digest } },
])('reads $reference', ({ reference, want }) => {
  expect(parseImage(reference)).toEqual(want);
});

it.each([
  { reference: 'docker.io/library/postgres:17', want: 17 },
  { reference: 'postgres:17.2-alpine', want: 17 },
  { reference: 'postgres:v16', want: 16 },
  { reference: 'docker.io/pgvector/pgvector:0.8.6-pg17-trixie', want: 17 },
  { reference: 'pgvector/pgvector:pg18', want: 18 },
  { reference: 'postgres:18beta1', want: undefined },
  { reference: 'postgres:latest', want: undefined },
  { reference: 'localhost:5000/postgres', want: undefined },
  { reference: `postgres@${digest}`, want: undefined },
])('finds the major version of $reference', ({ reference, want }) => {
  expect(majorVersion(reference)).toBe(want);
});

it.each([
  { registry: undefined, reference: 'docker.io/library/postgres:17', want: 'docker.io/library/postgres:17' },
  {
    registry: 'mirror.example',
    reference: 'docker.io/library/postgres:17',
    want: 'mirror.example/library/postgres:17',
  },
  {
    registry: 'mirror.example:5000/hub',
    reference: 'localhost/davit-postgres:17',
    want: 'mirror.example:5000/hub/davit-postgres:17',
  },
  { registry: 'mirror.example', reference: 'host:5000/a/b@sha256:00', want: 'mirror.example/a/b@sha256:00' },
  { registry: 'mirror.example', reference: 'valkey/valkey:8', want: 'mirror.example/valkey/valkey:8' },
  { registry: 'mirror.example', reference: 'postgres:17', want: 'mirror.example/postgres:17' },
])('$reference from $registry', ({ registry, reference, want }) => {
  expect(fromRegistry(registry, reference)).toBe(want);
});

it.each([
  { a: 'postgres:17', b: 'postgres:17.2', same: true, reason: 'another minor version' },
  { a: 'postgres:17', b: 'mirror.example:5000/library/postgres:17', same: true, reason: 'a mirror' },
  { a: 'postgres:17-alpine3.19', b: 'postgres:17.2-alpine3.20', same: true, reason: 'one C library' },
  { a: 'postgres:17', b: 'postgres:17-alpine', same: false, reason: 'another C library' },
  { a: 'postgres:17-bookworm', b: 'postgres:17-alpine3.20', same: false, reason: 'another C library' },
  { a: 'postgres:17-bullseye', b: 'postgres:17-bookworm', same: false, reason: 'another release of the C library' },
  { a: 'postgres:17', b: 'example/postgresql:17', same: false, reason: 'somebody else builds it' },
  { a: 'pgvector:0.8.5-pg17-trixie', b: 'pgvector:0.8.6-pg17-trixie', same: true, reason: 'another extension' },
  { a: 'pgvector:0.8.6-pg17-bookworm', b: 'pgvector:0.8.6-pg17-trixie', same: false, reason: 'another C library' },
  { a: 'postgres:17-trixie', b: 'pgvector:0.8.6-pg17-trixie', same: false, reason: 'another name' },
  { a: 'postgres:17-alpine', b: 'postgres:17-alpine@sha256:1', same: true, reason: 'a digest beside the tag' },
])('$a and $b are of one base: $same ($reason)', ({ a, b, same }) => {
  expect(imageBase(a) === imageBase(b)).toBe(same);
});

it.each([
  ['postgres:17.5-trixie', 'postgres:17.6-trixie', true],
  ['postgres:17.9-trixie', 'postgres:17.10-trixie', true],
  ['postgres:17.6-trixie', 'postgres:17.6-trixie', false],
  [`postgres:17.6-trixie@${digest}`, 'postgres:17.6-trixie', false],
  ['postgres:17', 'postgres:17.2', true],
  ['postgres:17.2', 'postgres:17', false],
  ['pgvector:0.8.5-pg17-trixie', 'pgvector:0.8.6-pg17-trixie', true],
  ['valkey:8.1.10-trixie', 'valkey:8.1.9-trixie', false],
  ['postgres:latest', 'postgres:latest', false],
])('%s is older than %s: %s', (one, other, older) => {
  expect(isOlderImage(one, other)).toBe(older);
});

it.each([
  ['postgres:17.5-trixie', `mirror.example/postgres:17.6-trixie@${digest}`, true],
  ['valkey:8.0.2-trixie', 'valkey:8.1.10-trixie', true],
  ['valkey:8.1.10-trixie', 'valkey:9.0.0-trixie', false],
  ['redis:7.2-trixie', 'valkey:7.2-trixie', false],
  ['postgres:latest', 'postgres:latest', false],
])('%s and %s can follow one another on the same data: %s', (one, other, same) => {
  expect(isSameLine(one, other)).toBe(same);
});
