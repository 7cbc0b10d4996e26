// Whether a tenant may have the host that it asks for, as far as that can be known before anything is made. Whether
// another deployment has it already only the controller can say.

import type { AddressSettings } from '../../api/settings.ts';
import { claimable, hostOf, mayClaim, type Place } from '../../record/hostnames.ts';
import type { FieldError } from '../core/http-error.ts';

/** `allowed`: the annotation of the tenant's namespace. Nothing is found where no addresses are made. */
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
      msg: `this tenant may not claim this host; it may claim: ${claimable(place, allowed, address)}`,
      type: 'value_error',
    },
  ];
}
