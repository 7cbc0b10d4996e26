// Line drawings: the davit with its boat, and one for each kind of part.

import type { VNode } from 'preact';

const PATHS = {
  davit: 'M5 20V9a6 6 0 0 1 12 0v4M12 15h8l-2 4h-4z',
  server: 'M3 4h16v6H3zM3 12h16v6H3zM6.5 7h.01M6.5 15h.01',
  queue: 'M3 5h16M3 11h16M3 17h9M16 14l3 3-3 3',
  orchestrator: 'M8 11a3 3 0 1 0 6 0 3 3 0 1 0-6 0M11 8V3M11 19v-5M8 11H3M19 11h-5',
  executor: 'M3 3h16v16H3zM9 7l6 4-6 4z',
  postgres: 'M4 6a7 3 0 1 0 14 0 7 3 0 1 0-14 0v10a7 3 0 0 0 14 0V6M4 11a7 3 0 0 0 14 0',
  redis: 'M12 2 5 12h5l-1 8 8-11h-5z',
  task: 'M3 11a8 8 0 1 0 16 0 8 8 0 1 0-16 0M11 6v5l4 2',
  worker: 'M11 2l8 4.5v9L11 20l-8-4.5v-9z',
} as const;

interface IconProps {
  /** A part as the API names it, or the davit; what has no drawing of its own is a worker. */
  readonly of: string;
  readonly size?: number;
}

export function Icon({ of, size = 16 }: IconProps): VNode {
  const known = Object.hasOwn(PATHS, of) ? (of as keyof typeof PATHS) : 'worker';
  return (
    <svg class="icon" viewBox="0 0 22 22" width={size} height={size} aria-hidden="true">
      <path d={PATHS[known]} />
    </svg>
  );
}
