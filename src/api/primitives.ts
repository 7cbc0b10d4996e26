// The leaves that schemas of several kinds are made of. Every string, list and map has a maximum: without one the
// API server's estimate of what a CEL rule costs refuses the whole CRD.

import { z } from 'zod';

/** Free-form part of a pod, kept as it is; the API server checks it when the rendered workload is applied. */
export function passthrough(description: string): z.ZodObject<Record<never, never>, z.core.$loose> {
  return z.looseObject({}).describe(description).meta({ 'x-kubernetes-preserve-unknown-fields': true });
}

/** RFC 1123 label, as names of volumes and containers must be. */
export const DNS_LABEL_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
/** RFC 1123 subdomain, as names of Secrets, claims and service accounts must be. */
export const DNS_SUBDOMAIN_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
/** C identifier; what a shell can name. */
export const VARIABLE_NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_]*$';
export const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
/**
 * An image reference: [registry/]path[:tag][@digest]. Source: the grammar of github.com/distribution/reference, with
 * the digest narrowed to sha256.
 */
export const IMAGE_PATTERN =
  '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$';
const HOST = '([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?';
/** A host name of two labels or more; the last begins with a letter, so that no IP address is one. */
export const HOST_PATTERN = `^${HOST}$`;
/** A bare host, or https://host: no path, port or userinfo. */
export const HOST_URL_PATTERN = `^(https://)?${HOST}$`;
/** The same, or nothing: an address that is taken away. */
export const HOST_URL_OR_EMPTY_PATTERN = `^((https://)?${HOST})?$`;
/** Printable: no control characters. */
export const PRINTABLE_PATTERN = '^[^\\x00-\\x1f\\x7f]*$';

export const Uuid = z.string().regex(new RegExp(UUID_PATTERN)).max(36);
export const SecretName = z.string().min(1).max(253).regex(new RegExp(DNS_SUBDOMAIN_PATTERN));
export const VariableName = z.string().min(1).max(253).regex(new RegExp(VARIABLE_NAME_PATTERN));
export const ImageReference = z.string().min(1).max(512).regex(new RegExp(IMAGE_PATTERN));
export const Printable = z.string().regex(new RegExp(PRINTABLE_PATTERN));

/** Kubernetes quantity: an integer, or a string such as 500m or 1Gi. */
export const Quantity = z.union([z.int32(), z.string().max(32)]).meta({ 'x-kubernetes-int-or-string': true });

/** One CEL rule of a CRD (x-kubernetes-validations). */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  /** Not FieldValueDuplicate: with it the API server leaves the message out. */
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired';
}

export function celRules(rules: readonly CelRule[]): { 'x-kubernetes-validations': readonly CelRule[] } {
  return { 'x-kubernetes-validations': rules };
}

/** Source: the API conventions' metav1.Condition. */
export const Condition = z.object({
  type: z.string().max(64).describe('Kind of condition, CamelCase.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .describe('Generation of the object that it was judged by.')
    .optional(),
  lastTransitionTime: z.string().max(64).meta({ format: 'date-time' }).describe('When status last changed, RFC 3339.'),
  reason: z.string().max(128).describe('Why, as one CamelCase word for machines.'),
  message: z.string().max(4096).describe('Why, as a sentence for people that says what to do.'),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z
  .array(Condition)
  .max(32)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .describe('How it is, in the way of Kubernetes: kubectl wait --for=condition=TYPE.');

/** The least that a status says. */
export const ObservedStatus = z.object({
  observedGeneration: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .describe('Generation that this status was computed from.')
    .optional(),
  conditions: Conditions.optional(),
});
