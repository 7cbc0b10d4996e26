import packet, { type Packet } from 'dns-packet';
import { expect, it } from 'vitest';
import { clusterNames } from './dns-answers.ts';

const names = clusterNames();
names.set('shop--postgres', 'team', '10.208.128.7');
names.set('gone', 'team', '10.208.128.8');
names.delete('gone', 'team');

// oxlint-disable-next-line typescript/no-explicit-any -- a question of any type
function ask(name: string, type: any = 'A'): Packet & { rcode?: string } {
  const question = packet.encode({
    type: 'query',
    id: 4711,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type, name }],
  });
  return packet.decode(names.answer(question) ?? Buffer.alloc(0));
}

it.each([
  { name: 'shop--postgres.team.svc.cluster.local', rcode: 'NOERROR', data: ['10.208.128.7'] },
  { name: 'Shop--Postgres.team.SVC.cluster.local', rcode: 'NOERROR', data: ['10.208.128.7'] },
  { name: 'shop--postgres.team.svc.cluster.local', type: 'AAAA', rcode: 'NOERROR', data: [] },
  { name: 'shop--postgres.other.svc.cluster.local', rcode: 'NXDOMAIN', data: [] },
  { name: 'gone.team.svc.cluster.local', rcode: 'NXDOMAIN', data: [] },
  { name: 'registry.example', rcode: 'NXDOMAIN', data: [] },
])('answers $name $type with $rcode $data', ({ name, type, rcode, data }) => {
  const answer = ask(name, type);
  expect(answer).toMatchObject({ type: 'response', id: 4711, rcode, flag_rd: true, questions: [{ name }] });
  expect(answer.answers?.map((record) => ('data' in record ? record.data : undefined))).toEqual(data);
});

it('answers nothing to what is no question', () => {
  expect(names.answer(Buffer.from('no DNS'))).toBeUndefined();
  expect(names.answer(packet.encode({ type: 'response', id: 1 }))).toBeUndefined();
  expect(names.answer(packet.encode({ type: 'query', id: 1 }))).toBeUndefined();
});
