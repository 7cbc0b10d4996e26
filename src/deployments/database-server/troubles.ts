// What a failure of the shared server means to people. No message has a password, or a statement.

import { quoted } from '../../schema/text.ts';
import type { ServerTrouble } from '../record/shared-database.ts';

/** SQLSTATE code, or its class of two characters → what to say. Source: PostgreSQL, appendix A. */
const MEANINGS: Readonly<Record<string, Omit<ServerTrouble, 'message'> & { readonly says: string }>> = {
  '28': {
    reason: 'SharedServerUnusable',
    says: "The shared server refuses its administrator. The Secret that settings.database.shared.adminSecret names in Davit's namespace must have a user name and password that it takes",
  },
  '3D000': {
    reason: 'SharedServerUnusable',
    says: 'The shared server does not have the database that settings.database.shared.adminDatabase names',
  },
  '42501': {
    reason: 'SharedServerUnusable',
    says: 'The administrator of the shared server lacks a right. It needs CREATEROLE and CREATEDB, or is a superuser',
  },
  '25006': { reason: 'SharedServerUnusable', says: 'The shared server takes no writes' },
  '53300': { reason: 'SharedServerFull', says: 'The shared server has no connection left for its administrator' },
  '53100': { reason: 'SharedServerFull', says: 'The disk of the shared server is full' },
  '53': { reason: 'SharedServerFull', says: 'The shared server has no resources left' },
  '57014': { reason: 'SharedServerUnreachable', says: 'The shared server did not finish in time' },
  '55P03': { reason: 'SharedServerUnreachable', says: 'Something on the shared server is locked by somebody else' },
  '57P': { reason: 'SharedServerUnreachable', says: 'The shared server is starting or stopping' },
  '08': { reason: 'SharedServerUnreachable', says: 'The connection to the shared server broke off' },
};

/** The server's own words about these say who the administrator is, and nothing else that helps. */
const WITHOUT_WORDS = /^(28|3D|53300)/;

/** `code`: SQLSTATE, absent if the server did not answer. */
export function serverTroubleOf({
  code,
  message,
}: {
  readonly code: string | undefined;
  readonly message: string;
}): ServerTrouble {
  if (code === undefined)
    return {
      reason: 'SharedServerUnreachable',
      message: `The shared server does not answer: ${quoted(message, 300)}. Davit tries again. Databases and data are untouched.`,
    };
  const meaning = MEANINGS[code] ?? MEANINGS[code.slice(0, 3)] ?? MEANINGS[code.slice(0, 2)];
  const words = WITHOUT_WORDS.test(code) ? '' : `: ${quoted(message, 300)}`;
  const { reason, says } = meaning ?? { reason: 'SharedServerUnusable', says: 'The shared server refuses a statement' };
  return { reason, message: `${says}${words} (${code}).` };
}

/** Whether the trouble is the server's, and not of one record: nothing else is asked until it has gone. */
export function isOfServer(code: string | undefined): boolean {
  return code === undefined || /^(28|3D|53|57P|08)/.test(code);
}
