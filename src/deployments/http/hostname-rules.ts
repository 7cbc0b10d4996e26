// Checks whether a tenant may claim a host. Only the controller knows whether another deployment has the host already.

import type { FieldError } from '../../lib/http/http-error.ts';
import type { AddressSettings } from '../../schema/settings.ts';
import { claimable, hostOf, mayClaim, type Place } from '../record/hostnames.ts';

/** `allowed`: the annotation of the tenant's namespace. Without a configured kind of address there are no errors. */
export function hostFindings(
  place: Place,
  customUrl: string | undefined,
  allowed: string | undefined,
  address: AddressSettings,
): FieldError[] {
  if (customUrl === undefined || address.kind === 'none') return [];
  if (mayClaim(hostOf(customUrl), place, allowed, address)) return [];
  return [
    {
      loc: ['body', 'source_config', 'custom_url'],
      msg: `this tenant cannot claim this host. It can claim: ${claimable(place, allowed, address)}`,
      type: 'value_error',
    },
  ];
}
