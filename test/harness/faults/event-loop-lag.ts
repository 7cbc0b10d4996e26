// How long this process itself did not come to its turn: what it timed meanwhile it saw later than it happened.

const TICK_MS = 50;
const REMEMBERED_MS = 3000;

const stalls: { readonly at: number; readonly ms: number }[] = [];
let due = performance.now() + TICK_MS;

setInterval(() => {
  const now = performance.now();
  if (now > due) stalls.push({ at: now, ms: now - due });
  due = now + TICK_MS;
  while (stalls.length > 0 && now - (stalls[0]?.at ?? now) > REMEMBERED_MS) stalls.shift();
}, TICK_MS).unref();

/** In milliseconds, the longest of the last three seconds, one under way included. */
export function longestStall(): number {
  return Math.max(0, performance.now() - due, ...stalls.map(({ ms }) => ms));
}
