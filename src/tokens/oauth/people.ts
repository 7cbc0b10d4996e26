// Whose tokens a request is about.

import type { Tenant } from '../../api/authorization.ts';
import type { Subject } from './names.ts';

/** A person of a tenant, as the caller names them. */
export interface Person {
  readonly tenant: Tenant;
  readonly user: string;
}

export function ownerOf({ tenant, user }: Person): Omit<Subject, 'provider' | 'slot'> {
  return { tenant: tenant.namespace, tenantId: tenant.id, user };
}

export function isOf({ tenant, user }: Person, { subject }: { readonly subject: Subject }): boolean {
  return subject.tenant === tenant.namespace && subject.tenantId === tenant.id && subject.user === user;
}
