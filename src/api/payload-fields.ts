// Fields of payloads that several collections have.

import { z } from 'zod';

/** The query of a list without filters. */
export const NoParameters = z.strictObject({});

export const time = z.string().meta({ format: 'date-time' });
export const id = z.string().meta({ format: 'uuid' });
