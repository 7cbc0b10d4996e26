import { describe, expect, it } from 'vitest';
import { likenessOf, type Stored, unlike } from './likeness.ts';

interface Details {
  readonly uid?: string;
  readonly owner?: string;
  readonly image?: string;
  readonly name?: string;
}

function workload({
  uid = 'u1',
  owner = 'record-1',
  image = 'shop:1',
  name = 'shop--revision1',
}: Details = {}): Stored {
  return {
    kind: 'Deployment',
    metadata: {
      name,
      namespace: 'bench-0',
      uid,
      ownerReferences: [{ name: 'shop', uid: owner }],
      annotations: { 'davit.dev/applied': uid },
      managedFields: [
        { manager: 'kubectl', operation: 'Update', time: uid },
        { manager: 'davit-controller', operation: 'Apply', time: uid },
      ],
    },
    spec: { image, owner },
  } as Stored;
}

describe('the likeness of children', () => {
  const wanted = likenessOf(
    [workload()],
    new Map([
      ['record-1', 'the record'],
      ['revision1', 'the revision'],
    ]),
  );

  it("passes over what is the server's: uids, times, digests, and the names that are made from uids", () => {
    const there = workload({ uid: 'u2', owner: 'record-2', name: 'shop--revision2' });
    const masks = new Map([
      ['record-2', 'the record'],
      ['revision2', 'the revision'],
    ]);
    expect(unlike(wanted, likenessOf([there], masks))).toEqual([]);
  });
  it('passes over who of two managers came first', () => {
    const { metadata, ...rest } = workload();
    const turned = { ...rest, metadata: { ...metadata, managedFields: metadata.managedFields?.toReversed() ?? [] } };
    expect(
      unlike(
        wanted,
        likenessOf(
          [turned],
          new Map([
            ['record-1', 'the record'],
            ['revision1', 'the revision'],
          ]),
        ),
      ),
    ).toEqual([]);
  });
  it('sees another value', () => {
    const there = likenessOf(
      [workload({ image: 'shop:2' })],
      new Map([
        ['record-1', 'the record'],
        ['revision1', 'the revision'],
      ]),
    );
    expect(unlike(wanted, there)).toEqual([expect.stringMatching(/^Deployment .* is other: .*shop:1.*became.*shop:2/)]);
  });
  it('sees an owner that is not the record', () => {
    const there = likenessOf([workload({ owner: 'record-3' })], new Map([['revision1', 'the revision']]));
    expect(unlike(wanted, there)).toHaveLength(1);
  });
  it('sees what is missing and what is too many', () => {
    const there = likenessOf([workload({ name: 'shop' })], new Map());
    expect(unlike(wanted, there)).toEqual([
      'Deployment bench-0/shop--the revision is missing',
      'Deployment bench-0/shop is one too many',
    ]);
  });
  it('keeps which keys a Secret has, and not their values', () => {
    const secret = (data: object): Stored => ({ kind: 'Secret', metadata: { name: 's' }, data }) as Stored;
    const one = likenessOf([secret({ password: 'a' })], new Map());
    expect(unlike(one, likenessOf([secret({ password: 'b' })], new Map()))).toEqual([]);
    expect(unlike(one, likenessOf([secret({ uri: 'a' })], new Map()))).toHaveLength(1);
  });
});
