// Labels of a sequence that is driven by wakes which are no event. Imports nothing: the seeded bugs are read before all code.

/** Everything automatic happens, and the rest is judged. */
export const REST = 'everything that is woken or automatic happens';
/** The same a day later. */
export const DAY = 'a day passes';
