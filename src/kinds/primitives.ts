// Schemas shared by several kinds. Every string, list and map has a maximum: without one, the API server's cost estimate
// of a CEL rule exceeds its limit, and the server rejects the whole CRD.

import { z } from 'zod';
import { DNS_SUBDOMAIN_PATTERN, IMAGE_MAX_LENGTH, IMAGE_PATTERN, VARIABLE_NAME_PATTERN } from './name-patterns.ts';

/** A free-form part of a pod, passed through unchanged. The API server validates it with the rendered workload. */
export function passthrough(description: string): z.ZodObject<Record<never, never>, z.core.$loose> {
  return z.looseObject({}).describe(description).meta({ 'x-kubernetes-preserve-unknown-fields': true });
}

/** RFC 1123 label: the form of names of volumes and containers. */
export const DNS_LABEL_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
export const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
const HOST = '([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?';
/** A host name of two or more labels. The last begins with a letter, so an IP address does not match. */
export const HOST_PATTERN = `^${HOST}$`;
/** A bare host, or https://host: no path, port or userinfo. */
export const HOST_URL_PATTERN = `^(https://)?${HOST}$`;
/** A host URL, or empty: an empty custom_url removes the address. */
export const HOST_URL_OR_EMPTY_PATTERN = `^((https://)?${HOST})?$`;
/** Printable: no control characters. */
export const PRINTABLE_PATTERN = '^[^\\x00-\\x1f\\x7f]*$';

/** RFC 3339. */
export const Time = text(64).meta({ format: 'date-time' });
export const Uuid = z.string().regex(new RegExp(UUID_PATTERN)).max(36);
export const ObjectName = z.string().min(1).max(253).regex(new RegExp(DNS_SUBDOMAIN_PATTERN));
export const VariableName = z.string().min(1).max(253).regex(new RegExp(VARIABLE_NAME_PATTERN));
export const ImageReference = z.string().min(1).max(IMAGE_MAX_LENGTH).regex(new RegExp(IMAGE_PATTERN));
export const Printable = z.string().regex(new RegExp(PRINTABLE_PATTERN));

/** Both bounds included. */
export function integer(least: number, most: number): z.ZodInt {
  return z.int().min(least).max(most);
}

/** `most` counts characters. */
export function text(most: number): z.ZodString {
  return z.string().max(most);
}

/** Text that matches a pattern, of at least and at most so many characters. */
export function matching(pattern: string | RegExp, most: number, least?: number): z.ZodString {
  const bounded = least === undefined ? text(most) : z.string().min(least).max(most);
  return bounded.regex(new RegExp(pattern));
}

export function oneOf<const Name extends string>(names: readonly Name[]): z.ZodEnum<{ [Key in Name]: Key }> {
  return z.enum(names);
}

export function listOf<Item extends z.ZodType>(item: Item, most: number): z.ZodArray<Item> {
  return z.array(item).max(most);
}

export function flag(unset: boolean): z.ZodDefault<z.ZodBoolean> {
  return z.boolean().default(unset);
}

/** An integer that is not negative and that JSON carries exactly. */
export const Count = integer(0, Number.MAX_SAFE_INTEGER);

/** Kubernetes quantity: an integer, or a string such as 500m or 1Gi. */
export const Quantity = z
  .union([z.int(), text(32)], { error: 'must be an integer or text such as "500m"' })
  .meta({ 'x-kubernetes-int-or-string': true });

/** One CEL rule of a CRD (x-kubernetes-validations). */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  /** FieldValueDuplicate is left out, because the API server then omits the message. */
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired';
}

export function celRules(rules: readonly CelRule[]): { 'x-kubernetes-validations': readonly CelRule[] } {
  return { 'x-kubernetes-validations': rules };
}

/** A list of names in CEL. */
export function celNames(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(', ')}]`;
}

/** Source: the API conventions' metav1.Condition. */
export const Condition = z.object({
  type: text(64).describe('Kind of condition, CamelCase.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  observedGeneration: Count.describe('Generation of the object from which the condition was computed.').optional(),
  lastTransitionTime: Time.describe('Time of the last change of status, RFC 3339.'),
  reason: text(128).describe('Cause, as one CamelCase word for programs.'),
  message: text(4096).describe('Cause and what to do, as text for people.'),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z
  .array(Condition)
  .max(32)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .describe('Conditions as in Kubernetes: kubectl wait --for=condition=TYPE.');

/** The fields of every status. */
export const ObservedStatus = z.object({
  observedGeneration: Count.describe('Generation from which this status was computed.').optional(),
  conditions: Conditions.optional(),
});
