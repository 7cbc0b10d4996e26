import { expect, it } from 'vitest';
import { roomIn, smallWords } from './node-room.ts';

const pod = (
  cpu: string,
  memory: string,
  more: object = {},
  phase = 'Running',
): Parameters<typeof roomIn>[1][number] => ({
  spec: { nodeName: 'n', containers: [{ resources: { requests: { cpu, memory } } }, {}], ...more },
  status: { phase },
});
const node = { status: { allocatable: { cpu: '2', memory: '4Gi' } } };
const plain = { what: 'A deployment without sizes', cpu: 0.4, memoryMb: 896 };

it('room is what the nodes have, without what their pods asked for', () => {
  const pods = [
    pod('500m', '1Gi'),
    pod('1', '1Gi', {}, 'Succeeded'),
    pod('1', '1Gi', {}, 'Failed'),
    // It is on no node yet.
    { spec: { containers: [{ resources: { requests: { cpu: '1' } } }] } },
  ];
  expect(roomIn([node, node], pods)).toEqual({ cpu: 3.5, memoryMb: 7168 });
});

it.each([
  [{ cpu: 1.9, memoryMb: 3600 }, undefined],
  [
    { cpu: 0.9, memoryMb: 9000 },
    '0.9 CPU and 9000 MB are left. A deployment without sizes asks for 0.4 CPU and 896 MB, so 2 more fit.',
  ],
  [{ cpu: 4, memoryMb: 900 }, 'so 1 more fits.'],
  [
    { cpu: -0.2, memoryMb: 900 },
    '0.0 CPU and 900 MB are left. A deployment without sizes asks for 0.4 CPU and 896 MB, so none fits.',
  ],
])('%j is said where it is small', (room, words) => {
  const said = smallWords(room, plain);
  if (words === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(words);
});
