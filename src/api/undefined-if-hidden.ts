// Reads with the caller's token of objects that he may not see.

import { Forbidden, NotFound } from '../runtime/errors.ts';

/** Resolves to undefined if the object is missing or the caller may not read it. */
export async function undefinedIfHidden<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Forbidden || error instanceof NotFound) return undefined;
    throw error;
  }
}
