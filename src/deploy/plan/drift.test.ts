import { describe, expect, it } from 'vitest';
import { hasDrifted } from './drift.ts';

describe('differs', () => {
  it.each([
    { name: 'equal', wanted: { a: 1 }, actual: { a: 1 }, want: false },
    { name: 'fields of others are not looked at', wanted: { a: 1 }, actual: { a: 1, b: 2 }, want: false },
    { name: 'another value', wanted: { a: 1 }, actual: { a: 2 }, want: true },
    { name: 'a missing field', wanted: { a: 1 }, actual: {}, want: true },
    { name: 'a zero value that Go omits', wanted: { a: false, b: '', c: 0, d: [], e: {} }, actual: {}, want: false },
    { name: 'an object of zero values that Go omits', wanted: { a: { b: false } }, actual: {}, want: false },
    { name: 'false where true stands', wanted: { a: false }, actual: { a: true }, want: true },
    {
      name: 'quantities in another form',
      wanted: { limits: { memory: '2048Mi', cpu: '1000m' } },
      actual: { limits: { memory: '2Gi', cpu: '1' } },
      want: false,
    },
    {
      name: 'another quantity',
      wanted: { limits: { memory: '2048Mi' } },
      actual: { limits: { memory: '2000Mi' } },
      want: true,
    },
    {
      name: 'a string that looks like a quantity elsewhere',
      wanted: { value: '1000m' },
      actual: { value: '1' },
      want: true,
    },
    {
      name: 'containers in another order, one injected',
      wanted: { containers: [{ name: 'a', image: 'x' }] },
      actual: { containers: [{ name: 'mesh' }, { name: 'a', image: 'x', tty: true }] },
      want: false,
    },
    {
      name: 'a restartPolicy that Kubernetes before 1.35 drops',
      wanted: { initContainers: [{ name: 'a', restartPolicy: 'Never' }] },
      actual: { initContainers: [{ name: 'a' }] },
      want: false,
    },
    {
      name: 'an init container that is no longer a sidecar',
      wanted: { initContainers: [{ name: 'a', restartPolicy: 'Always' }] },
      actual: { initContainers: [{ name: 'a' }] },
      want: true,
    },
    {
      name: 'a container gone',
      wanted: { containers: [{ name: 'a', image: 'x' }] },
      actual: { containers: [{ name: 'b', image: 'x' }] },
      want: true,
    },
    {
      name: 'init containers in another order: they start one after the other',
      wanted: { initContainers: [{ name: 'a' }, { name: 'b' }] },
      actual: { initContainers: [{ name: 'b' }, { name: 'a' }] },
      want: true,
    },
    {
      name: 'init containers in our order, with those of others in between',
      wanted: { initContainers: [{ name: 'a' }, { name: 'b' }] },
      actual: { initContainers: [{ name: 'x' }, { name: 'a' }, { name: 'y' }, { name: 'b' }, { name: 'z' }] },
      want: false,
    },
    {
      name: 'variables in another order: one uses another before it',
      wanted: {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '$(A)' },
        ],
      },
      actual: {
        env: [
          { name: 'B', value: '$(A)' },
          { name: 'A', value: '1' },
        ],
      },
      want: true,
    },
    {
      name: 'ports without names are a plain list',
      wanted: { ports: [{ port: 5432 }] },
      actual: { ports: [{ port: 1 }, { port: 5432 }] },
      want: true,
    },
    {
      name: 'a spread over something else beside ours',
      wanted: { topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }] },
      actual: {
        topologySpreadConstraints: [
          { topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
          { topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
        ],
      },
      want: false,
    },
    { name: 'an atomic list with one more', wanted: { command: ['a'] }, actual: { command: ['a', 'b'] }, want: true },
    {
      name: 'an env value emptied',
      wanted: { env: [{ name: 'A', value: '' }] },
      actual: { env: [{ name: 'A', value: 'x' }] },
      want: true,
    },
    { name: 'a list where an object is', wanted: { a: [1] }, actual: { a: {} }, want: true },
  ])('$name', ({ wanted, actual, want }) => {
    expect(hasDrifted(wanted, actual)).toBe(want);
  });
});
